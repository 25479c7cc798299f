"""Megatron options that do not stand together

## What it checks

Recomputation is named whole (`full` with a method and a number of layers, `selective` without the number); context
parallelism and `calculate_per_token_loss` stand with `use_remove_padding`; experts under tensor parallelism stand with
`sequence_parallel`; `use_dist_checkpointing` has its path; Muon by layers is not combined with Megatron's FSDP; the
attention backend and the kind of adapters have names that Megatron knows. Fused kernels without effect are pointed
out.

## Why it matters

Megatron checks these when it builds the model, or in the first update, after the weights are loaded.

## Bad

```yaml
actor_rollout_ref.actor.strategy: megatron
actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity: full
```

## Good

```yaml
actor_rollout_ref.actor.strategy: megatron
actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity: full
actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method: uniform
actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers: 1
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

ACTOR, MODEL = "actor_rollout_ref.actor", "actor_rollout_ref.model"
METHODS = ("uniform", "block")
BACKENDS = ("flash", "fused", "unfused", "local", "auto")
ADAPTERS = ("lora", "vlm_lora", "canonical_lora", "dora")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the actor's and the critic's engine."""
    roles = [(ACTOR, MODEL), *([("critic", "critic.model")] if uses_critic(settings) else [])]
    for role, model in roles:
        if settings.get(f"{role}.strategy") != "megatron":
            continue
        home = f"{role}.megatron"
        yield from _recomputation(settings, f"{home}.override_transformer_config")
        yield from _packing(settings, home, f"{model}.use_remove_padding")
        yield from _experts(settings, home)
        yield from _loading(settings, home, role)
    if settings.get(f"{ACTOR}.strategy") == "megatron":
        yield from _adapters(settings)
        yield from _fused(settings)


def _recomputation(settings: Mapping[str, Any], home: str) -> Iterator[KeyFinding]:
    kind, method, layers = (
        settings.get(f"{home}.recompute_{word}") for word in ("granularity", "method", "num_layers")
    )
    if kind not in (None, "full", "selective"):
        yield KeyFinding(f"{home}.recompute_granularity", f"{kind!r}", "use full or selective")
    elif kind is None and (method is not None or layers is not None):
        key = f"{home}.recompute_{'method' if method is not None else 'num_layers'}"
        cure = f"set {home}.recompute_granularity to full, or leave this out"
        yield KeyFinding(key, "nothing is recomputed", cure, severity=Severity.WARNING)
    elif kind == "full":
        given = isinstance(layers, int) and not isinstance(layers, bool) and layers > 0
        wanted = [f"recompute_method: {' or '.join(METHODS)}"] if method not in METHODS else []
        wanted += [] if given else ["recompute_num_layers: 1"]
        if wanted:
            note = f"full, with method {method!r} and {layers!r} layers"
            yield KeyFinding(f"{home}.recompute_granularity", note, f"beside it set {' and '.join(wanted)}")
        elif settings.get(f"{MODEL}.mtp.enable") and method == "uniform" and layers != 1:
            note = f"{layers} layers at once, and prediction heads are recomputed one by one"
            yield KeyFinding(f"{home}.recompute_num_layers", note, "use 1")
    elif kind == "selective" and layers is not None:
        note = f"{layers}, and only parts of layers are recomputed"
        related = ((f"{home}.recompute_granularity", "selective"),)
        yield KeyFinding(f"{home}.recompute_num_layers", note, "leave it out, or use full", related=related)
    backend = settings.get(f"{home}.attention_backend")
    if isinstance(backend, str) and backend not in BACKENDS:
        yield KeyFinding(f"{home}.attention_backend", f"{backend!r}", f"use {', '.join(BACKENDS)}")


def _packing(settings: Mapping[str, Any], home: str, packed: str) -> Iterator[KeyFinding]:
    """verl refuses a loss per token over padding; Megatron-Bridge switches it on with context parallelism."""
    if settings.get(packed, True):
        return
    asked = f"{home}.override_transformer_config.calculate_per_token_loss"
    ranks = f"{home}.context_parallel_size"
    if settings.get(asked):
        note = "the loss is per token, and padding counts as tokens"
        yield KeyFinding(packed, note, "set it to true", related=((asked, "true"),))
    elif (settings.get(ranks) or 1) > 1 and not settings.get(f"{home}.vanilla_mbridge"):
        note = f"with {settings[ranks]} ranks Megatron-Bridge takes the loss per token, which verl refuses over padding"
        related = ((ranks, f"{settings[ranks]}"),)
        yield KeyFinding(packed, note, "set it to true", related=related, severity=Severity.WARNING)


def _experts(settings: Mapping[str, Any], home: str) -> Iterator[KeyFinding]:
    experts, shared = (settings.get(f"{home}.{word}_model_parallel_size") or 1 for word in ("expert", "tensor"))
    if experts > 1 and shared > 1 and settings.get(f"{home}.sequence_parallel", True) is False:
        note = f"experts over {experts} and tensors over {shared} GPUs do not train without it"
        yield KeyFinding(f"{home}.sequence_parallel", note, "set it to true")


def _loading(settings: Mapping[str, Any], home: str, role: str) -> Iterator[KeyFinding]:
    path = f"{home}.dist_checkpointing_path"
    if settings.get(f"{home}.use_dist_checkpointing") and not settings.get(path):
        severity = Severity.ERROR if settings.get(path) is None else Severity.WARNING
        cure = f"set {path}, or leave it out"
        yield KeyFinding(f"{home}.use_dist_checkpointing", f"no path: {path}", cure, severity=severity)
    layers = f"{role}.optim.use_layer_wise_distributed_optimizer"
    muon = str(settings.get(f"{role}.optim.optimizer", "adam")).lower() == "muon"
    if muon and settings.get(layers) and settings.get(f"{home}.use_megatron_fsdp"):
        yield KeyFinding(f"{home}.use_megatron_fsdp", "Muon by layers excludes it", f"set it or {layers} to false")


def _adapters(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    kind = settings.get(f"{MODEL}.lora.type")
    if (settings.get(f"{MODEL}.lora.rank") or 0) > 0 and kind not in (None, *ADAPTERS):
        yield KeyFinding(f"{MODEL}.lora.type", f"{kind!r}", f"use {', '.join(ADAPTERS)}")


def _fused(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """The engine switches them off with a line in a worker's log (`_maybe_enable_fused_kernels`)."""
    fused = f"{MODEL}.use_fused_kernels"
    reasons = {f"{MODEL}.mtp.enable": True, f"{MODEL}.use_remove_padding": False}
    for key, value in reasons.items():
        if settings.get(fused) and settings.get(key, not value) is value:
            note = f"{key} is {str(value).lower()}, and verl switches them off"
            related = ((key, "here"),)
            yield KeyFinding(fused, note, "leave one of them out", related=related, severity=Severity.WARNING)
