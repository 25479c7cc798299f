"""actor that waits for a critic that is not there

## What it checks

`trainer.critic_warmup` is 0 where there is no critic.

## Why it matters

verl skips the actor's updates for as many steps, whether or not a critic learns meanwhile: answers are generated and
thrown away.

## Bad

```yaml
trainer.critic_warmup: 10
```

## Good

```yaml
trainer.critic_warmup: 0
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the warm-up with the critic."""
    steps = settings.get("trainer.critic_warmup", 0)
    if steps and not uses_critic(settings):
        note = f"{steps} steps are generated and not learned from"
        yield KeyFinding("trainer.critic_warmup", note, "set it to 0", severity=Severity.WARNING)
