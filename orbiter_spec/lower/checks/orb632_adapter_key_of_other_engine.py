"""adapters asked for in another engine's key

## What it checks

FSDP and VeOmni have `model.lora_rank` and `lora_adapter_path`, Megatron has `model.lora.rank` and
`lora.adapter_path`; a path comes with a rank.

## Why it matters

The other key is not read: the full weights train, while the trainer believes in adapters and measures the KL term
against the moving actor.

## Bad

```yaml
actor_rollout_ref.actor.strategy: fsdp2
actor_rollout_ref.model.lora.rank: 32
```

## Good

```yaml
actor_rollout_ref.actor.strategy: fsdp2
actor_rollout_ref.model.lora_rank: 32
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

MODEL = "actor_rollout_ref.model"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the ranks with the engine."""
    strategy = settings.get("actor_rollout_ref.actor.strategy", "fsdp")
    flat, nested = settings.get(f"{MODEL}.lora_rank") or 0, settings.get(f"{MODEL}.lora.rank") or 0
    read, other = (nested, flat) if strategy == "megatron" else (flat, nested)
    names = (f"{MODEL}.lora.rank", f"{MODEL}.lora_rank")
    right, wrong = names if strategy == "megatron" else names[::-1]
    if other > 0 and read <= 0:
        note = f"{strategy} reads {right}: the full weights would train"
        yield KeyFinding(
            wrong,
            note,
            f"set {right} to {other}; a spec says agent.model.lora.rank: {other}",
            severity=Severity.WARNING,
        )
    paths = (f"{MODEL}.lora.adapter_path", f"{MODEL}.lora_adapter_path")
    kept, lost = paths if strategy == "megatron" else paths[::-1]
    if settings.get(lost) is not None and settings.get(kept) is None and read > 0:
        note = f"{strategy} reads {kept}: adapters would start anew"
        yield KeyFinding(lost, note, f"set {kept}", severity=Severity.WARNING)
    adapter = paths[1]
    if settings.get(adapter) is not None and read <= 0 and other <= 0:
        note = "the adapter has no rank: the full weights would train"
        yield KeyFinding(
            adapter,
            note,
            f"set {right} (in a spec agent.model.lora.rank) to the adapter's rank",
            severity=Severity.WARNING,
        )
