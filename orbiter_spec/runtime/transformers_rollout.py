"""verl's side of the rollout engine `hf`: the replica that starts a server, and the worker's adapter that feeds it.

One server actor for each replica, on the node of the replica's first worker. Weights travel through Ray's object store
in buckets of `rollout.checkpoint_engine.update_weights_bucket_megabytes`; the first rank of each replica sends to its
own server while the other ranks take part in gathering the shards. Refused, each with its reason: LoRA adapters that
are not merged, rollout servers that do not share the trainer's workers, delta weight updates.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import ray
import torch
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from verl.utils.fs import copy_to_local
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutMode, RolloutReplica
from verl.workers.rollout.utils import ensure_async_iterator

from orbiter_spec.runtime.transformers_server import Settings, TransformersServer

DTYPES = {"fp32": "float32", "float": "float32", "bf16": "bfloat16", "fp16": "float16", "half": "float16"}


def server_name(replica: int) -> str:
    """Ray's name for the server of a replica, in the namespace of the run."""
    return f"hf_server_{replica}_0"


class TransformersReplica(RolloutReplica):  # type: ignore[misc]
    """Starts the server of one replica."""

    async def launch_servers(self) -> None:
        """Start the server actor and wait until its model is loaded. Raises what loading raised."""
        if self.rollout_mode != RolloutMode.HYBRID or self.is_reward_model or self.is_teacher_model:
            raise NotImplementedError(
                "rollout.name=hf generates for the actor it shares workers with (trainer.v1.trainer_mode sync or "
                "colocate_async); it serves no reward model, no teacher and no separate rollout pool"
            )
        first = self.workers[0]
        node = await first.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id())
        self._server_address = server_name(self.replica_rank)
        self._server_handle = (
            ray.remote(TransformersServer)
            .options(
                name=self._server_address,
                num_cpus=0,
                max_concurrency=self.max_concurrency,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node, soft=False),
            )
            .remote(self._settings())
        )
        await self._server_handle.ready.remote()
        self.servers = [self._server_handle]

    def _settings(self) -> Settings:
        model, rollout = self.model_config, self.config
        overrides = dict(model.get("override_config") or {})
        return Settings(
            path=copy_to_local(model.path, use_shm=model.get("use_shm", False)),
            dtype=DTYPES.get(rollout.dtype, rollout.dtype),
            overrides=dict(overrides.get("model_config", overrides)),
            trust_remote_code=bool(model.get("trust_remote_code", False)),
            prompt_tokens=rollout.prompt_length,
            response_tokens=rollout.response_length,
            context_tokens=rollout.max_model_len,
            max_requests=rollout.max_num_seqs,
            ignore_eos=rollout.ignore_eos,
            repetition_penalty=rollout.repetition_penalty,
            seed=rollout.seed,
            replicas_on_node=max(1, self.gpus_per_node // self.world_size),
        )


class TransformersRollout(BaseRollout):  # type: ignore[misc]
    """Lives in each trainer worker and sends the actor's weights to the replica's server."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1) -> None:
        super().__init__(config, model_config, device_mesh)
        rank = int(os.environ["RANK"])
        size = (
            self.config.tensor_model_parallel_size
            * self.config.data_parallel_size
            * self.config.pipeline_model_parallel_size
        )
        self.replica_rank = rank // size if replica_rank == -1 else replica_rank
        self.sends = rank % size == 0
        self._server: Any = None

    async def resume(self, tags: list[str]) -> None:
        """Nothing was released."""

    async def release(self) -> None:
        """The server keeps its weights."""

    @torch.no_grad()  # type: ignore[untyped-decorator]
    async def update_weights(
        self,
        weights: Any,
        global_steps: int | None = None,
        wire_format: str = "named_tensors",
        peft_config: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Send every weight to the replica's server. All ranks must call this: gathering a shard is collective."""
        if wire_format != "named_tensors":
            raise NotImplementedError(f"rollout.name=hf takes full tensors, not wire_format={wire_format!r}")
        if peft_config is not None:
            raise NotImplementedError("rollout.name=hf needs actor_rollout_ref.model.lora.merge=True to train LoRA")
        async for bucket in self._buckets(weights):
            if self.sends:
                await self._handle().load_weights.remote(bucket)
        if self.sends:
            await self._handle().finish_weights.remote(global_steps)

    def _handle(self) -> Any:
        if self._server is None:
            self._server = ray.get_actor(server_name(self.replica_rank))
        return self._server

    async def _buckets(self, weights: Any) -> AsyncIterator[list[tuple[str, torch.Tensor]]]:
        limit = self.config.checkpoint_engine.update_weights_bucket_megabytes << 20
        bucket: list[tuple[str, torch.Tensor]] = []
        size = 0
        async for name, tensor in ensure_async_iterator(weights):
            tensor = tensor.detach()
            bucket.append((name, tensor))
            size += tensor.numel() * tensor.element_size()
            if size >= limit:
                yield bucket
                bucket, size = [], 0
        if bucket:
            yield bucket
