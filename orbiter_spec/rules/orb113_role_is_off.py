"""settings of a role that is off

## What it checks

`algorithm.critic` and `hardware.critic` are written only where the algorithm learns a value function,
`hardware.reference` only where a KL term needs a reference model of its own. With adapters the reference is the actor
without them.

## Why it matters

The settings have no effect, and the role they were written for does not run.

## Bad

```yaml
algorithm: {name: grpo, critic: {learning_rate: 1.0e-5}}
```

## Good

```yaml
algorithm: {name: ppo, critic: {learning_rate: 1.0e-5}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for settings of roles that do not run."""
    name = plan.get("algorithm.name")
    if not plan.needs_critic:
        for section in ("algorithm.critic", "hardware.critic", "run.profile.roles.critic"):
            if plan.get(section) is not None:
                yield _finding(section, f"{name} has no critic", "leave it out, or use name: ppo", "algorithm.name")
    if plan.get("hardware.reference") is None:
        return
    if facts.has_lora(plan):
        note = "with adapters the actor without them is the reference"
        yield _finding("hardware.reference", note, "leave it out", "agent.model.lora")
    elif not plan.needs_reference:
        cure = "leave it out, or use algorithm.kl.apply: loss"
        yield _finding("hardware.reference", "no KL term needs a reference", cure, "algorithm.kl.apply")


def _finding(route: str, note: str, cure: str, related: str) -> Finding:
    return Finding(route=route, note=note, help=cure, related=((related, "decides it"),), severity=Severity.WARNING)
