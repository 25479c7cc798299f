"""Environments of the verifiers package, the real one, played through the loop."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from orbiter_spec.runtime.agent.client import UserCodeError
from tests.conftest import ROOT
from tests.runtime.agent.conftest import ENVIRONMENT, Arena

pytest.importorskip("verifiers.envs.multiturn_env", reason="needs pip install 'verifiers>=0.1.14,<0.4'")
pytestmark = pytest.mark.timeout(300)

WORDS = (ROOT / "specs" / "environments" / "word_guess.py").read_text(encoding="utf-8")
OTHERS = '''
import verifiers as vf
from datasets import Dataset

def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: One.
        b: The other.
    """
    return a + b

def right(completion, answer, **kwargs):
    if answer == "broken":
        raise KeyError("no such thing")
    return float(completion[-1].content == answer)

def rows(**fields):
    return Dataset.from_list([{"question": "2 + 3?", "answer": "5", **fields}])

def tools():
    return vf.ToolEnv(dataset=rows(), tools=[add], rubric=vf.Rubric([right]))

def single():
    return vf.SingleTurnEnv(dataset=rows(), system_prompt="Be brief.", rubric=vf.Rubric([right]))

def broken_reward():
    return vf.SingleTurnEnv(dataset=rows(answer="broken"), rubric=vf.Rubric([right]))

class Crash(vf.MultiTurnEnv):
    async def env_response(self, messages, state, **kwargs):
        raise ConnectionError("the door is shut")

class Rewriting(vf.MultiTurnEnv):
    async def get_prompt_messages(self, state):
        return [vf.UserMessage(content=f"turn {len(state['trajectory'])}")]
    async def env_response(self, messages, state, **kwargs):
        return []

def crash():
    return Crash(dataset=rows(), rubric=vf.Rubric([right]))

def rewriting():
    return Rewriting(dataset=rows(), rubric=vf.Rubric([right]))

def together(completions, **kwargs) -> list[float]:
    return [0.0 for _ in completions]

def group():
    return vf.SingleTurnEnv(dataset=rows(), rubric=vf.Rubric([together]))

def unmade():
    raise FileNotFoundError("words.txt")
'''


def play(arena: Callable[..., Arena], code: str, name: str, answers: list[str], **given: Any) -> tuple[Arena, Any]:
    game = arena()
    game.write("game.py", code)
    row, rollout = given.pop("row", None), given.pop("rollout", {})
    made = {"adapter": "verifiers", "path": "code/game.py", "name": name, "args": given.pop("args", {})}
    game.settings["environment"] = {**ENVIRONMENT, "name": "game", "memory_megabytes": 2048, **given}
    game.settings["host"]["objects"]["environment"] = made
    output, _ = game.play([game.ended(answer) for answer in answers], row=row, **rollout)
    return game, output


def text(game: Arena, ids: list[int]) -> str:
    return str(game.tokenizer.decode(ids))


def test_several_turns_and_the_rubric_at_the_end(arena: Callable[..., Arena]) -> None:
    game, output = play(
        arena, WORDS, "load_environment", ["a door", "a key"], row={"word": 3}, columns={"example": "word"}
    )
    assert text(game, output.prompt_ids) == (
        "<|im_start|>s\nYou guess words.<|im_end|>\n"
        "<|im_start|>u\nBegin.\n\nGuess a word of 3 letters. Answer with one word.<|im_end|>\n<|im_start|>a\n"
    )
    hint = "<|im_end|>\n<|im_start|>u\nNo. It shares 0 letters with your guess.<|im_end|>\n<|im_start|>a\n"
    assert text(game, output.response_ids) == f"a door{hint}a key<|im_end|>"
    assert output.extra_fields["turn_scores"] == pytest.approx([0.0, 1.0 - 2 * 0.05])
    assert output.extra_fields["episode"]["done"] == 1


def test_its_own_limit_and_ours_both_end_with_the_rubric(arena: Callable[..., Arena]) -> None:
    _, output = play(arena, WORDS, "load_environment", ["no"], args={"max_turns": 2})
    assert (output.extra_fields["episode"]["turns"], output.extra_fields["episode"]["done"]) == (2, 1)
    assert output.extra_fields["episode"]["environment_return"] == pytest.approx(-0.1)
    _, output = play(arena, WORDS, "load_environment", ["no"], rollout={"max_turns": 3}, credit="step")
    episode = output.extra_fields["episode"]
    assert (episode["turns"], episode["done"]) == (3, 0)
    assert episode["environment_return"] == pytest.approx(-0.15)
    assert sum(output.extra_fields["trajectory"]["rewards"]) == pytest.approx(-0.15)
    assert output.step_rewards[-1] == (len(output.response_ids) - 1, pytest.approx(-0.15))


def test_the_row_may_be_the_example(arena: Callable[..., Arena]) -> None:
    columns = {"prompt": "question", "answer": "expected"}
    row = {"question": "say yes", "expected": "yes"}
    game, output = play(arena, OTHERS, "single", ["yes"], columns=columns, row=row)
    assert "s\nBe brief.<|im_end|>" in text(game, output.prompt_ids)
    assert "say yes" in text(game, output.prompt_ids)
    assert output.extra_fields["episode"]["environment_return"] == 1.0


def test_tools_are_described_called_and_answered(arena: Callable[..., Arena]) -> None:
    call = 'hm <tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>'
    wrong = '<tool_call>{"name": "add", "arguments": {"a": 2}}</tool_call>'
    game, output = play(arena, OTHERS, "tools", [wrong, call + call, "5"])
    prompt = text(game, output.prompt_ids)
    assert '"name": "add"' in prompt and "Add two numbers." in prompt
    said = text(game, output.response_ids)
    assert "<tool_response>\nadd() missing 1 required positional argument: 'b'\n</tool_response>" in said
    assert said.count("<tool_response>\n5\n</tool_response>") == 2
    assert output.extra_fields["episode"]["environment_return"] == 1.0


@pytest.mark.parametrize(
    ("name", "message", "line"),
    [
        (
            "crash",
            "environment game step raised ConnectionError: the door is shut (game.py line LINE in env_response)",
            "raise ConnectionError",
        ),
        (
            "broken_reward",
            "environment game step raised KeyError: 'no such thing' (game.py line LINE in right)",
            "raise KeyError",
        ),
        ("rewriting", "environment game step raised ValueError: the environment rewrites the conversation", ""),
        ("group", "cannot be imported: it raised ValueError: its rubric scores the samples of a row together", ""),
        (
            "unmade",
            "cannot be imported: it raised FileNotFoundError: words.txt (game.py line LINE in unmade)",
            "raise FileNotFoundError",
        ),
    ],
)
def test_what_verifiers_would_count_as_zero_is_said(
    arena: Callable[..., Arena], name: str, message: str, line: str
) -> None:
    (number,) = [at for at, text in enumerate(OTHERS.splitlines(), 1) if line in text] if line else [0]
    with pytest.raises(UserCodeError, match=re.escape(message.replace("LINE", str(number)))):
        play(arena, OTHERS, name, ["x", "y"])


def test_an_environment_that_is_not_installed(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.settings["environment"] = {**ENVIRONMENT, "name": "wordle-of-nobody"}
    game.settings["host"]["objects"]["environment"] = {"adapter": "verifiers", "name": "wordle-of-nobody"}
    with pytest.raises(UserCodeError, match="No module named 'wordle_of_nobody'"):
        game.play([game.ended("x")])
