"""Workers and their shares as a resolved configuration has them, for checks that compare numbers.

verl's arithmetic: data-parallel sizes of the engines (`workers/engine`), the padded batch of `trainer/ppo/v1`. A number
that is missing is at verl's default; one that is no count makes a role None, which other checks report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import lcm
from typing import Any

from orbiter_spec.lower.checks.roles import uses_adapters, uses_critic, uses_reference

ACTOR, REFERENCE, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.ref", "actor_rollout_ref.rollout"
SEQUENCE: Mapping[str, str] = {
    "fsdp": "fsdp_config.ulysses_sequence_parallel_size",
    "fsdp2": "fsdp_config.ulysses_sequence_parallel_size",
    "veomni": "veomni.ulysses_parallel_size",
}
MODEL: tuple[str, ...] = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")


@dataclass(frozen=True, slots=True)
class Workers:
    """One role's workers: the keys and sizes of those that share a sequence, and the copies (0: they do not divide)."""

    role: str
    sizes: Mapping[str, int]
    copies: int
    sequence_parallel: int

    @property
    def shared(self) -> int:
        """GPUs that work on one sequence."""
        product = 1
        for size in self.sizes.values():
            product *= size
        return product


def count(settings: Mapping[str, Any], key: str, default: int) -> int | None:
    """The whole number above 0 at `key`; None for anything else."""
    value = settings.get(key, default)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def gpus(settings: Mapping[str, Any]) -> int | None:
    """GPUs that train."""
    nodes, each = count(settings, "trainer.nnodes", 1), count(settings, "trainer.n_gpus_per_node", 8)
    return nodes * each if nodes and each else None


def roles(settings: Mapping[str, Any]) -> Iterator[str]:
    """Roles with a training engine of their own, by the section they stand in."""
    yield ACTOR
    if uses_reference(settings) and not uses_adapters(settings):
        yield REFERENCE
    if uses_critic(settings):
        yield "critic"


def workers(settings: Mapping[str, Any], role: str) -> Workers | None:
    """The workers of `role`; None for an engine that is not compared here, or where a number is none."""
    total, actor = gpus(settings), settings.get(f"{ACTOR}.strategy", "fsdp")
    engine = settings.get(f"{role}.strategy", "fsdp" if role == "critic" else actor)
    keys = _sizes(settings, str(engine), role)
    sizes = {key: count(settings, key, 1) for key in keys}
    if total is None or not keys or None in sizes.values():
        return None
    known = {key: size or 1 for key, size in sizes.items()}
    found = Workers(role, known, 0, next(iter(known.values())) if engine in SEQUENCE else 1)
    return Workers(role, known, 0 if total % found.shared else total // found.shared, found.sequence_parallel)


def _sizes(settings: Mapping[str, Any], engine: str, role: str) -> list[str]:
    if engine == "megatron":
        return [f"{role}.megatron.{word}" for word in MODEL]
    if engine not in SEQUENCE:
        return []
    return [f"{role}.{SEQUENCE[engine]}"] if engine == "veomni" else [ulysses(settings, role)]


def ulysses(settings: Mapping[str, Any], role: str) -> str:
    """The key that says how many GPUs share a sequence under FSDP.

    The role's older key is copied over its engine's where it is above 1 (`FSDPActorConfig.__post_init__`); the critic
    has none that is read.
    """
    older = f"{role}.ulysses_sequence_parallel_size"
    if role == "critic":
        return "critic.fsdp.ulysses_sequence_parallel_size"
    return older if (count(settings, older, 1) or 1) > 1 else f"{role}.{SEQUENCE['fsdp']}"


def minibatch(settings: Mapping[str, Any], role: str) -> int | None:
    """Sequences of one mini-batch of the actor or the critic."""
    actor = count(settings, f"{ACTOR}.ppo_mini_batch_size", 256)
    prompts = count(settings, "critic.ppo_mini_batch_size", actor or 1) if role == "critic" else actor
    samples = count(settings, f"{ROLLOUT}.n", 1)
    return prompts * samples if prompts and samples and actor else None


def padded_rows(settings: Mapping[str, Any], copies: int) -> int | None:
    """Sequences of one batch after verl has filled it up, for an actor of `copies` data-parallel workers."""
    prompts, samples = count(settings, "data.train_batch_size", 1024), count(settings, f"{ROLLOUT}.n", 1)
    steps = count(settings, "trainer.v1.separate_async.parameter_sync_step", 4)
    held, whole = minibatch(settings, ACTOR), copies
    if None in (prompts, samples, steps, held) or copies < 1:
        return None
    assert prompts and samples and steps and held
    if settings.get("trainer.v1.trainer_mode") == "separate_async":
        prompts //= steps
    whole = lcm(whole, held)
    if uses_critic(settings):
        whole = lcm(whole, minibatch(settings, "critic") or 1)
    return -(-prompts * samples // whole) * whole
