"""distillation by the largest logits that cannot be computed

## What it checks

With `loss_mode: forward_kl_topk` the student trains on FSDP, VeOmni or Megatron, rows are not padded to a length, and
a teacher on vLLM may hand out as many logits as `topk`. Its use as a reward (`use_policy_gradient`) is pointed out, and
so is a teacher in the place of the only one beside others.

## Why it matters

verl raises when teachers are configured or in the first update. As a reward only the drawn token counts, and the other
logits are computed for nothing. A teacher named `teacher_model` is dropped where there are others.

## Bad

```yaml
distillation.enabled: true
distillation.nnodes: 1
distillation.teacher_models.teacher_model.model_path: some/teacher
distillation.teacher_models.teacher_model.inference.engine_kwargs.vllm.max_logprobs: 16
distillation.distillation_loss.loss_mode: forward_kl_topk
distillation.distillation_loss.topk: 32
```

## Good

```yaml
distillation.enabled: true
distillation.nnodes: 1
distillation.teacher_models.teacher_model.model_path: some/teacher
distillation.distillation_loss.loss_mode: forward_kl_topk
distillation.distillation_loss.topk: 32
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

ACTOR, LOSS, TEACHERS = "actor_rollout_ref.actor", "distillation.distillation_loss", "distillation.teacher_models."
ENGINES: Mapping[str, str] = {"fsdp": "fsdp_config", "fsdp2": "fsdp_config", "veomni": "veomni", "megatron": "megatron"}


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the student, its teachers and the loss."""
    if not settings.get("distillation.enabled"):
        return
    names = sorted({key.removeprefix(TEACHERS).partition(".")[0] for key in settings if key.startswith(TEACHERS)})
    dropped = f"{TEACHERS}teacher_model.model_path"
    if len(names) > 1 and settings.get(dropped) is not None:
        note = "this entry is the only teacher's, and is dropped beside others"
        yield KeyFinding(dropped, note, "give the entry another name", severity=Severity.WARNING)
    if settings.get(f"{LOSS}.loss_mode") == "forward_kl_topk":
        yield from _student(settings)
        yield from _teachers(settings, names)


def _student(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    engine = str(settings.get(f"{ACTOR}.strategy", "fsdp"))
    if engine not in ENGINES:
        note = f"{engine} has no loss over the largest logits"
        yield KeyFinding(f"{LOSS}.loss_mode", note, f"use k3, or train on {', '.join(ENGINES)}")
        return
    padded = f"{ACTOR}.{ENGINES[engine]}.pad_to_length"
    if engine in ("fsdp", "fsdp2") and settings.get(padded):
        yield KeyFinding(padded, "the teacher's logits are laid out without padding", "set it to false")
    if settings.get(f"{LOSS}.use_policy_gradient"):
        note = "as a reward only the drawn token's probability is used"
        yield KeyFinding(f"{LOSS}.use_policy_gradient", note, "set it to false, or use k3", severity=Severity.WARNING)


def _teachers(settings: Mapping[str, Any], names: list[str]) -> Iterator[KeyFinding]:
    wanted = settings.get(f"{LOSS}.topk", 32)
    for name in names if isinstance(wanted, int) else ():
        home = f"{TEACHERS}{name}.inference"
        key = f"{home}.engine_kwargs.vllm.max_logprobs"
        offered = settings.get(key)
        if settings.get(f"{home}.name", "vllm") in ("vllm", "???") and isinstance(offered, int) and offered < wanted:
            note = f"{offered} logits of {wanted}"
            yield KeyFinding(key, note, "leave it out", related=((f"{LOSS}.topk", f"{wanted}"),))
