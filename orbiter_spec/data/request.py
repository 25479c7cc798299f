"""What is asked of the data room, in its own words.

The spec's models say what a person may write; these values say what is to be done, with every path resolved and every
template with its place. So rows can be built from Python as well, and the data room needs no section of the spec.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from orbiter_spec.diagnostics import Diagnostic, Place


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """One file of rows.

    `path` is where it is, `written` how the spec has it; `shown` is how it is named in rows and messages (left out: the
    path), and must not depend on the machine if the bytes built from it must not. `name` goes to every row's
    `data_source` (left out: the file's stem). `limit` takes that many rows from the start. `place` is where the spec
    names the file.
    """

    path: Path
    limit: int | None = None
    place: Place | None = None
    name: str | None = None
    shown: str | None = None
    written: str = ""

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
class DatasetRequest:
    """Everything that decides the built rows.

    Validation rows come from files (`validation`), or are a share of the training rows (`fraction`, drawn with `seed`),
    or there are none.
    """

    train: tuple[SourceRequest, ...]
    validation: tuple[SourceRequest, ...] = ()
    fraction: float | None = None
    validation_limit: int | None = None
    seed: int = 0
    columns: Columns = field(default_factory=Columns)
    prompt: TemplateRequest | None = None
    instructions: TemplateRequest | None = None
    ability: str = "general"
    needs_expected: bool = False
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class BuildResult:
    """Row counts, findings and the files written (none when there were errors or nothing was to be written).

    `exact` is False when a quick check estimated the counts from the head of a large file whose rows have to be read to
    be counted (CSV and compressed text).
    """

    train_rows: int
    validation_rows: int
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[Path, ...] = ()
    exact: bool = True
