"""An environment of the verifiers package (pip install 'verifiers>=0.1.14,<0.4'): a word is guessed in a few turns."""

from __future__ import annotations

from typing import Any

import verifiers as vf
from datasets import Dataset

WORDS = ("north", "south", "lantern", "key")


class WordGuess(vf.MultiTurnEnv):  # type: ignore[misc]
    """Says how many letters of a guess are in the word, until it is found or the turns are used up."""

    @vf.stop  # type: ignore[untyped-decorator]
    async def is_found(self, state: vf.State) -> bool:
        """Whether the last guess was the word."""
        return bool(state["trajectory"]) and right(state["trajectory"][-1]["completion"], state["answer"]) == 1.0

    async def env_response(self, messages: vf.Messages, state: vf.State, **_: Any) -> vf.Messages:
        """The hint after a wrong guess."""
        shared = set(guess_in(messages)) & set(state["answer"])
        return [vf.UserMessage(content=f"No. It shares {len(shared)} letters with your guess.")]


def guess_in(messages: vf.Messages) -> str:
    """The last word of the last message."""
    words = str(messages[-1].content).lower().split()
    return words[-1].strip(".!") if words else ""


def right(completion: vf.Messages, answer: str) -> float:
    """1 for the word."""
    return float(guess_in(completion) == answer)


def turns_taken(completion: vf.Messages) -> float:
    """Messages of the model."""
    return float(sum(message.role == "assistant" for message in completion))


def load_environment(words: tuple[str, ...] = WORDS, max_turns: int = 4) -> vf.Environment:
    """What verifiers calls to make the environment."""
    rows = [
        {"question": f"Guess a word of {len(word)} letters. Answer with one word.", "answer": word} for word in words
    ]
    rubric = vf.Rubric(funcs=[right, turns_taken], weights=[1.0, -0.05])
    return WordGuess(
        dataset=Dataset.from_list(rows), system_prompt="You guess words.", rubric=rubric, max_turns=max_turns
    )
