"""trainer that is on its way out

## What it checks

`trainer.use_v1` is true, but for what only the older trainer feeds: ReMax, GDPO, token baselines, preference feedback.

## Why it matters

The older trainer is deprecated, reads other keys, and these rules are about the newer one.

## Bad

```yaml
trainer.use_v1: false
```

## Good

```yaml
trainer.use_v1: true
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.plan.trainer import FED_BY_LEGACY


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the switch."""
    needed = str(settings.get("algorithm.adv_estimator")) in FED_BY_LEGACY or settings.get("algorithm.use_pf_ppo")
    if settings.get("trainer.use_v1") is False and not needed:
        note = "the older trainer is deprecated; rules about the newer one may not hold"
        yield KeyFinding("trainer.use_v1", note, "leave it out", severity=Severity.WARNING)
