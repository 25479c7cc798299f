"""attention that does not fit how sequences are shared

## What it checks

`override_config.attn_implementation` of the actor and the critic is a name that transformers has, or a kernel of a
repository; with sequence parallelism under FSDP it is flash attention.

## Why it matters

An unknown name fails when the model is loaded. Ulysses exchanges heads inside flash attention only: with another
implementation every GPU attends to its own slice of each sequence, and log-probabilities are wrong without a word.

## Bad

```yaml
actor_rollout_ref.model.override_config.attn_implementation: sdpa
actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size: 2
```

## Good

```yaml
actor_rollout_ref.model.override_config.attn_implementation: flash_attention_3
actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size: 2
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity, nearest
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

FLASH = ("flash_attention_2", "flash_attention_3", "flash_attention_4")
NAMES = (*FLASH, "sdpa", "eager", "flex_attention")
FSDP = ("fsdp", "fsdp2")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the actor and the critic."""
    roles = [("actor_rollout_ref.actor", "fsdp_config", "actor_rollout_ref.model")]
    if uses_critic(settings):
        roles.append(("critic", "fsdp", "critic.model"))
    for role, section, model in roles:
        key = f"{model}.override_config.attn_implementation"
        name = settings.get(key)
        if not isinstance(name, str) or settings.get("trainer.device") == "cpu":
            continue
        size = f"{role}.{section}.ulysses_sequence_parallel_size"
        shared = settings.get(size) or 1
        if not _known(name):
            close = nearest(name, NAMES)
            note = f"{name!r}" + (f"; did you mean {close!r}?" if close else "")
            yield KeyFinding(key, note, f"use {', '.join(NAMES)}")
        elif name in NAMES[3:] and shared > 1 and settings.get(f"{role}.strategy", "fsdp") in FSDP:
            note = f"{name}, and {shared} GPUs share a sequence"
            related = ((size, f"{shared}"),)
            cure = "use flash_attention_2, or leave sequence parallelism out"
            yield KeyFinding(key, note, cure, related=related, severity=Severity.WARNING)


def _known(name: str) -> bool:
    """Names of transformers, of its paged variants, of VeOmni's registry and of kernels in a repository."""
    return name in NAMES or any(mark in name for mark in ("/", "|", "veomni", "native", "kernel"))
