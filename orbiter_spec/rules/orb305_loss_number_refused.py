"""loss with a number that verl refuses

## What it checks

`clip.dual` is above 1 (clipped ratio losses), the ratios of Clip-Cov and KL-Cov are above 0, and DRO has its
`dro_beta`.

## Why it matters

verl asserts them in the first update, when the batch is already generated and scored.

## Bad

```yaml
algorithm: {name: grpo, clip: {low: 0.2, dual: 0.9}}
```

## Good

```yaml
algorithm: {name: grpo, clip: {low: 0.2, dual: 3.0}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the numbers of the loss that is used."""
    kind = plan.get("algorithm.loss.kind") or "vanilla"
    dual = plan.get("algorithm.clip.dual")
    if kind == "vanilla" and dual is not None and dual <= 1:
        yield Finding(route="algorithm.clip.dual", note=f"{dual} is not above 1", help="use 3.0, or leave it out")
    for name, route in (("clip_cov", "clip_cov_ratio"), ("kl_cov", "kl_cov_ratio")):
        share = plan.get(f"algorithm.loss.{route}")
        if kind == name and share is not None and share <= 0:
            note = f"{share} is not above 0"
            yield Finding(route=f"algorithm.loss.{route}", note=note, help="use 0.0002, or leave it out")
    if kind == "dro" and plan.get("algorithm.loss.dro_beta") is None:
        yield Finding(
            route="algorithm.loss.dro_beta",
            note="DRO has no default for it",
            help="write dro_beta: a number above 0",
            related=(("algorithm.loss.kind", "dro"),),
        )
