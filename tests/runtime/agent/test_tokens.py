"""Token by token: what was generated is what is trained, and what stands between is the template's."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest

from tests.runtime.agent.conftest import Arena, Generator
from tests.runtime.agent.templates import FAMILIES, THINKING, Family, tokenizer_of

GAME = """
class Game:
    def __init__(self, turns=4):
        self.turns = turns
    def reset(self):
        return "You are in a room."
    def step(self, action):
        self.turns -= 1
        return f"  {self.turns} doors\\n<left> \\u00e9\\u4e16  ", 1.0, self.turns == 0, {}
    def get_prompt_prefix(self):
        return "You play a game."
"""
TOOL = '''
def look(place: str) -> str:
    """Look at a place.

    Args:
        place: Where to look.
    """
    return f"nothing at {place}"
'''

EVERY = (*FAMILIES, *THINKING)
families = pytest.mark.parametrize("family", EVERY, ids=lambda family: family.name)


def scattered(tokenizer: Any, text: str, seed: int) -> list[int]:
    """Tokens of `text` that its tokenizer would not choose: the text in random pieces, each encoded alone."""
    draw, ids, at = random.Random(seed), list[int](), 0
    while at < len(text):
        size = draw.randint(1, 3)
        ids += tokenizer.encode(text[at : at + size], add_special_tokens=False)
        at += size
    return ids


def answers(tokenizer: Any, count: int) -> list[list[int]]:
    """Answers of a model: odd tokenisations, one cut off without its end token, one empty."""
    texts = ["take the key and go north", "look at the door", " the lamp\n", "the the the room"]
    end = tokenizer.eos_token_id
    made = [[*scattered(tokenizer, texts[index % 4], index), end] for index in range(count)]
    made[1] = made[1][:-1]
    return made


def assert_faithful(output: Any, generator: Generator) -> None:
    """Every generation call saw the trained tokens up to there, and what it answered is trained, and only that."""
    whole = [*output.prompt_ids, *output.response_ids]
    mask = [0] * len(output.prompt_ids) + list(output.response_mask)
    log_probs = [0.0] * len(output.prompt_ids) + list(output.response_logprobs)
    assert len(whole) == len(mask) == len(log_probs)
    trained = [False] * len(whole)
    for number, (asked, answered) in enumerate(zip(generator.asked, generator.answered, strict=True), 1):
        begin, end = len(asked), len(asked) + len(answered)
        assert whole[:begin] == asked
        assert whole[begin:end] == answered
        assert log_probs[begin:end] == [-0.01 * (number + index) for index in range(len(answered))]
        trained[begin:end] = [True] * len(answered)
    assert [bool(flag) for flag in mask] == trained
    assert all(value == 0.0 for value, flag in zip(log_probs, trained, strict=True) if not flag)


@families
def test_what_was_generated_is_trained(arena: Callable[..., Arena], family: Family) -> None:
    game = arena(tokenizer_of(family))
    game.environment(GAME)
    script = answers(game.tokenizer, 4)
    assert any(game.encode(game.tokenizer.decode(ids, skip_special_tokens=True)) != ids[:-1] for ids in script)
    output, generator = game.play(script, model_type=family.model_type)
    assert len(generator.asked) == 4
    assert_faithful(output, generator)
    assert [len(list(run)) for flag, run in groupby(output.response_mask) if flag] == [len(ids) for ids in script]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_what_stands_between_is_the_templates(arena: Callable[..., Arena], family: Family) -> None:
    """The text of the whole is what the template makes of the whole conversation."""
    game = arena(tokenizer_of(family))
    game.environment(GAME)
    texts = ["take the key", "go north", "look", "over"]
    space = " " if family.name == "mistral-v3" else ""  # what Mistral's models begin an answer with
    output, _ = game.play([game.ended(space + text) for text in texts], model_type=family.model_type)
    states = output.extra_fields["trajectory"]["states"]
    messages = [{"role": "user", "content": f"Begin.\n\n{states[0]}"}]
    for text, state in zip(texts, [*states[1:], ""], strict=True):
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": state}]
    if family.name == "gemma-2":
        messages[0]["content"] = f"You play a game.\n\n{messages[0]['content']}"
    else:
        messages = [{"role": "system", "content": "You play a game."}, *messages]
    if family.name == "mistral-v3":  # puts the system prompt into the last user turn: it stays in the first here
        messages = messages[1:]
        messages[0]["content"] = f"You play a game.\n\n{messages[0]['content']}"
    rendered = game.tokenizer.apply_chat_template(messages[:-1], tokenize=False)
    whole = game.tokenizer.decode([*output.prompt_ids, *output.response_ids])
    assert whole == rendered.rstrip("\n")


THOUGHTS = ("a door\nmay be shut", "the lamp is on", "no key: the room", "game over")
SAID = ("north", "look", "east", "west")


@pytest.mark.parametrize("family", THINKING, ids=lambda family: family.name)
def test_thinking_that_the_template_takes_out_stays_where_it_was_generated(
    arena: Callable[..., Arena], family: Family
) -> None:
    """Later turns are generated after the thinking and trained after it; all else is the template's."""
    game = arena(tokenizer_of(family))
    game.environment(GAME)
    texts = [f"<think>\n{thought}\n</think>\n\n{said}" for thought, said in zip(THOUGHTS, SAID, strict=True)]
    end = game.tokenizer.eos_token_id
    written = [scattered(game.tokenizer, text.removeprefix(family.opened), 7) for text in texts]
    output, generator = game.play([[*ids, end] for ids in written], model_type=family.model_type)
    assert_faithful(output, generator)
    assert_recorded(output, generator)
    states = output.extra_fields["trajectory"]["states"]
    messages = [
        {"role": "system", "content": "You play a game."},
        {"role": "user", "content": f"Begin.\n\n{states[0]}"},
    ]
    for text, state in zip(texts, [*states[1:], "and?"], strict=True):
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": state}]
    rendered = game.tokenizer.apply_chat_template(messages, tokenize=False)
    assert not any(thought in rendered for thought in THOUGHTS), "the template takes all of it out"
    for text, said in zip(texts, SAID, strict=True):
        gap = "" if family.name == "qwen3" else "\n\n"  # what stands before an answer without its thinking
        assert rendered.count(f"{gap}{said}{game.tokenizer.eos_token}") == 1
        rendered = rendered.replace(f"{gap}{said}{game.tokenizer.eos_token}", f"{text}{game.tokenizer.eos_token}")
    whole = game.tokenizer.decode([*output.prompt_ids, *output.response_ids])
    assert whole == rendered[: rendered.rindex(texts[-1])] + texts[-1] + game.tokenizer.eos_token


def test_a_thought_cut_off_is_closed_and_kept(arena: Callable[..., Arena]) -> None:
    """A turn that ends inside its thinking, by the limit of a turn: the template would find no end of it."""
    for family in THINKING:
        game = arena(tokenizer_of(family))
        game.environment(GAME)
        game.settings["turn_tokens"] = 9
        output, generator = game.play(["<think>\nthe room has a door to the north, and a lamp"] * 4,
                                      model_type=family.model_type)  # fmt: skip
        assert [len(ids) for ids in generator.answered] == [9] * 4
        assert_faithful(output, generator)
        closed = [
            ids[len(before) + 9 : len(before) + 10]
            for before, ids in zip(generator.asked, generator.asked[1:], strict=False)
        ]
        assert closed == [[game.tokenizer.eos_token_id]] * 3


@pytest.mark.parametrize("family", [family for family in EVERY if family.has_tools], ids=lambda family: family.name)
def test_tools_in_every_family_that_has_them(arena: Callable[..., Arena], family: Family) -> None:
    game = arena(tokenizer_of(family))
    game.tool("look", TOOL)
    call = '<tool_call>{"name": "look", "arguments": {"place": "north"}}</tool_call>'
    script = [[*scattered(game.tokenizer, call, 1), game.tokenizer.eos_token_id], game.ended("done")]
    output, generator = game.play(script, model_type=family.model_type)
    assert_faithful(output, generator)
    assert "nothing at north" in game.tokenizer.decode(output.response_ids)
    assert output.extra_fields["episode"]["tool_failures"] == 0


ROOM = """
class Game:
    def reset(self):
        self.turns = 0
        return "You are in a room."
    def step(self, action):
        self.turns += 1
        return f"room {self.turns}: {action}", 1.0, self.turns == 3, {}
"""
LOOK = '<tool_call>{"name": "look", "arguments": {"place": "PLACE"}}</tool_call>'


def answers_with_calls(game: Arena) -> list[list[int]]:
    """Two calls in one turn, a turn for the environment, a call and a broken call, two turns more, one cut off."""
    two = LOOK.replace("PLACE", "north") + LOOK.replace("PLACE", "the key")
    texts = [two, "go north", "look: " + LOOK.replace("PLACE", "door") + "<tool_call>{</tool_call>", "the lamp", "over"]
    made = [[*scattered(game.tokenizer, text, seed), game.tokenizer.eos_token_id] for seed, text in enumerate(texts)]
    made[3] = made[3][:-1]
    return made


def name_of(family: Family) -> str:
    return family.name


with_tools = pytest.mark.parametrize("family", [one for one in EVERY if one.has_tools], ids=name_of)


@with_tools
def test_tools_and_an_environment_under_every_limit(arena: Callable[..., Arena], family: Family) -> None:
    """Ids, mask and log-probabilities of verl's record for the trainer, wherever the response is cut."""
    game = arena(tokenizer_of(family))
    game.environment(ROOM)
    game.tool("look", TOOL)
    script = answers_with_calls(game)
    whole, generator = game.play(script, model_type=family.model_type, parallel=2)
    assert len(generator.asked) == 5
    episode = whole.extra_fields["episode"]
    assert (episode["tool_calls"], episode["tool_failures"], episode["turns"], episode["done"]) == (3, 0, 5, 1)
    assert_faithful(whole, generator)
    for limit in (*range(1, len(whole.response_ids), 41), len(whole.response_ids) - 1):
        output, generator = game.play(script, model_type=family.model_type, parallel=2, response_length=limit)
        assert len(output.response_ids) <= limit
        assert_faithful(output, generator)
        assert_recorded(output, generator)


@pytest.mark.parametrize(
    "family", [one for one in FAMILIES if one.has_tools and one.renders_calls_as_text], ids=name_of
)
def test_what_stands_between_calls_and_turns_is_the_templates(arena: Callable[..., Arena], family: Family) -> None:
    game = arena(tokenizer_of(family))
    game.environment(ROOM)
    game.tool("look", TOOL)
    two = LOOK.replace("PLACE", "north") + LOOK.replace("PLACE", "key")
    said = [two, "go", "on", "over"]
    output, _ = game.play([game.ended(text) for text in said], model_type=family.model_type, parallel=2)
    results = [{"role": "tool", "content": f"nothing at {p}", "tool_call_id": "orbiter00"} for p in ("north", "key")]
    messages = [{"role": "user", "content": "Begin.\n\nYou are in a room."}, {"role": "assistant", "content": two}]
    messages += results
    for turn, text in enumerate(said[1:], 1):
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": f"room {turn}: {text}"}]
    rendered = game.tokenizer.apply_chat_template(messages[:-1], tokenize=False)
    assert game.tokenizer.decode([*output.prompt_ids, *output.response_ids]) == rendered.rstrip("\n")


def assert_recorded(output: Any, generator: Generator) -> None:
    """verl's own conversion for the trainer keeps ids, mask and log-probabilities as they are."""
    output.reward_score = 1.0
    record = output.as_dict()
    assert record["prompts"].tolist() == generator.asked[0]
    assert record["responses"].tolist() == output.response_ids
    assert record["response_mask"].tolist() == output.response_mask
    assert record["rollout_log_probs"].tolist() == pytest.approx(output.response_logprobs)


def test_every_limit_keeps_tokens_and_mask_together(arena: Callable[..., Arena]) -> None:
    for limit in range(8, 120, 7):
        game = arena(tokenizer_of(FAMILIES[0]))
        game.environment(GAME)
        output, generator = game.play(answers(game.tokenizer, 4), model_type="qwen2", response_length=limit)
        assert len(output.response_ids) <= limit
        assert_faithful(output, generator)


@families
def test_the_workers_record_is_the_loops(arena: Callable[..., Arena], family: Family) -> None:
    game = arena(tokenizer_of(family))
    game.environment(GAME)
    assert_recorded(*game.play(answers(game.tokenizer, 4), model_type=family.model_type))
