"""run without a checkpoint

## What it checks

`trainer.save_freq` is above 0.

## Why it matters

verl's default saves nothing, not even at the end: the trained weights are gone when the run is.

## Bad

```yaml
trainer.save_freq: -1
```

## Good

```yaml
trainer.save_freq: 20
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the frequency."""
    frequency = settings.get("trainer.save_freq", -1)
    if not frequency or frequency <= 0:
        note = f"trainer.save_freq = {frequency}: the weights end with the run"
        yield KeyFinding("trainer.save_freq", note, "set it above 0", severity=Severity.NOTE)
