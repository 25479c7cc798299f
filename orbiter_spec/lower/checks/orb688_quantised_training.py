"""quantised training that cannot work

## What it checks

Where the actor trains quantised (`qat.enable`) the engine is FSDP or Megatron, the mode is w4a16 or, under FSDP, w4a4,
blocks hold 16 weights, the rollout is vLLM with a quantisation file, and no other quantisation stands beside.

## Why it matters

The mode is looked up when the model is built and the file when the inference engine starts, after the weights are
loaded. Other inference engines know nothing of it and are sent packed weights that they cannot load; other training
engines train the full weights.

## Bad

```yaml
actor_rollout_ref.actor.fsdp_config.qat.enable: true
actor_rollout_ref.actor.fsdp_config.qat.mode: w8a8
actor_rollout_ref.actor.fsdp_config.qat.quantization_config_path: nvfp4.json
```

## Good

```yaml
actor_rollout_ref.actor.fsdp_config.qat.enable: true
actor_rollout_ref.actor.fsdp_config.qat.mode: w4a16
actor_rollout_ref.actor.fsdp_config.qat.quantization_config_path: nvfp4.json
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
HOMES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "fsdp": ("fsdp_config.qat", ("w4a16", "w4a4")),
    "fsdp2": ("fsdp_config.qat", ("w4a16", "w4a4")),
    "fsdp_turbo": ("fsdp_config.qat", ("w4a16", "w4a4")),
    "megatron": ("megatron.qat", ("w4a16",)),
}
"""Where the training engine reads it, and the modes it makes."""


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the actor, then at the engine that serves its weights."""
    engine = str(settings.get(f"{ACTOR}.strategy", "fsdp"))
    section, modes = HOMES.get(engine, ("", ()))
    home, shared = f"{ACTOR}.{section}", f"{ACTOR}.qat"
    if settings.get(f"{shared}.enable") and not (section and settings.get(f"{home}.enable")):
        cure = f"set {home}.enable" if section else "use fsdp2 or megatron, or leave it out"
        note = f"{engine} reads {home}" if section else f"{engine} does not train quantised"
        yield KeyFinding(f"{shared}.enable", note, cure, severity=Severity.WARNING)
    if not section or not settings.get(f"{home}.enable"):
        return
    yield from _training(settings, home, modes, engine)
    yield from _serving(settings, home)


def _training(settings: Mapping[str, Any], home: str, modes: tuple[str, ...], engine: str) -> Iterator[KeyFinding]:
    mode = str(settings.get(f"{home}.mode", "w4a16")).lower()
    if mode not in modes:
        yield KeyFinding(f"{home}.mode", f"{engine} makes no {mode}", f"use {' or '.join(modes)}")
    size = settings.get(f"{home}.group_size", 16)
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        yield KeyFinding(f"{home}.group_size", f"{size!r} weights in a block", "use 16")
    elif size != 16:
        note = f"blocks of {size} weights, and NVFP4 is served in blocks of 16"
        yield KeyFinding(f"{home}.group_size", note, "use 16", severity=Severity.WARNING)


def _serving(settings: Mapping[str, Any], home: str) -> Iterator[KeyFinding]:
    name, related = settings.get(f"{ROLLOUT}.name"), ((f"{home}.enable", "true"),)
    if name in ("sglang", "trtllm"):
        yield KeyFinding(f"{ROLLOUT}.name", f"{name} loads no such weights", "use vllm", related=related)
        return
    file = f"{home}.quantization_config_path"
    if name == "vllm" and not settings.get(file) and not settings.get(f"{ROLLOUT}.qat.quantization_config_path"):
        yield KeyFinding(f"{home}.enable", "vLLM is not told how weights are packed", f"set {file}")
    other = f"{ROLLOUT}.quantization"
    if settings.get(other) is not None:
        note = f"{settings[other]!r}, and the quantisation of the training counts"
        yield KeyFinding(other, note, "leave it out", related=related, severity=Severity.WARNING)
