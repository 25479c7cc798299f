"""fewer rows allowed than a batch takes

## What it checks

`data.train_max_samples`, where it limits, leaves at least `data.train_batch_size` rows, and where prompts are drawn in
smaller lots at least one of those.

## Why it matters

An epoch then has no step. verl divides by the steps of an epoch before the first one, and fails after everything is
loaded.

## Bad

```yaml
data.train_max_samples: 100
data.train_batch_size: 256
```

## Good

```yaml
data.train_max_samples: 1000
data.train_batch_size: 250
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.sizes import count

LIMIT, BATCH = "data.train_max_samples", "data.train_batch_size"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the limit, where it is one, with the batch."""
    limit, batch = count(settings, LIMIT, -1), count(settings, BATCH, 1024)
    if limit is None or batch is None or limit >= batch:
        return
    yield KeyFinding(
        LIMIT,
        f"{limit} rows for batches of {batch} prompts",
        f"use {batch} or more, -1 for all rows, or {BATCH} = {limit}",
        related=((BATCH, f"{batch} prompts"),),
    )
