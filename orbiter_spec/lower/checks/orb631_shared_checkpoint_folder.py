"""checkpoint folder that every unnamed run shares

## What it checks

With `resume_mode: auto` the project and the experiment do not both keep verl's default names, or the folder is
another.

## Why it matters

A new experiment then goes on from somebody else's weights, or ends at once because that run had more steps.

## Bad

```yaml
trainer.resume_mode: auto
trainer.project_name: verl_examples
trainer.experiment_name: gsm8k
trainer.default_local_dir: checkpoints/verl_examples/gsm8k
```

## Good

```yaml
trainer.resume_mode: auto
trainer.project_name: verl_examples
trainer.experiment_name: gsm8k-lora
trainer.default_local_dir: checkpoints/verl_examples/gsm8k-lora
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the folder with verl's default."""
    key = "trainer.default_local_dir"
    shared = "checkpoints/verl_examples/gsm8k"
    if settings.get("trainer.resume_mode") == "auto" and str(settings.get(key)) == shared:
        yield KeyFinding(
            key, f"{shared} is every unnamed run's", "give the experiment a name of its own", severity=Severity.WARNING
        )
