"""What the tokenizer makes of the rows; a program of its own because it loads transformers.

    python -m orbiter_spec.rehearse.token_probe < QUESTION.json > ANSWER.json

QUESTION has `tokenizer` (folder), `chat_template` (text or null), `rows` (a built parquet file) and
`trust_remote_code`. ANSWER is the fields of `TokenFacts`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MOST_ROWS = 256


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """Sizes in tokens. `largest_id` is the largest id the tokenizer can give; None stands for what does not exist.

    `template_error` is what the chat template raised on the first prompt; `opens_turn` is true when asking for a
    generation prompt adds text, which is what tells the model that it is its turn. `end_text` is the end token, and
    `ends_turn` is true when the template writes it behind an answer; None where the template takes no such messages.
    """

    largest_id: int
    pad_id: int | None
    end_id: int | None
    end_text: str | None
    ends_turn: bool | None
    template_error: str | None
    opens_turn: bool
    prompt_tokens: tuple[int, ...]
    answer_tokens: tuple[int, ...]


def read_facts(text: str) -> TokenFacts:
    """The facts in what this program printed."""
    answer: dict[str, Any] = json.loads(text)
    answer |= {name: tuple(answer[name]) for name in ("prompt_tokens", "answer_tokens")}
    return TokenFacts(**answer)


def main() -> None:
    """Answer the question on standard input."""
    print(json.dumps(asdict(look(json.load(sys.stdin)))))


def look(question: dict[str, Any]) -> TokenFacts:
    """Load the tokenizer and measure up to `MOST_ROWS` rows."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(question["tokenizer"], trust_remote_code=question["trust_remote_code"])
    if question["chat_template"] is not None:
        tokenizer.chat_template = question["chat_template"]
    prompts, answers = _rows(Path(question["rows"]))
    error, opens, sizes = _render(tokenizer, prompts)
    return TokenFacts(
        largest_id=max(tokenizer.get_vocab().values(), default=-1),
        pad_id=tokenizer.pad_token_id,
        end_id=tokenizer.eos_token_id,
        end_text=tokenizer.eos_token,
        ends_turn=_ends(tokenizer),
        template_error=error,
        opens_turn=opens,
        prompt_tokens=tuple(sizes),
        answer_tokens=tuple(len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in answers),
    )


def _rows(path: Path) -> tuple[list[list[dict[str, Any]]], list[str]]:
    """Prompts as messages, and the expected answers there are as text."""
    from pyarrow import parquet

    rows = parquet.read_table(path).slice(0, MOST_ROWS).to_pylist()
    answers = [row.get("reward_model", {}).get("ground_truth") for row in rows]
    return [list(row["prompt"]) for row in rows], [str(answer) for answer in answers if answer not in (None, "")]


def _ends(tokenizer: Any) -> bool | None:
    """Whether the end token stands behind an answer."""
    said = [{"role": "user", "content": "question"}, {"role": "assistant", "content": "the answer itself"}]
    try:
        text = tokenizer.apply_chat_template(said, add_generation_prompt=False, tokenize=False)
    except Exception:  # a template raises whatever its author wrote
        return None
    _, found, behind = str(text).rpartition("the answer itself")
    return tokenizer.eos_token in behind if found and tokenizer.eos_token else None


def _render(tokenizer: Any, prompts: list[list[dict[str, Any]]]) -> tuple[str | None, bool, list[int]]:
    try:
        opened = [tokenizer.apply_chat_template(one, add_generation_prompt=True, tokenize=False) for one in prompts]
        closed = [tokenizer.apply_chat_template(one, add_generation_prompt=False, tokenize=False) for one in prompts]
    except Exception as error:  # a template raises whatever its author wrote
        return f"{type(error).__name__}: {error}", False, []
    sizes = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in opened]
    return None, opened != closed, sizes


if __name__ == "__main__":
    main()
