"""Episodes of a spec played by its model as it is before training.

The compiled folder, verl's loop, the CPU's own engine and the environment's processes are the run's; only Ray and the
trainer are left out, which change nothing about what is said.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

SAMPLES = 6


def untrained_returns(compiled: Path, seed: int, samples: int = SAMPLES) -> list[float]:
    """Returns of `samples` episodes of each validation row, with weights and draws of `seed`."""
    import pyarrow.parquet as parquet
    from omegaconf import OmegaConf
    from transformers import AutoTokenizer
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap

    from orbiter_spec.data.tiny_model import write_tiny_model
    from orbiter_spec.runtime.agent.loop import EpisodeLoop

    config = OmegaConf.load(compiled / "verl.yaml")
    model = compiled.parent / f"weights-{seed}"
    write_tiny_model(model, seed)
    shared = {
        "settings": str(compiled / "agent.json"),
        "trainer_config": DictConfigWrap(config),
        "tokenizer": AutoTokenizer.from_pretrained(model),
        "processor": None,
        "dataset_cls": None,
        "data_config": DictConfigWrap(config.data),
        "hf_model_type": "llama",
    }
    rows = parquet.read_table(compiled / "data" / "validation.parquet").to_pylist()
    drawn = {"temperature": config.actor_rollout_ref.rollout.val_kwargs.temperature}

    async def episode(server: Any, row: dict[str, Any]) -> float:
        loop = EpisodeLoop(**shared, server_manager=server)
        output = await loop.run(dict(drawn), raw_prompt=row["prompt"], extra_info=row["extra_info"])
        return float(output.extra_fields["episode"]["environment_return"])

    async def play() -> list[float]:
        server = Server(model, config.actor_rollout_ref.rollout, seed)
        return await asyncio.gather(*(episode(server, row) for row in rows for _ in range(samples)))

    return asyncio.run(play())


class Server:
    """The CPU engine where verl's client of it stands."""

    def __init__(self, model: Path, rollout: Any, seed: int) -> None:
        from orbiter_spec.runtime.transformers_server import Settings, TransformersServer

        self._server = TransformersServer(
            Settings(
                path=str(model),
                dtype="float32",
                overrides={},
                trust_remote_code=False,
                prompt_tokens=rollout.prompt_length,
                response_tokens=rollout.response_length,
                context_tokens=None,
                max_requests=256,
                ignore_eos=False,
                repetition_penalty=1.0,
                seed=seed,
                replicas_on_node=1,
            )
        )

    async def generate(
        self, *, prompt_ids: list[int], sampling_params: dict[str, Any], request_id: str, **_: Any
    ) -> Any:
        from verl.workers.rollout.replica import TokenOutput

        answer = await self._server.generate(prompt_ids, sampling_params)
        return TokenOutput(**answer.fields)
