"""KL setting that has no effect

## What it checks

A KL coefficient, estimator or controller is written only where `kl.apply` uses it: `coefficient` and `estimator` in
the loss, `reward_coefficient`, `reward_estimator` and `controller` in the reward, `target` and `horizon` with the
adaptive controller.

## Why it matters

The numbers suggest a KL term that is not there.

## Bad

```yaml
algorithm: {name: grpo, kl: {apply: none, coefficient: 0.001}}
```

## Good

```yaml
algorithm: {name: grpo, kl: {apply: loss, coefficient: 0.001}}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

USED_IN: Mapping[str, tuple[str, ...]] = {
    "coefficient": ("loss", "reward", "both"),
    "estimator": ("loss", "both"),
    "reward_coefficient": ("reward", "both"),
    "reward_estimator": ("reward", "both"),
    "controller": ("reward", "both"),
    "target": ("reward", "both"),
    "horizon": ("reward", "both"),
}


def check(plan: Plan) -> Iterator[Finding]:
    """Compare every KL setting that was written with where KL acts."""
    apply, controller = plan.get("algorithm.kl.apply"), plan.get("algorithm.kl.controller")
    for word, places in USED_IN.items():
        route = f"algorithm.kl.{word}"
        if route not in plan.given:
            continue
        if apply not in places:
            cure = f"use apply: {places[0]}, or leave it out"
            yield _finding(route, f"apply is {apply}", cure, "algorithm.kl.apply")
        elif word in ("target", "horizon") and controller != "adaptive":
            cure = "use controller: adaptive, or leave it out"
            yield _finding(route, "the controller is fixed", cure, "algorithm.kl.controller")


def _finding(route: str, note: str, cure: str, related: str) -> Finding:
    return Finding(route=route, note=note, help=cure, related=((related, "decides it"),), severity=Severity.WARNING)
