"""Questions about the wiring that need no training: what the tokenizer makes of prompts and expected answers.

They are asked of the spec's own limits and, where this machine has it, its own tokenizer. What only a stand-in could
answer is estimated and said to be.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from orbiter_spec.compilation import Compilation
from orbiter_spec.data.rows import TRAIN_FILE
from orbiter_spec.diagnostics import Diagnostic, Place, Severity
from orbiter_spec.plan.model_facts import find_config
from orbiter_spec.rehearse.model import SmallModel
from orbiter_spec.rehearse.token_probe import TokenFacts, read_facts

BYTES_PER_TOKEN = 4
OWN_SHARE = 0.9
"""Embeddings are padded to round numbers, by a few per cent at most."""
PROBE_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Asked:
    """What the probes look at: the spec's plan and places, the compiled rehearsal, and its model."""

    state: Compilation
    compiled: Path
    model: SmallModel | None

    @property
    def estimated(self) -> bool:
        """True when a byte-level tokenizer stands in for the model's."""
        return self.model is not None and self.model.byte_tokens


def probe_tokens(asked: Asked) -> list[Diagnostic]:
    """Findings about tokenizer, chat template and lengths."""
    rows = asked.compiled / TRAIN_FILE
    if not rows.is_file():
        return []
    facts = _facts(asked, rows)
    if isinstance(facts, Diagnostic):
        return [facts]
    return [*_tokenizer(asked, facts), *_template(asked, facts), *_answers(asked, facts)]


def _facts(asked: Asked, rows: Path) -> TokenFacts | Diagnostic:
    assert asked.state.experiment is not None
    named = asked.state.experiment.agent.model
    folder = asked.compiled / "model" if asked.model is None else asked.model.folder
    question = {
        "tokenizer": str(folder),
        "chat_template": named.chat_template,
        "rows": str(rows),
        "trust_remote_code": bool(named.trust_remote_code),
    }
    done = subprocess.run(
        [sys.executable, "-m", "orbiter_spec.rehearse.token_probe"],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        timeout=PROBE_SECONDS,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        place = asked.state.place("agent.model.tokenizer" if named.tokenizer else "agent.model.path")
        return Diagnostic("ORB562", "the tokenizer cannot be loaded", place, note=last)
    return read_facts(done.stdout)


def _tokenizer(asked: Asked, facts: TokenFacts) -> Iterator[Diagnostic]:
    """Does the tokenizer belong to the model? Nothing is asked of a stand-in, or of the model that is small already."""
    assert asked.state.experiment is not None and asked.state.plan is not None
    named = asked.state.experiment.agent.model
    found = find_config(str(asked.state.plan.path("agent.model.path")))
    if found is None or asked.estimated or asked.model is None:
        return
    place = asked.state.place("agent.model.tokenizer" if named.tokenizer else "agent.model.path")
    yield from _vocabulary(int(found[0].get("vocab_size", 0)), facts, place)
    yield from _end(_ids(found[0].get("eos_token_id")), facts, place)


def _vocabulary(size: int, facts: TokenFacts, place: Place | None) -> Iterator[Diagnostic]:
    """Ids that the model has no embedding for end a run with an index error, or on a GPU with an assertion."""
    if 0 < size <= facts.largest_id:
        yield Diagnostic(
            "ORB563",
            "the tokenizer gives ids that the model does not have",
            place,
            note=f"the largest id is {facts.largest_id}, and the model has {size} embeddings",
            help="name the model's own tokenizer, or resize the model's embeddings",
        )
    elif facts.largest_id + 1 < OWN_SHARE * size:
        yield Diagnostic(
            "ORB571",
            "the tokenizer looks like that of another model",
            place,
            note=f"it has {facts.largest_id + 1} ids, and the model has {size} embeddings",
            help="name the model's own tokenizer",
            severity=Severity.WARNING,
        )


def _end(ids: tuple[int, ...], facts: TokenFacts, place: Place | None) -> Iterator[Diagnostic]:
    """Generation ends at the tokenizer's end token, which the model has to have learned to write."""
    if facts.end_id is None:
        yield Diagnostic(
            "ORB572",
            "the tokenizer names no end token",
            place,
            note="answers end at agent.limits.response_tokens and nowhere else",
            help="set eos_token in tokenizer_config.json",
            severity=Severity.WARNING,
        )
    elif ids and facts.end_id not in ids:
        yield Diagnostic(
            "ORB572",
            "tokenizer and model end answers with different tokens",
            place,
            note=f"eos_token is {facts.end_text} with the id {facts.end_id}, and config.json names {_listed(ids)}",
            help="if the tokenizer is the model's own, this may be meant; else name the model's own",
            severity=Severity.WARNING,
        )


def _ids(value: Any) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, list) else () if value is None else (int(value),)


def _listed(ids: tuple[int, ...]) -> str:
    return " and ".join(map(str, ids))


def _template(asked: Asked, facts: TokenFacts) -> Iterator[Diagnostic]:
    assert asked.state.experiment is not None
    named = asked.state.experiment.agent.model
    if asked.estimated and named.chat_template is None:
        return
    place = asked.state.place("agent.model.chat_template" if named.chat_template else "agent.model.path")
    if facts.template_error is not None:
        yield Diagnostic("ORB564", "the chat template fails on the first prompts", place, note=facts.template_error)
    elif not facts.opens_turn:
        yield Diagnostic(
            "ORB564",
            "the chat template opens no assistant turn",
            place,
            note="add_generation_prompt adds nothing, so the model goes on with the user's words",
            help="end the template with {% if add_generation_prompt %} and the assistant's header",
        )
    elif facts.ends_turn is False:
        yield Diagnostic(
            "ORB573",
            "the chat template does not end an answer with the end token",
            place,
            note=f"{facts.end_text} is where generation ends, and the template writes it behind no answer",
            help="set eos_token to the token that ends a turn, or write eos_token there in the template",
            severity=Severity.WARNING,
        )


def _answers(asked: Asked, facts: TokenFacts) -> Iterator[Diagnostic]:
    """An answer that is longer than the limit can never be given."""
    assert asked.state.plan is not None
    limit = int(asked.state.plan.get("agent.limits.response_tokens", 512))
    sizes = [ceil(size / BYTES_PER_TOKEN) if asked.estimated else size for size in facts.answer_tokens]
    long = [size for size in sizes if size > limit]
    if not long:
        return
    about = "about " if asked.estimated else ""
    yield Diagnostic(
        "ORB565",
        "expected answers are longer than an answer may be",
        asked.state.place("agent.limits.response_tokens"),
        note=f"{len(long)} of {len(sizes)} take more than {limit} tokens alone, the longest {about}{max(long)}",
        help=f"set agent.limits.response_tokens to at least {max(long)}, or check dataset.columns.expected",
        severity=Severity.ERROR if 2 * len(long) > len(sizes) else Severity.WARNING,
    )
