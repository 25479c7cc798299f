"""Whole episodes: turns, limits, rewards, retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.agent.conftest import Arena

GAME = """
class Game:
    def __init__(self, rooms=3):
        self.rooms = rooms

    def reset(self):
        self.room = 0
        return f"room 0 of {self.rooms}"

    def step(self, action):
        self.room += "go" in action
        done = self.room >= self.rooms
        return f"room {self.room}", 1.0 if "go" in action else -0.5, done, {}
"""


def text_of(arena: Arena, ids: list[int]) -> str:
    return str(arena.tokenizer.decode(ids))


def test_an_episode_runs_until_it_is_done(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment(GAME, args={"rooms": 2})
    output, generator = game.play([game.ended("go"), game.ended("stay"), game.ended("go on")])
    assert text_of(game, output.prompt_ids) == "<|im_start|>u\nBegin.\n\nroom 0 of 2<|im_end|>\n<|im_start|>a\n"
    assert text_of(game, output.response_ids) == (
        "go<|im_end|>\n<|im_start|>u\nroom 1<|im_end|>\n<|im_start|>a\n"
        "stay<|im_end|>\n<|im_start|>u\nroom 1<|im_end|>\n<|im_start|>a\n"
        "go on<|im_end|>"
    )
    assert output.extra_fields["turn_scores"] == [1.0, -0.5, 1.0]
    episode = output.extra_fields["episode"]
    assert (episode["environment_return"], episode["turns"], episode["done"]) == (1.5, 3, 1)
    assert output.extra_fields["trajectory"]["states"] == ["room 0 of 2", "room 1", "room 1"]
    assert output.extra_fields["trajectory"]["dones"] == [False, False, True]
    assert output.num_turns == 6
    assert len(generator.asked) == 3


def test_arguments_come_from_the_row(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment(GAME, columns={"rooms": "size"})
    output, _ = game.play([game.ended("go")], row={"size": 4})
    assert output.extra_fields["episode"]["turns"] == 4


def test_a_turn_that_is_cut_off_is_closed_for_the_next(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment(GAME, args={"rooms": 2})
    game.settings["turn_tokens"] = 2
    output, generator = game.play([game.ended("go go go")])
    assert generator.limits == [2, 2]
    assert text_of(game, output.response_ids) == "go<|im_end|>\n<|im_start|>u\nroom 1<|im_end|>\n<|im_start|>a\ngo"
    assert sum(output.response_mask) == 4


def test_turn_and_length_limits(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment(GAME, args={"rooms": 1000})
    output, _ = game.play([game.ended("go")], max_turns=5)
    assert output.extra_fields["episode"]["turns"] == 5
    assert output.extra_fields["episode"]["environment_return"] == 5.0, "the last turn counts"
    output, generator = game.play([game.ended("go")], response_length=100)
    assert len(output.response_ids) <= 100
    assert output.response_mask[-1] == 1, "nothing comes after the model's last token"
    assert generator.limits[0] == 100


def test_rewards_stand_where_they_were_earned(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment(GAME, args={"rooms": 2}, credit="step", weight=2.0)
    output, _ = game.play([game.ended("go"), game.ended("stay"), game.ended("go")])
    output.reward_score = 2.0 * 1.5 + 0.25
    scores = output.as_dict()["rm_scores"]
    earned = {index: value for index, value in enumerate(scores.tolist()) if value}
    following = [*output.response_mask[1:], 0]
    ends = [at for at, (own, next) in enumerate(zip(output.response_mask, following, strict=True)) if own > next]
    assert earned == pytest.approx({ends[0]: 2.0, ends[1]: -1.0, ends[2]: 2.25})
    plain = arena()
    plain.environment(GAME, args={"rooms": 2})
    output, _ = plain.play([game.ended("go")])
    output.reward_score = 2.0
    assert output.as_dict()["rm_scores"].tolist()[-1] == 2.0
    assert output.as_dict()["rm_scores"].sum() == 2.0


def test_async_environments_and_system_prompts(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment(
        """
import asyncio
from orbiter_spec.train.environments import BaseEnvironment

class Game(BaseEnvironment):
    async def reset(self):
        await asyncio.sleep(0)
        self.lock = asyncio.Lock()
        return ""
    async def step(self, action):
        async with self.lock:
            return "", self.config.gain, True, {}
    def get_state_description(self):
        return f"seed {self.config.seed}"
    def get_prompt_prefix(self):
        return "You play."
""",
        args={"gain": 3},
    )
    first, _ = game.play([game.ended("x")])
    second, _ = game.play([game.ended("x")])
    assert text_of(game, first.prompt_ids).startswith(
        "<|im_start|>s\nYou play.<|im_end|>\n<|im_start|>u\nBegin.\n\nseed "
    )
    assert first.prompt_ids == second.prompt_ids, "samples of a row play the same game"
    assert first.extra_fields["episode"]["environment_return"] == 3.0


def test_gymnasium_environments(arena: Callable[..., Arena]) -> None:
    pytest.importorskip("gymnasium")
    game = arena()
    game.environment("", name="FrozenLake-v1", args={"is_slippery": False, "render_mode": "ansi", "desc": ["SF", "FG"]})
    game.settings["host"]["objects"]["environment"] = {"adapter": "gymnasium", "name": "FrozenLake-v1"}
    output, _ = game.play([game.ended(text) for text in ("what?", "action 1", "2")])
    assert output.extra_fields["turn_scores"] == [0.0, 0.0, 1.0]
    assert "Write a whole number: Discrete(4)." in text_of(game, output.response_ids)
    assert output.extra_fields["episode"]["done"] == 1


FLAKY = """
import pathlib
STATE = pathlib.Path(__file__).parent / "count"

class Game:
    def reset(self):
        STATE.write_text(str(int(STATE.read_text() or 0) + 1 if STATE.exists() else 1))
        return "start"
    def step(self, action):
        if int(STATE.read_text()) < 3:
            raise ConnectionError("the service is away")
        return "end", 1.0, True, {}
"""


def test_an_episode_that_fails_is_begun_again(arena: Callable[..., Arena], capfd: Any) -> None:
    game = arena()
    game.environment(FLAKY, retries=2)
    output, generator = game.play([game.ended("a"), game.ended("b"), game.ended("c")])
    episode = output.extra_fields["episode"]
    assert (episode["retries"], episode["environment_failures"], episode["failed"]) == (2, 2, 0)
    assert (episode["turns"], episode["environment_return"]) == (1, 1.0)
    assert text_of(game, output.response_ids) == "c<|im_end|>", "tokens of failed attempts are gone"
    assert len(generator.asked) == 3
    assert "envs.py line 11 in step" in capfd.readouterr().err
