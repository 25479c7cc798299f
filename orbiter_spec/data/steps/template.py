"""`template`: rows made from templates, after the rows that came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orbiter_spec.data.pipeline import Context, Rows, StepError, in_batches
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import Columns, SourceRequest, StepReport, StepRequest
from orbiter_spec.data.template import PromptError
from orbiter_spec.data.templates import expand

SOURCE = SourceRequest(Path("template"), name="template", shown="template")
LIGHT_ROWS = 200


def make(request: StepRequest, context: Context) -> Template:
    """The step; `seed` defaults to the dataset's."""
    return Template(request, int(request.settings.get("seed", context.seed)), context)


@dataclass
class Template:
    """Settings of `data.templates.expand`."""

    request: StepRequest
    seed: int
    context: Context

    def stream(self, batches: Iterator[Rows], report: StepReport) -> Iterator[Rows]:
        """All rows that came, then those that are made; their data_source is `template`."""
        yield from batches
        for batch in in_batches(self._made()):
            report.added += len(batch)
            yield batch

    def _made(self) -> Iterator[Row]:
        settings = self.request.settings
        columns = self.context.columns
        try:
            made = expand(
                settings["texts"],
                settings["variables"],
                settings.get("rows"),
                self.seed,
                settings.get("expected"),
                LIGHT_ROWS if self.context.light else None,
            )
            for number, fields in enumerate(made, start=1):
                yield Row(SOURCE, number, _renamed(fields, columns))
        except PromptError as error:
            raise StepError(f"template: {error}", id="ORB440", help=error.help) from None


def _renamed(fields: dict[str, object], columns: Columns) -> dict[str, object]:
    """`question` and `answer` under the names that the spec gives them."""
    names = {"question": columns.input or "question", "answer": columns.expected or "answer"}
    return {names.get(name, name): value for name, value in fields.items()}
