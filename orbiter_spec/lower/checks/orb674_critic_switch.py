"""critic that is switched against its estimator

## What it checks

`critic.enable` is not false where the estimator is `gae`, and not true where no estimator reads values.

## Why it matters

Without a critic `gae` reads a column that nothing makes, and the first step fails after generation. A critic that
nothing reads takes memory and time for nothing.

## Bad

```yaml
algorithm.adv_estimator: gae
critic.enable: false
```

## Good

```yaml
algorithm.adv_estimator: gae
critic.enable: null
critic.model.path: some/model
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.spec.names import ESTIMATORS

SWITCH, ESTIMATOR = "critic.enable", "algorithm.adv_estimator"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the switch with the estimator."""
    switch, estimator = settings.get(SWITCH), settings.get(ESTIMATOR, "gae")
    related = ((ESTIMATOR, str(estimator)),)
    if switch is False and estimator == "gae":
        yield KeyFinding(SWITCH, "gae needs the values that a critic makes", "leave it out", related=related)
    elif switch is True and estimator != "gae" and estimator in ESTIMATORS:
        note = f"{estimator} reads no values"
        yield KeyFinding(SWITCH, note, "leave it out", related=related, severity=Severity.WARNING)
