"""The agent loop driven directly: real verl code, real tokenizers, real processes for the user's code, and a generator
that says what the test wrote down."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ENVIRONMENT: dict[str, Any] = {
    "name": "Game",
    "args": {},
    "columns": {},
    "timeout_seconds": 10.0,
    "retries": 0,
    "on_error": "stop",
    "memory_megabytes": 512,
    "episodes_per_process": 64,
    "credit": "episode",
    "weight": 1.0,
}
TOOL: dict[str, Any] = {
    "timeout_seconds": 10.0,
    "on_error": "show",
    "memory_megabytes": 512,
    "calls_per_process": 64,
}


@dataclass
class Generator:
    """Stands where verl's client of the inference server stands; answers from a script and remembers what was asked."""

    script: Sequence[list[int]]
    asked: list[list[int]] = field(default_factory=list)
    answered: list[list[int]] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)

    async def generate(self, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any) -> Any:
        from verl.workers.rollout.replica import TokenOutput

        ids = list(self.script[len(self.asked) % len(self.script)])[: sampling_params["max_tokens"]]
        self.asked.append(list(prompt_ids))
        self.answered.append(ids)
        self.limits.append(sampling_params["max_tokens"])
        log_probs = [-0.01 * (len(self.answered) + index) for index in range(len(ids))]
        return TokenOutput(token_ids=ids, log_probs=log_probs, extra_fields={"global_steps": 1})


@dataclass
class Arena:
    """A folder as `compile` writes it, and loops that run in it."""

    folder: Path
    tokenizer: Any
    settings: dict[str, Any]

    def write(self, name: str, text: str) -> None:
        (self.folder / "code").mkdir(exist_ok=True)
        (self.folder / "code" / name).write_text(text, encoding="utf-8")

    def environment(self, text: str, **settings: Any) -> None:
        """Declare the environment `Game` of a file envs.py."""
        self.write("envs.py", text)
        self.settings["environment"] = {**ENVIRONMENT, **settings}
        self.settings["host"]["objects"]["environment"] = {"path": "code/envs.py", "name": "Game"}

    def tool(self, name: str, text: str, **settings: Any) -> None:
        """Declare a function of a file tools.py."""
        self.write("tools.py", text)
        self.settings["tools"][name] = {**TOOL, **settings}
        self.settings["host"]["objects"][name] = {"path": "code/tools.py", "name": name, "tool": True}

    def loop(self, generator: Any, model_type: str = "llama", **rollout: Any) -> Any:
        from omegaconf import OmegaConf
        from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap

        from orbiter_spec.runtime.agent.loop import EpisodeLoop
        from orbiter_spec.runtime.agent.settings import read_settings
        from orbiter_spec.runtime.agent.tools import UserTool

        path = self.folder / "agent.json"
        path.write_text(json.dumps(self.settings), encoding="utf-8")
        read_settings.cache_clear()
        config = OmegaConf.create({"actor_rollout_ref": {"rollout": rollout_config(**rollout)}, "data": {}})
        tools = [UserTool({"name": name, "settings": str(path)}) for name in self.settings["tools"]]
        return EpisodeLoop(
            settings=str(path),
            trainer_config=DictConfigWrap(config),
            server_manager=generator,
            tokenizer=self.tokenizer,
            processor=None,
            dataset_cls=None,
            data_config=DictConfigWrap(config.data),
            hf_model_type=model_type,
            tools=ToolListWrap(tools),
        )

    def play(self, answers: Sequence[str | list[int]], *, row: dict[str, Any] | None = None, **rollout: Any) -> Any:
        """One sample with these answers; the output and the generator."""
        script = [self.encode(answer) if isinstance(answer, str) else answer for answer in answers]
        generator = Generator(script)
        messages = [{"role": "user", "content": "Begin."}]
        info = {"index": 0, "split": "train", "fields": json.dumps(row or {})}

        async def run() -> Any:
            loop = self.loop(generator, **rollout)
            return await loop.run({"temperature": 1.0}, raw_prompt=messages, extra_info=info)

        return asyncio.run(run()), generator

    def encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def ended(self, text: str) -> list[int]:
        """Tokens of an answer that the model ended itself."""
        return [*self.encode(text), self.tokenizer.eos_token_id]


def rollout_config(**given: Any) -> dict[str, Any]:
    turns = {
        "max_user_turns": None,
        "max_assistant_turns": given.pop("max_turns", None),
        "max_parallel_calls": given.pop("parallel", 1),
        "max_tool_response_length": 256,
        "tool_response_truncate_side": "middle",
        "format": given.pop("format", "hermes"),
    }
    lengths = {"prompt_length": 2048, "response_length": 2048, "calculate_log_probs": True, "full_determinism": False}
    return {**lengths, "multi_turn": turns, **given}


@pytest.fixture
def arena(tmp_path: Path, model_folder: Path) -> Iterator[Callable[..., Arena]]:
    """Makes an arena with the tiny model's tokenizer, or another."""
    from transformers import AutoTokenizer

    from orbiter_spec.runtime.agent import client, episode

    def make(tokenizer: Any = None) -> Arena:
        settings = {
            "environment": None,
            "tools": {},
            "turn_tokens": None,
            "max_tool_failures": None,
            "tool_timeout_seconds": 10.0,
            "host": {"objects": {}},
        }
        return Arena(tmp_path, tokenizer or AutoTokenizer.from_pretrained(model_folder), settings)

    episode._failures.clear()
    yield make
    for host in client._hosts.values():
        host.close()
    client._hosts.clear()
