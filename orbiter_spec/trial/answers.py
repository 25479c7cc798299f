"""Answers whose worth is known: the row's own, and what a reward should not fall for.

The right answer is the row's expected one, or a template over the row where that is not how a response looks. From it
come: nothing at all, the same said again and again, its first half, and the right answer of another row, which is wrong
here and looks right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orbiter_spec.data.run_records import RunRows, read_records

GOLD = "gold"
JUNK = ("empty", "repeated", "truncated", "shuffled")
AGAIN = "again"
"""The right answers once more, to see whether the scores are the same."""
ROLLOUTS = "rollouts"
KINDS = (GOLD, *JUNK, ROLLOUTS)
REPEATS = 20


@dataclass(frozen=True, slots=True)
class Sample:
    """What verl would hand to the reward function for one response."""

    kind: str
    response: str
    data_source: str
    ground_truth: Any
    extra_info: Mapping[str, Any]


class GoldError(ValueError):
    """The template of the right answer cannot be filled; the message says why."""


def make_answers(
    rows: Sequence[Mapping[str, Any]], template: str | None, further: Mapping[str, Any] | None = None
) -> list[Sample]:
    """Every kind of answer for each row (in verl's row format); rows without a right answer get the empty one.

    `further` is what a run would have added to each row's `extra_info`.
    """
    rows = [{**row, "extra_info": {**(row.get("extra_info") or {}), **(further or {})}} for row in rows]
    golds = [_gold(row, template) for row in rows]
    return [sample for index, row in enumerate(rows) for sample in _of_row(row, index, golds)]


def _of_row(row: Mapping[str, Any], index: int, golds: Sequence[str | None]) -> Iterator[Sample]:
    gold = golds[index]
    texts = {"empty": ""}
    if gold:
        others = [other for other in (*golds[index + 1 :], *golds[:index]) if other and other != gold]
        texts |= {GOLD: gold, AGAIN: gold, "repeated": " ".join([gold] * REPEATS)}
        texts |= {"truncated": gold[: len(gold) // 2]} if len(gold) > 1 else {}
        texts |= {"shuffled": others[0]} if others else {}
    for kind, text in texts.items():
        truth = (row.get("reward_model") or {}).get("ground_truth")
        yield Sample(kind, text, str(row.get("data_source")), truth, row.get("extra_info") or {})


def _gold(row: Mapping[str, Any], template: str | None) -> str | None:
    truth = (row.get("reward_model") or {}).get("ground_truth")
    if template is None:
        return None if truth is None else truth if isinstance(truth, str) else json.dumps(truth, ensure_ascii=False)
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    info = row.get("extra_info") or {}
    fields = json.loads(info["fields"]) if isinstance(info.get("fields"), str) else dict(info)
    try:
        compiled = ImmutableSandboxedEnvironment(undefined=StrictUndefined).from_string(template)
        return str(compiled.render({**fields, "expected": truth}))
    except (TemplateError, TypeError, ValueError) as error:
        raise GoldError(f"the template of the right answer cannot be filled: {error}") from None


def run_answers(folder: Path, limit: int) -> list[Sample]:
    """The latest answers that a run recorded, with the rows they answered where those are found.

    Raises data.run_records.RunRecordsError when `folder` is no run.
    """
    records = list(read_records(folder))[-limit:]
    rows = RunRows(folder)
    found = [(record, rows.find(record)) for record in records]
    return [
        Sample(
            ROLLOUTS,
            record.output,
            str((fields or {}).get("data_source", "")),
            record.expected,
            {"fields": json.dumps(fields), "prompt": record.input} if fields else {"prompt": record.input},
        )
        for record, fields in found
    ]
