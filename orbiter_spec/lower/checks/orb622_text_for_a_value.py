"""text where a number or a switch is meant

## What it checks

No key holds the text of a number or of true and false, unless it is one that takes text.

## Why it matters

A quoted False is true: it switches on what it was to switch off. A quoted number fails when it is first compared,
often after the weights are loaded.

## Bad

```yaml
actor_rollout_ref.actor.use_kl_loss: "False"
```

## Good

```yaml
actor_rollout_ref.actor.use_kl_loss: false
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding

TAKES_TEXT = re.compile(
    r"(threshold|layout|_version|version|experiment_name|project_name|\.path|_path|_key|key|kwargs|override|trace|"
    r"cuda-memory-usage|nsight_options|device_name|name|template|url|_dir|steps|model_name|expert_parallel_layout)"
)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at every text."""
    for key, value in settings.items():
        if not isinstance(value, str):
            continue
        is_truth = value.lower() in ("true", "false")
        if not (is_truth or NUMBER.fullmatch(value)) or TAKES_TEXT.search(key):
            continue
        if is_truth:
            yield KeyFinding(key, f"{key} is the text {value!r}", f"write {value.lower()} without quotes")
        else:
            yield KeyFinding(key, f"{key} is the text {value!r}", f"write {_plain(value)} without quotes")


def _plain(text: str) -> str:
    """`1.0e-6` for `1e-6`, which every reader takes for a number."""
    return re.sub(r"^([+-]?\d+)([eE])", r"\1.0\2", text)
