"""more rows at once than TransferQueue holds

## What it checks

`total_storage_size` is null, or holds the answers of one training step (twice when generation runs ahead).

## Why it matters

The queue raises when it is full, in the first validation or step that is too large.

## Bad

```yaml
data.train_batch_size: 16384
actor_rollout_ref.rollout.n: 8
```

## Good

```yaml
data.train_batch_size: 16384
actor_rollout_ref.rollout.n: 8
transfer_queue.backend.SimpleStorage.total_storage_size: null
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding

KEY = "transfer_queue.backend.SimpleStorage.total_storage_size"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare one step with the capacity."""
    held = settings.get(KEY, 100_000)
    if held is None or settings.get("transfer_queue.backend.storage_backend", "SimpleStorage") != "SimpleStorage":
        return
    samples = settings.get("actor_rollout_ref.rollout.n") or 1
    rows = (settings.get("data.train_batch_size") or 1024) * (samples + 1)
    rows *= 1 if settings.get("trainer.v1.trainer_mode", "sync") == "sync" else 2
    if rows > held:
        note = f"a step holds {rows} rows, the queue {held}"
        yield KeyFinding(
            KEY, note, "set it to null, which has no limit", related=(("data.train_batch_size", "the batch"),)
        )
