"""number outside what verl accepts

## What it checks

Numbers that verl asserts about are in their range: `clip_ratio_c` above 1, the KL horizon above 0 with the adaptive
controller, traced samples not below 0, VeOmni's host cache a finite size, automodel's pipeline 1, the resume path a
checkpoint's folder.

## Why it matters

Each is looked at late: in the first update, when a worker is built, when a checkpoint is loaded.

## Bad

```yaml
actor_rollout_ref.actor.clip_ratio_c: 1.0
```

## Good

```yaml
actor_rollout_ref.actor.clip_ratio_c: 3.0
```
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each number that is read."""
    loss = settings.get(f"{ACTOR}.policy_loss.loss_mode", "vanilla")
    ranges: tuple[tuple[str, bool, Callable[[float], bool], str], ...] = (
        (f"{ACTOR}.clip_ratio_c", loss == "vanilla", lambda value: value > 1, "above 1, such as 3.0"),
        (f"{ACTOR}.policy_loss.clip_cov_ratio", loss == "clip_cov", lambda value: value > 0, "above 0"),
        (f"{ACTOR}.policy_loss.kl_cov_ratio", loss == "kl_cov", lambda value: value > 0, "above 0"),
        (
            "algorithm.kl_ctrl.horizon",
            settings.get("algorithm.kl_ctrl.type") == "adaptive" and bool(settings.get("algorithm.use_kl_in_reward")),
            lambda value: value > 0,
            "above 0, such as 10000",
        ),
        (f"{ROLLOUT}.trace.max_samples_per_step_per_worker", True, lambda value: value >= 0, "0 or more, or null"),
        (
            f"{ACTOR}.veomni.activation_offload_host_cache_limit_gb",
            True,
            lambda value: 0 <= value < float("inf"),
            "0 or more",
        ),
        (f"{ACTOR}.automodel.pp_size", True, lambda value: value == 1, "1"),
    )
    for key, read, fits, cure in ranges:
        value = settings.get(key)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if read and value is not None and not (number and fits(value)):
            yield KeyFinding(key, f"{key} = {value!r}", f"use a value {cure}")
    if loss == "dro" and not settings.get(f"{ACTOR}.policy_loss.dro_beta"):
        yield KeyFinding(f"{ACTOR}.policy_loss.dro_beta", "DRO has no default for it", "set it above 0")
    path = settings.get("trainer.resume_from_path")
    if settings.get("trainer.resume_mode") == "resume_path" and not re.search(r"global_step_\d+$", str(path or "")):
        key = "trainer.resume_from_path"
        yield KeyFinding(key, f"{path!r} names no step", "name a folder that ends in global_step_ and a number")
