"""dynamic context parallelism beside what it cannot do

## What it checks

With Megatron's `dynamic_context_parallel` there is a `max_seqlen_per_dp_cp_rank`, padding is removed, and there is no
`pad_to_length`, no virtual pipeline, no distillation, no fp8 and no critic; fused routers do not stand beside a replay
of routes; the reference has it too; data times context parallelism is even.

## Why it matters

verl checks it when the workers are built.

## Bad

```yaml
actor_rollout_ref.actor.strategy: megatron
actor_rollout_ref.actor.megatron.dynamic_context_parallel: true
```

## Good

```yaml
actor_rollout_ref.actor.strategy: megatron
actor_rollout_ref.actor.megatron.dynamic_context_parallel: true
actor_rollout_ref.actor.megatron.max_seqlen_per_dp_cp_rank: 8192
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_adapters, uses_critic, uses_reference

HOME = "actor_rollout_ref.actor.megatron"
LIMIT = f"{HOME}.max_seqlen_per_dp_cp_rank"
OPTIONS = f"{HOME}.override_transformer_config"
VIRTUAL = f"{HOME}.virtual_pipeline_model_parallel_size"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at what excludes it."""
    critic = "critic.megatron.dynamic_context_parallel"
    if uses_critic(settings) and settings.get("critic.strategy") == "megatron" and settings.get(critic):
        yield KeyFinding(critic, "it knows language models, and the critic is a value model", f"set {critic} to false")
    switch = f"{HOME}.dynamic_context_parallel"
    if settings.get("actor_rollout_ref.actor.strategy") != "megatron" or not settings.get(switch):
        return
    limit = settings.get(LIMIT)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit <= 0:
        yield KeyFinding(LIMIT, f"{limit!r} tokens", "set it to the tokens one rank can hold")
    replayed = settings.get(f"{HOME}.router_replay.mode", "disabled") != "disabled"
    refused = (
        (
            "actor_rollout_ref.model.use_remove_padding",
            not settings.get("actor_rollout_ref.model.use_remove_padding", True),
        ),
        (f"{HOME}.pad_to_length", bool(settings.get(f"{HOME}.pad_to_length"))),
        (VIRTUAL, settings.get(VIRTUAL) not in (None, 1)),
        ("distillation.enabled", bool(settings.get("distillation.enabled"))),
        (f"{OPTIONS}.fp8", settings.get(f"{OPTIONS}.fp8") not in (None, False)),
        (f"{OPTIONS}.moe_router_fusion", bool(replayed and settings.get(f"{OPTIONS}.moe_router_fusion"))),
    )
    for key, wrong in refused:
        if wrong:
            yield KeyFinding(key, f"{key} = {settings.get(key)!r} excludes it", f"change it, or set {switch} to false")
    other = "actor_rollout_ref.ref.megatron.dynamic_context_parallel"
    if uses_reference(settings) and not uses_adapters(settings) and settings.get(other, True) is False:
        note = "the reference is built first, without the groups that the actor asks for"
        yield KeyFinding(other, note, "set it to true", related=((switch, "true"),))
    gpus = settings.get("trainer.nnodes", 1) * settings.get("trainer.n_gpus_per_node", 8)
    sizes = (f"{HOME}.tensor_model_parallel_size", f"{HOME}.pipeline_model_parallel_size")
    shared = (settings.get(sizes[0], 1) or 1) * (settings.get(sizes[1], 1) or 1)
    if gpus % shared == 0 and (gpus // shared) % 2:
        yield KeyFinding(
            switch, f"{gpus // shared} data-parallel ranks are not even", "use sizes that leave an even number"
        )
