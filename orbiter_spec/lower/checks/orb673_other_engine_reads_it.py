"""setting that another engine reads

## What it checks

Settings of FSDP that only one of its versions reads stand with that version: `offload_policy` with fsdp2,
`use_orig_params` and `wrap_policy.min_num_params` with fsdp. `offload_policy` does not stand beside `param_offload`
and `optimizer_offload`. Liger kernels and activation offload go with FSDP, fused kernels with every engine but
torchtitan, training of prediction heads with Megatron, background saves go with Megatron, compiling is switched where
the engine looks, and rows are padded to a length where padding is removed first.

## Why it matters

Nothing is said, and nothing changes: memory stays as it was, or the model is compiled after all.

## Bad

```yaml
actor_rollout_ref.actor.strategy: fsdp
actor_rollout_ref.actor.fsdp_config.offload_policy: true
```

## Good

```yaml
actor_rollout_ref.actor.strategy: fsdp2
actor_rollout_ref.actor.fsdp_config.offload_policy: true
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

FSDP = ("fsdp", "fsdp2", "fsdp_turbo")
OWN: Mapping[str, str] = {"megatron": "megatron", "veomni": "veomni"}
"""Sections of engines that are named for them."""
ONE_VERSION: Mapping[str, tuple[str, Any]] = {
    "offload_policy": ("fsdp2", False),
    "use_orig_params": ("fsdp", False),
    "wrap_policy.min_num_params": ("fsdp", 0),
}
MODEL: Mapping[str, tuple[str, ...]] = {
    "use_liger": FSDP,
    "enable_activation_offload": FSDP,
    "use_fused_kernels": (*FSDP, "megatron", "veomni", "automodel"),
    "mtp.enable_train": ("megatron",),
}


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the actor, its model and the critic."""
    roles = [("actor_rollout_ref.actor", "fsdp_config", "actor_rollout_ref.model")]
    if uses_critic(settings):
        roles.append(("critic", "fsdp", "critic.model"))
    for role, section, model in roles:
        engine = str(settings.get(f"{role}.strategy", "fsdp"))
        if engine in ("fsdp", "fsdp2"):
            yield from _versions(settings, engine, f"{role}.{section}")
        for word, engines in MODEL.items():
            if settings.get(f"{model}.{word}") and engine not in engines:
                yield _unread(f"{model}.{word}", f"{engine} does not read it", f"use {engines[0]}, or leave it out")
        later = f"{role}.checkpoint.async_save"
        if settings.get(later) and engine != "megatron":
            note = f"{engine} saves at once, and the file that names the latest checkpoint is left to it"
            yield _unread(later, note, "leave it out: a resume would find nothing")
        padded = f"{role}.{OWN.get(engine, section)}.pad_to_length"
        if settings.get(padded) and settings.get(f"{model}.use_remove_padding", True) is False:
            yield _unread(padded, "padding is kept, so no row is packed", f"set {model}.use_remove_padding to true")
        switch, read = f"{role}.use_torch_compile", f"{role}.{section}.use_torch_compile"
        if engine in FSDP and settings.get(switch) is False and settings.get(read, True):
            yield _unread(switch, f"{engine} compiles by {read}", f"set {read} to false")


def _versions(settings: Mapping[str, Any], engine: str, home: str) -> Iterator[KeyFinding]:
    for word, (version, default) in ONE_VERSION.items():
        value = settings.get(f"{home}.{word}", default)
        if value != default and engine != version:
            yield _unread(f"{home}.{word}", f"{engine} does not read it", f"use {version}, or leave it out")
    if engine == "fsdp2" and settings.get(f"{home}.offload_policy"):
        for word in ("param_offload", "optimizer_offload"):
            if settings.get(f"{home}.{word}"):
                note = "offload_policy moves everything already, and switches it off"
                yield _unread(f"{home}.{word}", note, "leave one of them out")


def _unread(key: str, note: str, cure: str) -> KeyFinding:
    return KeyFinding(key, note, cure, severity=Severity.WARNING)
