"""staleness limits that the sampler refuses

## What it checks

`trainer.v1.sampler.max_off_policy_threshold` is null or at least 1; with group filtering `max_inflight_gen_batches`
is at least 1. A threshold of 1 with `drop` and several turns is pointed out.

## Why it matters

The replay buffer asserts them when the trainer is made. With a threshold shorter than an answer takes, everything is
thrown away and generated again.

## Bad

```yaml
trainer.v1.sampler.max_off_policy_threshold: 0
```

## Good

```yaml
trainer.v1.sampler.max_off_policy_threshold: 8
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

HOME = "trainer.v1.sampler"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the limits."""
    limit = settings.get(f"{HOME}.max_off_policy_threshold", 8)
    whole = isinstance(limit, int) and not isinstance(limit, bool) and limit > 0
    if limit is not None and not whole:
        note = f"{limit!r} is no number of versions"
        yield KeyFinding(f"{HOME}.max_off_policy_threshold", note, "use 8, at least 1, or null for no limit")
    drops = settings.get(f"{HOME}.max_off_policy_strategy", "drop") == "drop"
    asynchronous = settings.get("trainer.v1.trainer_mode", "sync") != "sync"
    if limit == 1 and drops and asynchronous and settings.get("actor_rollout_ref.rollout.multi_turn.enable"):
        note = "answers of several turns are often older than one version, and would be thrown away"
        yield KeyFinding(
            f"{HOME}.max_off_policy_threshold", note, "use wait as the strategy, or 2 and more", severity=Severity.NOTE
        )
    inflight = "algorithm.filter_groups.max_inflight_gen_batches"
    if settings.get("algorithm.filter_groups.enable") and settings.get(inflight, 1) < 1:
        yield KeyFinding(inflight, f"{settings.get(inflight)} batches at once", "use 1 or more")
