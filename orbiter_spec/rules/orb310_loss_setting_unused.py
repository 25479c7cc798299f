"""loss setting that this loss does not read

## What it checks

Numbers of one policy loss are written with that loss: `tau_*` with `sapo`, `clip_cov_*` with `clip_cov`, `kl_cov_*`
with `kl_cov`, `dro_beta` with `dro`; `scale_factor` with `seq-mean-token-sum-norm`.

## Why it matters

The number has no effect, and the loss it was written for is not the one that is used.

## Bad

```yaml
algorithm: {name: grpo, loss: {kind: vanilla, tau_positive: 1.0}}
```

## Good

```yaml
algorithm: {name: grpo, loss: {kind: sapo, tau_positive: 1.0}}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

READ_BY: Mapping[str, tuple[str, ...]] = {
    "tau_positive": ("sapo",),
    "tau_negative": ("sapo",),
    "clip_cov_ratio": ("clip_cov",),
    "clip_cov_low": ("clip_cov",),
    "clip_cov_high": ("clip_cov",),
    "kl_cov_ratio": ("kl_cov",),
    "kl_cov_coefficient": ("kl_cov",),
    "dro_beta": ("dro",),
}


def check(plan: Plan) -> Iterator[Finding]:
    """Compare every number that was written with the loss."""
    kind, mode = plan.get("algorithm.loss.kind") or "vanilla", plan.get("algorithm.loss.aggregation")
    for word, kinds in READ_BY.items():
        if f"algorithm.loss.{word}" in plan.given and kind not in kinds:
            yield _finding(f"algorithm.loss.{word}", f"{kind} does not read it", f"use kind: {kinds[0]}")
    if "algorithm.loss.scale_factor" in plan.given and mode != "seq-mean-token-sum-norm":
        note = f"{mode or 'token-mean'} does not read it"
        yield _finding("algorithm.loss.scale_factor", note, "use aggregation: seq-mean-token-sum-norm")


def _finding(route: str, note: str, cure: str) -> Finding:
    return Finding(route=route, note=note, help=f"leave it out, or {cure}", severity=Severity.WARNING)
