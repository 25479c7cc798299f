"""argument that the weight sync does not take

## What it checks

`rollout.checkpoint_engine.engine_kwargs` holds arguments of the backend in use that its class has; the positions of
`delta_sharded` are sent as indices; nothing is written for another backend. A backend of an imported module
(`custom_backend_module`) is not looked into.

## Why it matters

verl builds the backend from them when the workers start, and Python refuses a name it does not know. What stands under
another backend is never read.

## Bad

```yaml
trainer.v1.trainer_mode: separate_async
actor_rollout_ref.rollout.nnodes: 1
actor_rollout_ref.rollout.n_gpus_per_node: 8
actor_rollout_ref.rollout.checkpoint_engine.backend: nccl
actor_rollout_ref.rollout.checkpoint_engine.engine_kwargs.nccl.rebuild: true
```

## Good

```yaml
trainer.v1.trainer_mode: separate_async
actor_rollout_ref.rollout.nnodes: 1
actor_rollout_ref.rollout.n_gpus_per_node: 8
actor_rollout_ref.rollout.checkpoint_engine.backend: nccl
actor_rollout_ref.rollout.checkpoint_engine.engine_kwargs.nccl.rebuild_group: true
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity, nearest
from orbiter_spec.lower.checks.finding import KeyFinding

HOME = "actor_rollout_ref.rollout.checkpoint_engine"
NCCL = ("group_name", "rebuild_group", "rollout_dtype", "multi_sender")
TAKES: Mapping[str, tuple[str, ...]] = {
    "naive": (),
    "nccl": NCCL,
    "nixl": ("device", "rollout_dtype"),
    "mooncake": ("device", "rollout_dtype", "device_name", "rebuild_group"),
    "kimi_ckpt_engine": ("rebuild_group", "rollout_dtype"),
    "delta_sharded": (*NCCL, "encoding", "batch_gather", "verify_every"),
}


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Compare the arguments with the class that is built."""
    backend = str(settings.get(f"{HOME}.backend", "naive"))
    start = f"{HOME}.engine_kwargs."
    for key in sorted(key for key in settings if key.startswith(start) and "." in key.removeprefix(start)):
        owner, _, word = key.removeprefix(start).partition(".")
        used = ((f"{HOME}.backend", backend),) if f"{HOME}.backend" in settings else ()
        if owner != backend:
            note = f"for {owner}, and the backend is {backend}"
            yield KeyFinding(key, note, "leave it out", related=used, severity=Severity.WARNING)
        elif backend in TAKES and word.partition(".")[0] not in TAKES[backend]:
            close = nearest(word, TAKES[backend])
            known = ", ".join(TAKES[backend]) or "nothing"
            note = f"{backend} has no {word}" + (f"; did you mean {close!r}?" if close else "")
            yield KeyFinding(key, note, f"leave it out; {backend} takes {known}", related=used)
    encoding = f"{start}delta_sharded.encoding"
    if backend == "delta_sharded" and settings.get(encoding, "indices") != "indices":
        yield KeyFinding(encoding, f"{settings[encoding]!r}", "use indices, or leave it out")
