"""group filter that no group can pass

## What it checks

With `algorithm.filter_groups` there are at least 2 answers per prompt, the metric is `reward` or something the reward
reports, the rewards are not all of weight 0, and `max_batches` is left out.

## Why it matters

A group passes when its answers differ. verl asks for new prompts until a batch is full, without a limit: where no
group can pass the run never makes a step. `max_batches` is not read by this release.

## Bad

```yaml
algorithm:
  name: dapo
  estimator: reinforce_plus_plus
  batch: {samples_per_prompt: 1, prompts: 64}
```

## Good

```yaml
algorithm: {name: dapo, batch: {samples_per_prompt: 16, prompts: 64}, filter_groups: {metric: reward}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity, nearest
from orbiter_spec.plan.model import Plan
from orbiter_spec.plan.release import WITHOUT_REWARD_METRIC
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at what has to differ, and at the limit that is not read."""
    metric = plan.get("algorithm.filter_groups.metric")
    if not facts.is_on(plan, "algorithm.filter_groups"):
        return
    if facts.samples(plan) == 1:
        yield Finding(
            route="algorithm.batch.samples_per_prompt",
            note="one answer cannot differ from itself; the run would ask for prompts for ever",
            help="use 2 or more, such as 16",
            related=(("algorithm.filter_groups", "drops groups whose answers score the same"),),
        )
    whole = () if plan.release in WITHOUT_REWARD_METRIC else ("reward",)
    known = (*whole, "score", "acc", *(part.label for part in facts.reward_parts(plan)))
    plain = facts.reward_parts(plan) and plan.get("rewards.manager") in (None, "naive", "dapo")
    if metric is not None and metric not in known and plain:
        close = "score" if metric == "reward" else nearest(metric, known)
        yield Finding(
            route="algorithm.filter_groups.metric",
            note=f"{metric!r} is no part of the reward" + (f"; did you mean {close!r}?" if close else ""),
            help=f"use {', '.join(dict.fromkeys(known))}",
            related=(("rewards", "the parts"),),
        )
    if plan.get("algorithm.filter_groups.max_batches"):
        yield Finding(
            route="algorithm.filter_groups.max_batches",
            note="verl's trainer does not read it; there is no limit",
            help="leave it out; inflight_batches bounds what runs at once",
            severity=Severity.WARNING,
        )
