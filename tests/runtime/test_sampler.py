"""The fast replay buffers: built as verl builds its own, and a failed sample is not passed over."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
import ray
import verl.trainer.ppo.v1.replay_buffer as verl_buffer
from hydra import compose, initialize_config_module
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

from orbiter_spec.runtime import sampler
from orbiter_spec.runtime.sampler import POLL_SECONDS, FastReplayBuffer

PATH = "trainer.v1.sampler.custom_sampler"
FAST = {
    "sync": [f"{PATH}.path=pkg://orbiter_spec.runtime.sampler", f"{PATH}.name=FastReplayBuffer"],
    "colocate_async": [f"{PATH}.path=pkg://orbiter_spec.runtime.sampler", f"{PATH}.name=FastReplayBufferAsync"],
}
CASES = {
    "plain": [],
    "filter": ["algorithm.filter_groups.enable=True", "algorithm.filter_groups.max_inflight_gen_batches=3"],
    "filter by accuracy": ["algorithm.filter_groups.enable=True", "algorithm.filter_groups.metric=acc"],
    "refill": ["trainer.v1.sampler.sync_refill_failed_groups=True"],
    "small fetches": ["data.train_batch_size=32", "data.gen_batch_size=8"],
}


def build(mode: str, overrides: list[str]) -> Any:
    """The buffer that verl's trainer makes of a configuration."""
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer", overrides=[f"trainer.v1.trainer_mode={mode}", *overrides])
    trainer = object.__new__(PPOTrainerSync)
    trainer.config, trainer.trainer_mode = config, mode
    return trainer._build_replay_buffer()


@pytest.mark.parametrize("mode", sorted(FAST))
@pytest.mark.parametrize("case", sorted(CASES))
def test_built_as_verls_own(mode: str, case: str) -> None:
    fast, own = (build(mode, [*CASES[case], *extra]) for extra in (FAST[mode], []))
    assert isinstance(fast, type(own))
    assert fast.poll_interval == POLL_SECONDS
    assert own.poll_interval > POLL_SECONDS
    for name, value in vars(own).items():
        if name not in ("poll_interval", "refill_fn"):
            assert getattr(fast, name) == value, name


@pytest.mark.parametrize("partition", ["train", "val"])
def test_a_failed_sample_stops_the_run(partition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tags = {"uid": {"is_prompt": True, "global_steps": 1, "status": "failure"}}
    monkeypatch.setattr(verl_buffer.tq, "kv_list", lambda: {partition: tags})
    buffer = build("sync", FAST["sync"])
    with pytest.raises(RuntimeError, match=r"1 prompts could not be generated or scored\. The reason is in the log"):
        buffer.sample(global_steps=1, partition_id=partition, batch_size=1)


def test_a_failed_sample_is_left_to_verl_when_it_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    tags = {"uid": {"is_prompt": True, "global_steps": 1, "status": "failure"}}
    monkeypatch.setattr(verl_buffer.tq, "kv_list", lambda: {"train": tags})
    buffer = build("sync", [*FAST["sync"], *CASES["refill"]])
    buffer._sync_metadata_from_transfer_queue()
    assert buffer.failure_keys["train"] == {"uid"}


def test_it_can_be_built_without_a_trainer() -> None:
    arguments = {"max_off_policy_threshold": None, "max_off_policy_strategy": "drop", "sampler_kwargs": {}}
    buffer = FastReplayBuffer(trainer_mode="sync", trainer_config={}, **arguments)
    assert buffer.poll_interval == POLL_SECONDS


@pytest.mark.training
@pytest.mark.timeout(120)
def test_a_dead_worker_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        worker = ray.remote(Idle).options(num_cpus=0).remote()
        ray.get(worker.ping.remote())
        buffer = build("sync", FAST["sync"])
        monkeypatch.setattr(sampler, "PING_SECONDS", 0.0)
        buffer._trainer.agent_loop_manager = SimpleNamespace(agent_loop_workers=[worker])
        watch(buffer, seconds=2)
        ray.kill(worker)
        with pytest.raises(ray.exceptions.ActorDiedError):
            watch(buffer, seconds=20)
    finally:
        ray.shutdown()


class Idle:
    async def ping(self) -> None:
        pass


def watch(buffer: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        buffer._watch_workers()
        time.sleep(0.05)
