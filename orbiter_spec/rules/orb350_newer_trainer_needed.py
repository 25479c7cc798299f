"""setting that verl's older trainer does not read

## What it checks

Group filtering, separate or asynchronous rollout and the staleness settings stand beside verl's newer trainer, not
beside `algorithm.trainer: legacy`, which is also what ReMax, GDPO and token baselines run on, and what verl 0.8.0 has.

## Why it matters

The older trainer neither filters groups nor generates ahead. It says nothing about these settings and trains without
them, which is another experiment.

## Bad

```yaml
algorithm: {name: rloo, trainer: legacy, filter_groups: {metric: reward}}
```

## Good

```yaml
algorithm: {name: rloo, trainer: v1, filter_groups: {metric: reward}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.plan.trainer import ONLY_LEGACY
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for each beside the older trainer."""
    if not plan.is_legacy:
        return
    decision = plan.decided.get("algorithm.trainer")
    why = decision.why if decision else "algorithm.trainer names the older one"
    first = "use verl 0.9.0 or later" if plan.release in ONLY_LEGACY else "use an algorithm that v1 feeds"
    for route, what in _unread(plan):
        yield Finding(
            route=route,
            note=f"{what} is work of the newer trainer: {why}",
            help=f"leave it out, or {first}",
            related=(("algorithm.trainer", "the older trainer"),) if decision is None else (),
        )


def _unread(plan: Plan) -> Iterator[tuple[str, str]]:
    if facts.is_on(plan, "algorithm.filter_groups"):
        yield "algorithm.filter_groups", "filtering groups"
    if facts.separate(plan):
        yield "hardware.rollout.placement", "generating on GPUs of its own"
    elif plan.get("hardware.rollout.asynchronous"):
        yield "hardware.rollout.asynchronous", "generating ahead"
    elif "algorithm.staleness" in plan.given:
        yield "algorithm.staleness", "bounding staleness"
