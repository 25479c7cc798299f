"""What verl's own code would build for a configuration: pools, placement groups, replicas and the CPUs they hold.

verl's functions run as they are. Only their reach into a Ray cluster is cut: a placement group is written down instead
of asked for, workers are not started, and the engine of a replica is not launched.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from orbiter_spec.lower.lowering import Lowered

MODES_WITH_SEPARATE_POOL = ("separate_async",)


@dataclass
class Built:
    """One placement group: bundles (CPU and GPU of each) and strategy."""

    bundles: list[dict[str, float]]
    strategy: str

    def total(self, resource: str) -> int:
        return int(sum(bundle.get(resource, 0) for bundle in self.bundles))


@dataclass
class Truth:
    """What verl builds. `pools` are its resource pool specs; `replicas` the rollout replicas as (mode, GPUs)."""

    pools: dict[str, list[int]] = field(default_factory=dict)
    groups: list[Built] = field(default_factory=list)
    replicas: list[tuple[str, int]] = field(default_factory=list)
    actor_cpus: int = 0
    roles: set[str] = field(default_factory=set)

    @property
    def cpus(self) -> int:
        return self.actor_cpus + sum(group.total("CPU") for group in self.groups)

    @property
    def gpus(self) -> int:
        return sum(group.total("GPU") for group in self.groups)


def compose(lowered: Lowered) -> Any:
    """verl's configuration for `lowered`, composed by Hydra as `main_ppo` does."""
    from omegaconf import OmegaConf, open_dict

    config = deepcopy(_defaults(lowered.engine))
    with open_dict(config):
        for key, value in lowered.settings.items():
            OmegaConf.update(config, key, value, force_add=True)
    return config


@cache
def _defaults(engine: str) -> Any:
    import verl.trainer.config
    from hydra import compose, initialize_config_dir

    folder = Path(next(iter(verl.trainer.config.__path__)))
    with initialize_config_dir(str(folder), version_base=None):
        return compose("ppo_trainer", overrides=[f"model_engine={engine}"])


def ask_verl(config: Any) -> Truth:
    """Everything that verl's task runner, the newer or the older one, would reserve for `config`."""
    truth = Truth()
    with _without_ray(truth):
        manager, trainer = _trainer_pools(config, truth) if config.trainer.use_v1 else _legacy_pools(config, truth)
        _hybrid_replicas(config, trainer, manager, truth)
        if config.trainer.v1.trainer_mode in MODES_WITH_SEPARATE_POOL:
            _replicas(config, None, len(truth.replicas), truth)
        _reward_model(config, manager, truth)
        _teachers(config, manager, truth)
    truth.actor_cpus = _reward_cpus(config) + (storage_cpus(config) if config.trainer.use_v1 else 0)
    return truth


def _trainer_pools(config: Any, truth: Truth) -> tuple[Any, Any]:
    from verl.trainer.ppo.v1 import get_trainer_cls

    kind = get_trainer_cls(config.trainer.v1.trainer_mode)
    trainer = object.__new__(kind)
    trainer.config = config
    if config.trainer.v1.trainer_mode in MODES_WITH_SEPARATE_POOL:
        trainer._enable_hybrid_replicas = bool(config.actor_rollout_ref.get("hybrid_engine", True))
    trainer._init_resource_pool_mgr()
    manager = trainer.resource_pool_manager
    _create(config, manager, truth)
    return manager, trainer


def _legacy_pools(config: Any, truth: Truth) -> tuple[Any, Any]:
    """The pools of main_ppo_v0, which gives the critic a role whether it is needed or not."""
    from verl.trainer.main_ppo_v0 import BaseTaskRunner
    from verl.trainer.ppo.utils import Role, need_critic

    runner = BaseTaskRunner()
    runner.add_actor_rollout_worker(config)
    if need_critic(config):
        runner.mapping[Role.Critic] = "global_pool"
    runner.add_reward_model_resource_pool(config)
    runner.add_teacher_model_resource_pool(config)
    manager = runner.init_resource_pool_mgr(config)
    _create(config, manager, truth)
    return manager, runner


def _create(config: Any, manager: Any, truth: Truth) -> None:
    manager.create_resource_pool()
    truth.pools = {name: list(nodes) for name, nodes in manager.resource_pool_spec.items()}
    truth.roles = {str(role) for role in manager.mapping}
    used = {"global_pool"}
    used |= {"reward_pool"} if config.reward.reward_model.enable else set()
    used |= {"teacher_pool"} if "teacher_pool" in truth.pools else set()
    for name in used & set(truth.pools):
        manager.resource_pool_dict[name].get_placement_groups()


def _hybrid_replicas(config: Any, trainer: Any, manager: Any, truth: Truth) -> None:
    if not getattr(trainer, "_enable_hybrid_replicas", True):
        return
    pool = manager.resource_pool_dict["global_pool"]
    workers = SimpleNamespace(world_size=pool.world_size, workers=list(range(pool.world_size)))
    _replicas(config, workers, 0, truth)


def _replicas(config: Any, workers: Any, first: int, truth: Truth) -> None:
    """The replicas of verl's own LLMServerManager, on `workers` or, without them, on pools of their own."""
    from verl.workers.rollout.llm_server import LLMServerManager

    manager = object.__new__(LLMServerManager)
    manager.config, manager.rollout_config = config, config.actor_rollout_ref.rollout
    manager.model_config, manager.worker_group = config.actor_rollout_ref.model, workers
    manager.rollout_resource_pool, manager.start_rank, manager._load_balancer_cls = None, first, None
    manager.rollout_replica_class = _replica_class(truth, manager.rollout_config)
    with contextlib.redirect_stdout(None):
        asyncio.run(manager._initialize_llm_servers())


def _replica_class(truth: Truth, rollout: Any) -> Any:
    """verl's replica without an engine. With prefill and decode apart its size is not the base class's to say."""
    from verl.workers.rollout.replica import RolloutReplica

    class Recorded(RolloutReplica):
        def get_ray_class_with_init_args(self) -> Any:
            return None

        async def launch_servers(self) -> None:
            self._server_handle, self._server_address = object(), f"address-{self.replica_rank}"
            size = 0 if rollout.disaggregation.enabled else len(self.workers)
            truth.replicas.append((self.rollout_mode.value, size))

    Recorded.__abstractmethods__ = frozenset()
    return Recorded


def _reward_model(config: Any, manager: Any, truth: Truth) -> None:
    model = config.reward.reward_model
    if not model.enable:
        return
    pool = "reward_pool" if model.enable_resource_pool else "global_pool"
    rollout = model.rollout
    size = rollout.tensor_model_parallel_size * rollout.data_parallel_size * rollout.pipeline_model_parallel_size
    from verl.single_controller.ray.base import split_resource_pool

    for _ in split_resource_pool(manager.resource_pool_dict[pool], split_size=size):
        truth.replicas.append(("reward", size))


def _teachers(config: Any, manager: Any, truth: Truth) -> None:
    if "teacher_pool" not in truth.pools:
        return
    from verl.single_controller.ray.base import split_resource_pool
    from verl.utils.config import omega_conf_to_dataclass

    teachers = omega_conf_to_dataclass(config.distillation).teacher_models
    pools = split_resource_pool(
        manager.resource_pool_dict["teacher_pool"], split_size=[teacher.world_size for teacher in teachers.values()]
    )
    for pool, teacher in zip(pools, teachers.values(), strict=True):
        for _ in split_resource_pool(pool, split_size=teacher.per_replica_world_size):
            truth.replicas.append(("teacher", teacher.per_replica_world_size))


def storage_cpus(config: Any) -> int:
    """CPUs of TransferQueue's own actors, from the classes it starts and the number it reads."""
    from transfer_queue.controller import TransferQueueController
    from transfer_queue.storage.simple_storage import SimpleStorageUnit

    units = int(config.transfer_queue.backend.SimpleStorage.num_data_storage_units)
    return int(_cpus(TransferQueueController) + units * _cpus(SimpleStorageUnit))


def _reward_cpus(config: Any) -> int:
    import ray
    from verl.experimental.reward_loop.reward_loop import RewardLoopWorker, resolve_reward_manager_cls
    from verl.experimental.reward_loop.reward_manager.remote import RemoteRewardManager, RewardComputeWorker

    workers = int(config.reward.num_workers)
    held = workers * _cpus(ray.remote(RewardLoopWorker))
    if issubclass(resolve_reward_manager_cls(config), RemoteRewardManager):
        held += workers * workers * _cpus(RewardComputeWorker)
    return int(held)


def _cpus(actor_class: Any) -> float:
    """What an actor of the class holds while it lives: nothing unless it says so."""
    return float(actor_class._default_options.get("num_cpus") or 0)


@contextlib.contextmanager
def _without_ray(truth: Truth) -> Iterator[None]:
    from verl.single_controller.ray import base
    from verl.workers.rollout import replica

    def placement_group(bundles: Any, strategy: str, **_: Any) -> Any:
        truth.groups.append(Built(list(bundles), strategy))
        return SimpleNamespace(ready=lambda: None, bundle_count=len(bundles), bundles=bundles)

    def worker_group(resource_pool: Any, bin_pack: bool = True, **_: Any) -> Any:
        resource_pool.get_placement_groups(strategy="STRICT_PACK" if bin_pack else "PACK")
        return SimpleNamespace(workers=list(range(resource_pool.world_size)))

    with (
        mock.patch.object(base, "placement_group", placement_group),
        mock.patch.object(base, "sort_placement_group_by_node_ip", lambda groups: groups),
        mock.patch.object(base.ray, "get", lambda found: found),
        mock.patch.object(base.ResourcePoolManager, "_check_resource_available", return_value=None),
        mock.patch.object(
            base, "get_platform", return_value=SimpleNamespace(device_name="cuda", ray_resource_name=lambda: "GPU")
        ),
        mock.patch.object(replica, "RayWorkerGroup", worker_group),
    ):
        yield
