"""What is asked of the data room, in its own words.

The spec's models say what a person may write; these values say what is to be done, with every path resolved and every
template with its place. So rows can be built from Python as well, and the data room needs no section of the spec.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orbiter_spec.data.run_records import Selection
from orbiter_spec.diagnostics import Diagnostic, Place

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class HubRequest:
    """A dataset of Hugging Face's: its repository, its configuration (None: the only one) and its split."""

    name: str
    config: str | None = None
    split: str = "train"


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """One file of rows, or with `run` the folder of a run whose answers are the rows.

    `path` is where it is, `written` how the spec has it; `shown` is how it is named in rows and messages (left out: the
    path), and must not depend on the machine if the bytes built from it must not. `name` goes to every row's
    `data_source` (left out: the file's stem). `limit` takes that many rows from the start. `place` is where the spec
    names the file.

    Files that one entry of the spec means share a `group`, from which `group_limit` rows are taken. `weight` is the
    group's share of the rows beside the other groups'. With `hub` the rows are those of a dataset on Hugging Face.
    """

    path: Path
    limit: int | None = None
    place: Place | None = None
    name: str | None = None
    shown: str | None = None
    written: str = ""
    run: Selection | None = None
    hub: HubRequest | None = None
    group: int = 0
    group_limit: int | None = None
    weight: float | None = None

    @property
    def label(self) -> str:
        """How messages and rows name the file."""
        return self.shown or str(self.path)

    @property
    def data_source(self) -> str:
        """The name verl groups validation metrics by; never empty."""
        return self.name or self.path.name.split(".")[0] or self.path.name or "rows"


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns that carry meaning; a dotted name reaches into a mapping (`reward_model.ground_truth`).

    Left out: `input` and `expected` are found by their usual names, `chat` is not used, `source` is the file's name.
    `places` tells where the spec names a column, by the name of the attribute.
    """

    input: str | None = None
    expected: str | None = None
    chat: str | None = None
    source: str | None = None
    images: str | None = None
    places: dict[str, Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TemplateRequest:
    """A Jinja template over a row's fields, and where the spec writes it."""

    text: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class StepRequest:
    """One step of the pipeline: its name, its settings (those left out are absent), and where the spec writes it."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class TokenizerRequest:
    """The tokenizer that measures prompts: a folder, a repository, or `builtin:tiny-llama`.

    `chat_template` replaces the tokenizer's own, `chat_template_args` are passed to it.
    """

    name: str
    chat_template: str | None = None
    chat_template_args: Mapping[str, Any] = field(default_factory=dict)
    trust_remote_code: bool = False
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class DatasetRequest:
    """Everything that decides the built rows.

    Validation rows come from files (`validation`), or are a share of the training rows (`fraction`, drawn with `seed`),
    or those training rows whose column has a value (`held_out`), or there are none.
    With `needs_expected` every row must have an expected answer, else those of `expected_sources`.
    `pipeline` is what training rows go through before; `folder` is where its relative paths start.
    """

    train: tuple[SourceRequest, ...]
    validation: tuple[SourceRequest, ...] = ()
    fraction: float | None = None
    held_out: tuple[str, str] | None = None
    validation_limit: int | None = None
    seed: int = 0
    columns: Columns = field(default_factory=Columns)
    prompt: TemplateRequest | None = None
    instructions: TemplateRequest | None = None
    ability: str = "general"
    needs_expected: bool = False
    expected_sources: tuple[str, ...] = ()
    pipeline: tuple[StepRequest, ...] = ()
    folder: Path = Path()
    tokenizer: TokenizerRequest | None = None
    prompt_tokens: int | None = None
    place: Place | None = None


@dataclass
class StepReport:
    """What a step did: rows in and out, and for each reason why rows were dropped or added their number.

    `changed` are rows that go on with another content. `examples` names up to `EXAMPLES` rows for each reason. Rows in
    + added - dropped = rows out.
    """

    name: str
    rows_in: int = 0
    rows_out: int = 0
    added: int = 0
    changed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def drop(self, reason: str, where: str | Callable[[], str]) -> None:
        """Count a dropped row; `where` names it, or is asked for its name where it is shown."""
        self.reasons[reason] += 1
        shown = self.examples.setdefault(reason, [])
        if len(shown) < EXAMPLES:
            shown.append(where if isinstance(where, str) else where())

    def merge(self, other: StepReport) -> None:
        """Add what the same step did to other rows."""
        self.rows_in += other.rows_in
        self.rows_out += other.rows_out
        self.added += other.added
        self.changed += other.changed
        self.reasons.update(other.reasons)
        for reason, shown in other.examples.items():
            known = self.examples.setdefault(reason, [])
            known += shown[: EXAMPLES - len(known)]

    def as_json(self) -> dict[str, Any]:
        """The report as `report.json` holds it."""
        return {
            "step": self.name,
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            "added": self.added,
            "changed": self.changed,
            "dropped": dict(sorted(self.reasons.items())),
            "examples": dict(sorted(self.examples.items())),
        }


@dataclass(frozen=True, slots=True)
class BuildResult:
    """Row counts, findings and the files written (none when there were errors or nothing was to be written).

    `steps` are the reports of the pipeline, `facts` what is known of the rows beside, and `samples` the first training
    rows of a check.

    `exact` is False when a quick check estimated the counts from the head of a large file whose rows have to be read to
    be counted (CSV and compressed text).
    """

    train_rows: int
    validation_rows: int
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[Path, ...] = ()
    exact: bool = True
    steps: tuple[StepReport, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    samples: tuple[Mapping[str, Any], ...] = ()
