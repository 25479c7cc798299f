"""optimiser or schedule that the engine refuses

## What it checks

The numbers and names as verl will have them, wherever they were written: the schedule is one of the engine's, `betas`
lie from 0 to below 1, and under Megatron rates rise from `lr_warmup_init` to `lr` and not below `min_lr`, warm-up ends
before the decay does, and `WSD` has its steps. Warm-up by steps is pointed out under VeOmni, which reads the ratio.

## Why it matters

Schedules are built with the optimiser, after the model is loaded; Megatron and torch assert these numbers there.

## Bad

```yaml
actor_rollout_ref.actor.optim.lr_scheduler_type: linear
```

## Good

```yaml
actor_rollout_ref.actor.optim.lr_scheduler_type: cosine
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

FSDP = ("lr_scheduler_type", ("constant", "cosine"))
SCHEDULES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "fsdp": FSDP,
    "fsdp2": FSDP,
    "fsdp_turbo": FSDP,
    "megatron": ("lr_decay_style", ("constant", "linear", "cosine", "inverse-square-root", "WSD")),
    "veomni": ("lr_scheduler_type", ("constant", "linear", "cosine")),
    "torchtitan": ("decay_type", ("linear", "sqrt", "cosine")),
}
"""The key of an engine's schedule, and the names it has."""
ENDS = ("exponential", "linear", "cosine", "minus_sqrt")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the optimisers of the actor and the critic."""
    for role in ("actor_rollout_ref.actor", "critic") if uses_critic(settings) else ("actor_rollout_ref.actor",):
        engine, home = str(settings.get(f"{role}.strategy", "fsdp")), f"{role}.optim"
        word, names = SCHEDULES.get(engine, ("", ()))
        name = settings.get(f"{home}.{word}")
        if names and isinstance(name, str) and name not in names:
            yield KeyFinding(f"{home}.{word}", f"{engine} has no {name}", f"use {', '.join(names)}")
        betas = settings.get(f"{home}.betas")
        if isinstance(betas, list) and not all(isinstance(beta, (int, float)) and 0 <= beta < 1 for beta in betas):
            yield KeyFinding(f"{home}.betas", f"{betas}", "use numbers from 0 to below 1, as [0.9, 0.999]")
        steps = f"{home}.lr_warmup_steps"
        if engine == "veomni" and (settings.get(steps) or 0) > 0:
            cure = f"set {home}.lr_warmup_steps_ratio"
            yield KeyFinding(steps, "VeOmni reads the ratio", cure, severity=Severity.WARNING)
        if engine == "megatron":
            yield from _megatron(settings, home)


def _megatron(settings: Mapping[str, Any], home: str) -> Iterator[KeyFinding]:
    """What Megatron's OptimizerParamScheduler asserts."""
    rates = {word: settings.get(f"{home}.{word}", default) for word, default in (("lr", 1e-6), ("min_lr", 0.0))}
    first = settings.get(f"{home}.lr_warmup_init", 0.0)
    if all(isinstance(rate, (int, float)) for rate in (*rates.values(), first)):
        for word, rate in (("min_lr", rates["min_lr"]), ("lr_warmup_init", first)):
            if not 0 <= rate <= rates["lr"]:
                related = ((f"{home}.lr", f"{rates['lr']}"),)
                note = f"{rate}, and the rate is {rates['lr']}"
                yield KeyFinding(f"{home}.{word}", note, "use a rate from 0 to lr", related=related)
    steps, end = settings.get(f"{home}.lr_warmup_steps") or 0, settings.get(f"{home}.lr_decay_steps")
    if isinstance(end, int) and end <= 0:
        yield KeyFinding(f"{home}.lr_decay_steps", f"{end} steps", "use 1 or more, or null for the whole run")
    elif isinstance(end, int) and isinstance(steps, int) and steps >= end:
        note, related = f"{steps} steps of {end}", ((f"{home}.lr_decay_steps", f"{end}"),)
        yield KeyFinding(f"{home}.lr_warmup_steps", note, f"use at most {end - 1}", related=related)
    if settings.get(f"{home}.lr_decay_style") == "WSD":
        wanted, last = f"{home}.lr_wsd_decay_steps", settings.get(f"{home}.lr_wsd_decay_style", "exponential")
        if settings.get(wanted) is None:
            yield KeyFinding(f"{home}.lr_decay_style", "WSD does not know when it ends", f"set {wanted}")
        if last not in ENDS:
            yield KeyFinding(f"{home}.lr_wsd_decay_style", f"{last!r}", f"use {', '.join(ENDS)}")
