"""What a turn costs beyond its generation: verl's own loops, and those of tools and environments.

    python -m benchmarks.agent_loop [SAMPLES]

The inference server answers at once, so that all that is left is the loops' own time: chat template, tokens, processes
of the user's code. Samples run at the same time, as in a worker. Real verl, real tokenizer, no model. The environment
is also played in the worker itself, which the runs never do: the difference is the price of its isolation.

Seen on two cores that had other work as well, milliseconds a turn, the least of five rounds of 64 conversations:

| Loop | ms a turn |
| --- | ---: |
| verl's `single_turn_agent` | 0.55 |
| verl's `tool_agent`, with a function in the worker | 0.76 |
| tools, processes used again | 0.91 |
| tools, a process for each call | 5.88 |
| environment, processes used again | 1.63 |
| environment, a process for each episode | 7.33 |
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from orbiter_spec.data.tiny_model import write_tiny_model

TURNS = 4
ROUNDS = 5
USES = 64
GAME = """
class Game:
    def reset(self):
        self.left = TURNS
        return "start"
    def step(self, action):
        self.left -= 1
        return "a room with two doors and a lamp", 1.0, self.left == 0, {}
""".replace("TURNS", str(TURNS))
TOOL = '''
def look(place: str) -> str:
    """Look at a place.

    Args:
        place: Where to look.
    """
    return "a room with two doors and a lamp"
'''
CALL = '<tool_call>{"name": "look", "arguments": {"place": "north"}}</tool_call>'


class Server:
    """Answers every request with the same tokens."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = ids

    async def generate(self, **_: Any) -> Any:
        from verl.workers.rollout.replica import TokenOutput

        return TokenOutput(token_ids=list(self.ids), log_probs=[-1.0] * len(self.ids), extra_fields={})


class InWorker:
    """A host and session of the environment that isolate nothing."""

    def __init__(self, game: type) -> None:
        self.environments = asyncio.Semaphore(256)
        self._game = game

    async def open(self, *_: Any) -> Any:
        from orbiter_spec.runtime.agent.leftovers import Beginning
        from orbiter_spec.runtime.agent.session import Session

        opened = InWorker(self._game)
        opened._session = Session({"environment": self._game}, Path(), Beginning(None))  # type: ignore[attr-defined]
        return opened

    async def ask(self, do: str, _seconds: float, **values: Any) -> Any:
        return self._session.answer(json.dumps({"do": do, **values}))  # type: ignore[attr-defined]

    async def close(self, **_: Any) -> None:
        pass


def write_settings(folder: Path, environment: bool, uses: int) -> Path:
    folder.mkdir()
    (folder / "code").mkdir()
    (folder / "code" / "user.py").write_text(GAME + TOOL, encoding="utf-8")
    limits = {"timeout_seconds": 60.0, "memory_megabytes": 4096}
    game = {"name": "Game", "args": {}, "columns": {}, "retries": 0, "on_error": "stop", "credit": "episode"}
    objects: dict[str, Any] = {"look": {"path": "code/user.py", "name": "look", "tool": True}}
    if environment:
        objects["environment"] = {"path": "code/user.py", "name": "Game"}
    settings = {
        "environment": {**game, **limits, "episodes_per_process": uses, "weight": 1.0} if environment else None,
        "tools": {"look": {**limits, "calls_per_process": uses, "on_error": "show"}},
        "turn_tokens": None,
        "max_tool_failures": None,
        "tool_timeout_seconds": 60.0,
        "host": {"objects": objects},
    }
    path = folder / "agent.json"
    path.write_text(json.dumps(settings), encoding="utf-8")
    return path


def arguments(tokenizer: Any, answer: str, tools: list[Any]) -> dict[str, Any]:
    from omegaconf import OmegaConf
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap

    turns = {
        "max_user_turns": None,
        "max_assistant_turns": TURNS,
        "max_parallel_calls": 1,
        "max_tool_response_length": 256,
        "tool_response_truncate_side": "middle",
        "format": "hermes",
    }
    lengths = {"prompt_length": 512, "response_length": 2048, "calculate_log_probs": True, "full_determinism": False}
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": {**lengths, "multi_turn": turns}}, "data": {}})
    ids = [*tokenizer.encode(answer), tokenizer.eos_token_id]
    return {
        "trainer_config": DictConfigWrap(config),
        "server_manager": Server(ids),
        "tokenizer": tokenizer,
        "processor": None,
        "dataset_cls": None,
        "data_config": DictConfigWrap(config.data),
        "hf_model_type": "qwen2",
        "tools": ToolListWrap(tools),
    }


async def milliseconds_a_turn(make: Callable[[], Any], samples: int, turns: int) -> tuple[float, float]:
    """Least and median over rounds of the time for `samples` conversations at once, in ms a turn of one conversation.

    Other work on the machine only adds to it, so the least is what the loop itself takes.
    """
    messages = [{"role": "user", "content": "Begin."}]

    async def one() -> None:
        output = await make().run({}, raw_prompt=messages, extra_info={"index": 0, "split": "train"})
        assert len(output.response_ids) == len(output.response_mask)

    await one()
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(samples)))
        times.append((time.perf_counter() - began) / samples / turns * 1000)
    return min(times), statistics.median(times)


async def main(samples: int) -> None:
    from transformers import AutoTokenizer
    from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop
    from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop
    from verl.tools.function_tool import FunctionTool

    from orbiter_spec.runtime.agent.loop import EpisodeLoop
    from orbiter_spec.runtime.agent.tools import UserTool

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_tiny_model(root / "model")
        tokenizer = AutoTokenizer.from_pretrained(root / "model")
        paths = {
            (kind, uses): str(write_settings(root / f"{kind}-{uses}", kind == "game", uses))
            for kind in ("game", "tools")
            for uses in (1, USES)
        }
        with contextlib.redirect_stdout(io.StringIO()):
            own = {uses: UserTool({"name": "look", "settings": paths["tools", uses]}) for uses in (1, USES)}
        plain = FunctionTool("look", lambda place: "a room with two doors and a lamp", own[1].tool_schema)
        spoken, called = arguments(tokenizer, "go north", []), arguments(tokenizer, CALL, [plain])
        ours = {uses: arguments(tokenizer, CALL, [tool]) for uses, tool in own.items()}

        def tools(uses: int) -> Any:
            return EpisodeLoop(**ours[uses], settings=paths["tools", uses])

        def game(uses: int) -> Any:
            return EpisodeLoop(**spoken, settings=paths["game", uses])

        cases: tuple[tuple[str, int, Callable[[], Any]], ...] = (
            ("verl single_turn_agent", 1, lambda: SingleTurnAgentLoop(**spoken)),
            ("verl tool_agent, function in the worker", TURNS, lambda: ToolAgentLoop(**called)),
            ("tools, processes used again", TURNS, lambda: tools(USES)),
            ("tools, a process for each call", TURNS, lambda: tools(1)),
            ("environment, processes used again", TURNS, lambda: game(USES)),
            ("environment, a process for each episode", TURNS, lambda: game(1)),
        )
        print(f"{samples} conversations at once, {ROUNDS} rounds")
        for name, turns, make in cases:
            print(line(name, await milliseconds_a_turn(make, samples, turns), turns))
        local = InWorker(user_class(root / f"game-{USES}"))
        with mock.patch("orbiter_spec.runtime.agent.loop.find_host", mock.AsyncMock(return_value=local)):
            taken = await milliseconds_a_turn(lambda: game(USES), samples, TURNS)
        print(line("environment in the worker, not isolated", taken, TURNS))


def user_class(folder: Path) -> type:
    namespace: dict[str, Any] = {}
    exec((folder / "code" / "user.py").read_text(encoding="utf-8"), namespace)
    found: type = namespace["Game"]
    return found


def line(name: str, milliseconds: tuple[float, float], turns: int) -> str:
    least, median = milliseconds
    return f"{name:<42} {least:6.2f} ms a turn at least, {median:6.2f} in the median ({turns} turns)"


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 64))
