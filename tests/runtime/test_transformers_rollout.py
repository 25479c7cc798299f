"""The worker's side of the rollout engine, as far as it goes without Ray."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from verl.workers.rollout.replica import RolloutMode

from orbiter_spec.runtime.transformers_rollout import TransformersReplica, TransformersRollout

WEIGHTS = [(f"weight{index}", torch.zeros(1 << 16)) for index in range(10)]  # 256 KiB each


def rollout(megabytes: int = 1) -> Any:
    adapter = object.__new__(TransformersRollout)
    adapter.config = SimpleNamespace(checkpoint_engine=SimpleNamespace(update_weights_bucket_megabytes=megabytes))
    adapter.sends = False
    return adapter


def test_weights_travel_in_buckets() -> None:
    async def buckets() -> list[list[str]]:
        return [[name for name, _ in bucket] async for bucket in rollout()._buckets(iter(WEIGHTS))]

    sizes = [len(bucket) for bucket in asyncio.run(buckets())]
    assert sizes == [4, 4, 2]


def test_a_rank_that_does_not_send_still_gathers() -> None:
    taken: list[str] = []

    def shards() -> Any:
        for name, tensor in WEIGHTS:
            taken.append(name)
            yield name, tensor

    asyncio.run(rollout().update_weights(shards(), global_steps=1))
    assert taken == [name for name, _ in WEIGHTS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"wire_format": "delta_flush"}, "full tensors"), ({"peft_config": {"r": 8}}, r"model\.lora\.merge=True")],
)
def test_what_it_cannot_do_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        asyncio.run(rollout().update_weights(iter(WEIGHTS), **arguments))


@pytest.mark.parametrize(
    ("mode", "reward"), [(RolloutMode.STANDALONE, False), (RolloutMode.COLOCATED, True), (RolloutMode.HYBRID, True)]
)
def test_servers_of_their_own_are_refused(mode: RolloutMode, reward: bool) -> None:
    replica = object.__new__(TransformersReplica)
    replica.rollout_mode, replica.is_reward_model, replica.is_teacher_model = mode, reward, False
    with pytest.raises(NotImplementedError, match="shares workers with"):
        asyncio.run(replica.launch_servers())
