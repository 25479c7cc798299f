"""tokenizer without a token that verl's loops look for

## What it checks

verl's own agent loops join turns by the family that config.json names (`model_type`), and look a token of that family
up: `<|im_end|>` for Qwen, `<|observation|>` and `<|user|>` for GLM, and so on. The tokenizer's files, where they are
on this machine, have it. DeepSeek-R1-Distill-Qwen, a Qwen model with another tokenizer, is known by its name.

## Why it matters

The loop of every single answer is refused, so a batch comes back empty and the run ends after everything is loaded.

## Bad

```yaml
agent: {model: deepseek-ai/DeepSeek-R1-Distill-Qwen-7B}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
```
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.plan.model_facts import cached_folder, find_config
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

END = "<\uff5cend\u2581of\u2581sentence\uff5c>"
FAMILIES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("qwen2", "qwen3", "qwen3_moe", "qwen3_5", "qwen3_5_moe"): ("<|im_end|>",),
    ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe"): ("<|im_end|>",),
    ("minimax", "minimax_text_01", "minimax_m2"): ("[e~[",),
    ("glm4_moe", "glm_moe_dsa", "glm4v", "glm4v_moe"): ("<|observation|>", "<|user|>"),
    ("gemma4",): ("<|tool_response>",),
    ("deepseek_v2", "deepseek_v3", "deepseek_vl_v2"): (END,),
}
"""By model_type: what verl 0.9.1 requires (utils/tokenizer/continuous_token.py, continuous_token_wiring.py)."""
KNOWN = re.compile(r"deepseek-ai/DeepSeek-R1-Distill-Qwen-[\w.]+")
LOOPS = (None, "single_turn_agent", "tool_agent")
FILES = ("tokenizer.json", "tokenizer_config.json", "added_tokens.json")


def check(plan: Plan) -> Iterator[Finding]:
    """Look the family's tokens up, where verl's own loops play."""
    if facts.has_own_loop(plan) or plan.get("agent.loop_config") or plan.get("agent.loop") not in LOOPS:
        return
    path = str(plan.path("agent.model.path"))
    found = find_config(str(plan.path("agent.model.config") or path))
    kind = str(found[0].get("model_type")) if found else ""
    needed = next((tokens for kinds, tokens in FAMILIES.items() if kind in kinds), ())
    missing = _missing(str(plan.path("agent.model.tokenizer") or path), needed)
    if missing:
        yield Finding(
            route="agent.model.tokenizer" if plan.get("agent.model.tokenizer") else "agent.model.path",
            note=f"{kind} needs {', '.join(missing[0])}",
            help="add it to the tokenizer's files, or play with an environment of your own (agent.environment)",
            severity=missing[1],
        )


def _missing(name: str, needed: tuple[str, ...]) -> tuple[tuple[str, ...], Severity] | None:
    """The tokens that the tokenizer `name` lacks, surely by its files or as it is published; None when it has all."""
    folder = Path(name).expanduser()
    folder = folder if (folder / FILES[0]).is_file() else cached_folder(name) or folder
    texts = [text for file in FILES if (text := _read(folder / file)) is not None]
    if not (folder / FILES[0]).is_file() or not needed:
        return (needed, Severity.WARNING) if needed and KNOWN.fullmatch(name) else None
    lacking = tuple(token for token in needed if not any(_holds(text, token) for text in texts))
    return (lacking, Severity.ERROR) if lacking and _knows_no_other(folder / FILES[1]) else None


def _holds(text: bytes, token: str) -> bool:
    """True when `token` is one of the strings of a JSON text, in either spelling."""
    return any(json.dumps(token, ensure_ascii=plain).encode() in text for plain in (True, False))


def _knows_no_other(path: Path) -> bool:
    """True when nothing stands in for a token that is not there: `unk_token` is null, and not merely left out.

    Classes of tokenizers have one of their own where the file is silent, and verl then takes that one.
    """
    try:
        said: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(said, dict) and said.get("unk_token", "") is None


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
