"""setting that the training engine refuses late

## What it checks

torchtitan has no pipeline stages, fsdp_turbo no activation offload, and fused kernels under FSDP come from torch,
triton or liger. Sequence parallelism stands with `use_remove_padding`, adapters name their modules by text, training
and log-probabilities count passes alike, and TensorRT-LLM quantises weights that it is sent (`load_format: dummy`).
SGLang is told the adapters' modules by name, and FSDP the layers to wrap as a list.

## Why it matters

Each fails in the first pass over the model, or when the model is built, after everything else is up.

## Bad

```yaml
actor_rollout_ref.model.use_fused_kernels: true
actor_rollout_ref.model.fused_kernel_options.impl_backend: cuda
```

## Good

```yaml
actor_rollout_ref.model.use_fused_kernels: true
actor_rollout_ref.model.fused_kernel_options.impl_backend: triton
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic
from orbiter_spec.lower.checks.sizes import ulysses

FUSED = ("torch", "triton", "liger")
ACTOR, MODEL, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.model", "actor_rollout_ref.rollout"


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the actor and the critic, then at the rollout."""
    roles = [(ACTOR, MODEL)]
    roles += [("critic", "critic.model")] if uses_critic(settings) else []
    for role, model in roles:
        engine = settings.get(f"{role}.strategy", "fsdp")
        stages = f"{role}.torchtitan.pipeline_parallel_size"
        if engine == "torchtitan" and (settings.get(stages) or 1) > 1:
            yield KeyFinding(stages, f"{settings[stages]} stages, and no forward pass over them", "use 1")
        offload = f"{model}.enable_activation_offload"
        if engine == "fsdp_turbo" and settings.get(offload):
            yield KeyFinding(offload, "only fsdp and fsdp2 have it", "set it to false, or use fsdp2")
        backend = f"{model}.fused_kernel_options.impl_backend"
        name = settings.get(backend, "torch")
        fused = role != "critic" and engine in ("fsdp", "fsdp2") and settings.get(f"{model}.use_fused_kernels")
        if fused and name not in FUSED:
            yield KeyFinding(backend, f"{name!r} patches no model", f"use {', '.join(FUSED)}")
        yield from _padding(settings, role, model)
    yield from _rollout(settings)


def _padding(settings: Mapping[str, Any], role: str, model: str) -> Iterator[KeyFinding]:
    """The engine shares packed rows only (workers/engine/fsdp/transformer_impl.py)."""
    size = ulysses(settings, role)
    packed = f"{model}.use_remove_padding"
    on_fsdp = str(settings.get(f"{role}.strategy", "fsdp")).startswith("fsdp")
    if on_fsdp and (settings.get(size) or 1) > 1 and settings.get(packed, True) is False:
        yield KeyFinding(packed, f"{settings[size]} GPUs share a sequence", "set it to true", related=((size, "here"),))
    wrapped = f"{role}.{'fsdp' if role == 'critic' else 'fsdp_config'}.wrap_policy.transformer_layer_cls_to_wrap"
    layers = settings.get(wrapped)
    if settings.get(f"{role}.strategy", "fsdp") == "fsdp" and isinstance(layers, str):
        yield KeyFinding(wrapped, f"{layers!r} is read letter by letter", f"use [{layers}]")
    modules = settings.get(f"{model}.target_modules")
    listed = modules if isinstance(modules, list) else [modules]
    if modules is not None and not all(isinstance(name, str) for name in listed):
        yield KeyFinding(
            f"{model}.target_modules", f"{modules!r} names no modules", "use all-linear, or a list of names"
        )


def _rollout(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    modules, rank = settings.get(f"{MODEL}.target_modules"), settings.get(f"{MODEL}.lora_rank") or 0
    pattern = isinstance(modules, str) and modules != "all-linear"
    if settings.get(f"{ROLLOUT}.name") == "sglang" and rank > 0 and pattern and not settings.get(f"{MODEL}.lora.merge"):
        related = ((f"{ROLLOUT}.name", "sglang"),)
        cure = "use all-linear, a list of names, or lora.merge"
        yield KeyFinding(
            f"{MODEL}.target_modules", f"SGLang cannot serve the pattern {modules!r}", cure, related=related
        )
    training, scoring = f"{ACTOR}.use_dynamic_bsz", f"{ROLLOUT}.log_prob_use_dynamic_bsz"
    actor = bool(settings.get(training, False))
    if bool(settings.get(scoring, actor)) != actor:
        note = f"{settings[scoring]}, and {training} is {actor}"
        yield KeyFinding(scoring, note, f"set both to {str(actor).lower()}", related=((training, f"{actor}"),))
    loaded, kind = f"{ROLLOUT}.load_format", settings.get(f"{ROLLOUT}.quantization")
    if settings.get(f"{ROLLOUT}.name") == "trtllm" and kind == "fp8" and settings.get(loaded, "dummy") != "dummy":
        yield KeyFinding(loaded, f"{settings[loaded]} beside fp8", "use dummy")
