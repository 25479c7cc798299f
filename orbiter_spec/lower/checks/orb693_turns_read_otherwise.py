"""limit of turns or tools that means something else

## What it checks

Where verl's tool loop plays, at least one call of a turn is answered (`max_parallel_calls`), limits of turns are at
least 1 or null, tools' answers keep at least two characters, and `tool_response_truncate_side` is left, middle or
right.

## Why it matters

verl cuts lists and texts by these numbers. Of 0 calls none is made, and the model goes on after a call that nobody
answers; a negative number drops the last ones. A limit of 0 turns is no limit, a negative one ends after the first
answer. Cut to 0 characters from the left a text stays whole, and a side that is none of the three is the middle.

## Bad

```yaml
actor_rollout_ref.rollout.agent.default_agent_loop: tool_agent
actor_rollout_ref.rollout.multi_turn.tool_response_truncate_side: end
```

## Good

```yaml
actor_rollout_ref.rollout.agent.default_agent_loop: tool_agent
actor_rollout_ref.rollout.multi_turn.tool_response_truncate_side: right
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity, nearest
from orbiter_spec.lower.checks.finding import KeyFinding

ROLLOUT = "actor_rollout_ref.rollout"
HOME = f"{ROLLOUT}.multi_turn"
SIDES = ("left", "middle", "right")
SIDE = "tool_response_truncate_side"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the loop's numbers, where there are tools or their loop."""
    tools = any(settings.get(f"{HOME}.{word}") for word in ("tool_config_path", "function_tool_path"))
    if not tools and settings.get(f"{ROLLOUT}.agent.default_agent_loop") != "tool_agent":
        return
    calls = settings.get(f"{HOME}.max_parallel_calls", 1)
    if isinstance(calls, int) and calls < 1:
        key = f"{HOME}.max_parallel_calls"
        said = "no call is answered" if calls == 0 else f"the last {-calls} calls of a turn are dropped"
        yield _other(key, f"{key} = {calls}: {said}", "use 1 or more")
    for word in ("max_assistant_turns", "max_user_turns"):
        turns = settings.get(f"{HOME}.{word}")
        if isinstance(turns, int) and turns < 1:
            said = "is no limit" if turns == 0 else "ends every conversation after its first answer"
            yield _other(f"{HOME}.{word}", f"{turns} {said}", "use 1 or more, or null for no limit")
    kept, side = settings.get(f"{HOME}.max_tool_response_length", 256), settings.get(f"{HOME}.{SIDE}", "middle")
    if isinstance(kept, int) and kept < 2:
        yield _other(
            f"{HOME}.max_tool_response_length", f"{kept} characters cut nothing from some sides", "use 2 or more"
        )
    if side not in SIDES:
        close = nearest(str(side), SIDES)
        note = f"{side!r} is taken for the middle" + (f"; did you mean {close!r}?" if close else "")
        yield _other(f"{HOME}.{SIDE}", note, f"use {', '.join(SIDES)}")


def _other(key: str, note: str, cure: str) -> KeyFinding:
    return KeyFinding(key, note, cure, severity=Severity.WARNING)
