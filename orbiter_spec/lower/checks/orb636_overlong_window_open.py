"""penalty for long answers without its window

## What it checks

With the reward manager dapo and `overlong_buffer_cfg.enable` there is a `max_resp_len`, not below the buffer, the
buffer is above 0, and `penalty_factor` and `log` are there.

## Why it matters

The reward workers assert the window when they start, after models are loaded, and miss the other keys at the first
answer: verl has no defaults for them.

## Bad

```yaml
reward.reward_manager.name: dapo
reward.reward_kwargs.overlong_buffer_cfg.enable: true
reward.reward_kwargs.overlong_buffer_cfg.len: 128
```

## Good

```yaml
reward.reward_manager.name: dapo
reward.reward_kwargs.overlong_buffer_cfg.enable: true
reward.reward_kwargs.overlong_buffer_cfg.len: 128
reward.reward_kwargs.overlong_buffer_cfg.penalty_factor: 1.0
reward.reward_kwargs.overlong_buffer_cfg.log: false
reward.reward_kwargs.max_resp_len: 512
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

HOME = "reward.reward_kwargs"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare buffer and limit."""
    on = settings.get(f"{HOME}.overlong_buffer_cfg.enable")
    if not on or settings.get("reward.reward_manager.name") != "dapo":
        return
    limit, buffer = settings.get(f"{HOME}.max_resp_len"), settings.get(f"{HOME}.overlong_buffer_cfg.len") or 0
    response = settings.get("data.max_response_length", 512)
    for key, usual in (("penalty_factor", 1.0), ("log", False)):
        if f"{HOME}.overlong_buffer_cfg.{key}" not in settings:
            # a warning: published commands leave it out, and verl only logs the answers that it then fails to score
            note = "verl reads it with every answer and has no default"
            cure = f"set it to {usual}"
            yield KeyFinding(f"{HOME}.overlong_buffer_cfg.{key}", note, cure, severity=Severity.WARNING)
    if limit is None:
        yield KeyFinding(f"{HOME}.max_resp_len", "there is no limit", f"set it to {response}, the response limit")
    elif not 0 < buffer <= limit:
        note = f"{buffer} tokens before a limit of {limit}"
        yield KeyFinding(f"{HOME}.overlong_buffer_cfg.len", note, f"use 1 to {limit}")
