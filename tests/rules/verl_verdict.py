"""What verl itself says about a plan's numbers, by its own functions.

The plan is lowered, laid over verl's composed defaults, and handed to `validate_config`, the dataclasses, the replica's
constructor, the trainer's padding, the worker's mini-batch check and the engine's micro-batch split. Some conditions
stand inside functions that start processes; they are repeated here, and `PINNED` holds verl's source to them.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from orbiter_spec.lower.lowering import lower
from orbiter_spec.plan.model import Plan

PINNED = {
    "workers/engine_workers.py": (
        "self.world_size % infer_world_size == 0",
        "self.config.actor.use_dynamic_bsz == self.config.rollout.log_prob_use_dynamic_bsz",
        "if self.config.actor.use_dynamic_bsz:",
    ),
    "workers/engine/fsdp/transformer_impl.py": (
        "torch.distributed.get_world_size() // self.ulysses_sequence_parallel_size",
        "ulysses_sequence_parallel_size > 1 and not self.use_remove_padding",
    ),
    "workers/engine/fsdp/utils.py": ("mesh_shape=(world_size // fsdp_size, fsdp_size)",),
}
REFUSALS = (AssertionError, ValueError, NotImplementedError, RuntimeError)
ENGINE_HOMES = {"dp": "fsdp_config", "megatron": "megatron"}


class ReachedError(Exception):
    """A worker got past verl's check and would start to compute."""


def refusal(plan: Plan) -> str | None:
    """The reason why verl would not run `plan` to the end of its first step, or None."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for step in _steps(plan):
            try:
                step()
            except REFUSALS as error:
                return f"{type(error).__name__}: {error}"
            except Exception as error:
                if type(error).__name__ != "InstantiationException":  # hydra's wrapper around a dataclass's refusal
                    raise
                return str(error)
    return None


@cache
def _defaults(engine: str) -> Any:
    import verl
    from omegaconf import OmegaConf

    name = "" if engine == "dp" else f"_{engine}"
    config = OmegaConf.load(Path(verl.__file__).parent / "trainer" / "config" / f"_generated_ppo{name}_trainer.yaml")
    for role in (config.actor_rollout_ref.actor, config.actor_rollout_ref.ref, config.critic):
        for engine_config in (role.get("fsdp_config"), role.get("fsdp"), role.get("megatron")):
            for unread in ("turbo_config", "qat") if engine_config is not None else ():
                engine_config.pop(unread, None)
    for role in (
        config.actor_rollout_ref.rollout,
        config.actor_rollout_ref.actor,
        config.actor_rollout_ref.ref,
        config.critic,
    ):
        role.pop("profiler", None)
    for unread in ("global_profiler", "skip", "ray_kwargs", "distillation"):
        config.pop(unread, None)
    return config


def configuration(plan: Plan) -> Any:
    """verl's configuration for `plan`, without the parts that no check reads."""
    from omegaconf import OmegaConf

    lowered = lower(plan)
    tree: dict[str, Any] = {}
    for key, value in lowered.settings.items():
        *sections, name = key.split(".")
        inner = tree
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[name] = value
    tree["data"] |= {"train_files": "rows", "val_files": "rows"}
    return OmegaConf.merge(_defaults(lowered.engine), tree)


def _steps(plan: Plan) -> Iterator[Callable[[], object]]:
    """verl's checks in the order in which they fire."""
    config = configuration(plan)
    use_critic, use_reference = plan.needs_critic, plan.needs_reference
    yield lambda: _validate(config, use_reference, use_critic)
    yield lambda: _separate(config)
    yield lambda: _meshes(config, use_reference, use_critic)
    yield lambda: _rollout(config)
    yield lambda: _first_step(config, use_reference, use_critic)


def _validate(config: Any, use_reference: bool, use_critic: bool) -> None:
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    validate_config(config, use_reference_policy=use_reference, use_critic=False)
    if use_critic:
        critic = config.critic.copy()
        critic.pop("model")
        gpus = config.trainer.n_gpus_per_node * config.trainer.nnodes
        omega_conf_to_dataclass(critic).validate(gpus, config.data.train_batch_size)


def _separate(config: Any) -> None:
    if config.trainer.v1.trainer_mode != "separate_async":
        return
    from verl.trainer.ppo.v1.trainer_separate_async import PPOTrainerSeparateAsync

    with contextlib.suppress(TypeError):  # the checks stand before super(), which refuses a stand-in
        PPOTrainerSeparateAsync.__init__(SimpleNamespace(), config)


def _size(config: Any, role: str) -> tuple[int, int]:
    """Data-parallel copies and sequence-parallel size of one role, as its engine computes them."""
    world = config.trainer.n_gpus_per_node * config.trainer.nnodes
    home = config.critic if role == "critic" else config.actor_rollout_ref[role]
    if home.strategy == "megatron":
        engine = home.megatron
        shared = engine.tensor_model_parallel_size * engine.pipeline_model_parallel_size * engine.context_parallel_size
        assert world % shared == 0, f"world size {world} is not divisible by {shared}"
        return world // shared, 1
    engine = home.fsdp if role == "critic" else home.fsdp_config
    shared = engine.ulysses_sequence_parallel_size
    if role != "critic":
        shared = max(shared, home.ulysses_sequence_parallel_size)
    packed = (
        config.critic.model.use_remove_padding
        if role == "critic"
        else config.actor_rollout_ref.model.use_remove_padding
    )
    if shared > 1 and not packed:
        raise ValueError("sequence parallelism needs packed sequences")
    assert world % shared == 0, f"mesh of {world // shared} x {shared} for {world} workers"
    fsdp = engine.fsdp_size
    assert fsdp < 0 or fsdp >= world or world % fsdp == 0, f"mesh of {world // fsdp} x {fsdp} for {world} workers"
    return world // shared, shared


def _meshes(config: Any, use_reference: bool, use_critic: bool) -> None:
    for role in ("actor", *(("ref",) if use_reference else ()), *(("critic",) if use_critic else ())):
        _size(config, role)
    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    assert actor.use_dynamic_bsz == rollout.log_prob_use_dynamic_bsz
    needed = ("ppo_max_token_len_per_gpu", "log_prob_max_token_len_per_gpu")
    if not actor.use_dynamic_bsz:
        needed = ("ppo_micro_batch_size_per_gpu", "log_prob_micro_batch_size_per_gpu")
    assert actor[needed[0]] is not None
    assert rollout[needed[1]] is not None


def _rollout(config: Any) -> None:
    from verl.utils.config import omega_conf_to_dataclass
    from verl.workers.rollout.replica import RolloutReplica

    rollout = omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
    replica = rollout.tensor_model_parallel_size * rollout.data_parallel_size * rollout.pipeline_model_parallel_size
    world = config.trainer.n_gpus_per_node * config.trainer.nnodes
    assert world % replica == 0, f"{world} workers, replicas of {replica}"
    nodes = [config.trainer.n_gpus_per_node]
    if config.trainer.v1.trainer_mode == "separate_async":
        assert rollout.nnodes * rollout.n_gpus_per_node >= replica, "no replica"
        nodes.append(rollout.n_gpus_per_node)
    for each in nodes:
        stand_in = SimpleNamespace()
        RolloutReplica.__init__(stand_in, 0, rollout, None, gpus_per_node=each)
        if rollout.data_parallel_size > 1:
            assert stand_in.gpus_per_replica_node % rollout.tensor_model_parallel_size == 0


def _first_step(config: Any, use_reference: bool, use_critic: bool) -> None:
    from verl.trainer.ppo.v1.trainer_base import PPOTrainer

    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    copies, shared = _size(config, "actor")
    trainer = SimpleNamespace(config=config, use_critic=use_critic, global_steps=1)
    multiple = PPOTrainer._get_required_batch_multiple(trainer, copies)
    prompts = config.data.train_batch_size
    if config.trainer.v1.trainer_mode == "separate_async":
        prompts //= config.trainer.v1.separate_async.parameter_sync_step
    rows = -(-prompts * rollout.n // multiple) * multiple
    longest = config.data.max_prompt_length + config.data.max_response_length
    scoring = (rollout.log_prob_micro_batch_size_per_gpu, rollout.log_prob_max_token_len_per_gpu)
    _split(rows // copies, actor.use_dynamic_bsz, *scoring, shared, longest)
    if use_reference:
        ref = config.actor_rollout_ref.ref
        copies_ref, shared_ref = _size(config, "ref")
        assert rows % copies_ref == 0
        limits = (ref.log_prob_micro_batch_size_per_gpu, ref.log_prob_max_token_len_per_gpu)
        _split(rows // copies_ref, ref.log_prob_use_dynamic_bsz, *limits, shared_ref, longest)
    if use_critic:
        copies_critic, _ = _size(config, "critic")
        assert rows % copies_critic == 0
        _mini_batches(rows // copies_critic, config.critic.ppo_mini_batch_size * rollout.n, copies_critic)
    minibatch = actor.ppo_mini_batch_size * rollout.n
    _mini_batches(rows // copies, minibatch, copies)
    sizes = (actor.ppo_micro_batch_size_per_gpu, actor.ppo_max_token_len_per_gpu)
    _split(minibatch // copies, actor.use_dynamic_bsz, *sizes, shared, longest)


def _mini_batches(held: int, minibatch: int, copies: int) -> None:
    """verl's own worker method, up to where it would compute."""
    import torch
    from tensordict import TensorDict
    from verl.utils import tensordict_utils as tu
    from verl.workers.engine_workers import TrainingWorker

    def compute(**_: object) -> None:
        raise ReachedError

    engine = SimpleNamespace(
        get_data_parallel_size=lambda: copies, get_data_parallel_rank=lambda: 0, train_mode=compute
    )
    data = TensorDict({"x": torch.zeros(held)}, batch_size=held)
    tu.assign_non_tensor(data, mini_batch_size=minibatch, epochs=1, seed=1, dataloader_kwargs={"shuffle": False})
    with contextlib.suppress(ReachedError):
        TrainingWorker.train_mini_batch(SimpleNamespace(engine=engine), data)


def _split(held: int, dynamic: bool, sequences: int | None, tokens: int, shared: int, longest: int) -> None:
    """verl's own split into micro-batches; a dynamic one is shown one sequence of the longest kind."""
    import torch
    from tensordict import TensorDict
    from verl.utils import tensordict_utils as tu
    from verl.workers.engine.utils import prepare_micro_batches

    if dynamic:
        mask = torch.ones(1, longest, dtype=torch.int64)
        data = TensorDict({"input_ids": mask, "attention_mask": mask}, batch_size=1)
        tu.assign_non_tensor(data, use_dynamic_bsz=True, max_token_len_per_gpu=tokens, sp_size=shared)
    else:
        data = TensorDict({"x": torch.zeros(held)}, batch_size=held)
        tu.assign_non_tensor(data, use_dynamic_bsz=False, micro_batch_size_per_gpu=sequences)
    prepare_micro_batches(data)
