"""Rows as the model will see them: the text after system prompt, chat template and tools, and its tokens.

A build that is there already is looked at. Otherwise the first rows of each source are built, in a folder that is
thrown away, and nobody is asked over a network: what is seen is what those rows become, not what a whole build would
begin with.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from orbiter_spec.data.build import build, step_context
from orbiter_spec.data.building import TRAIN
from orbiter_spec.data.cache import build_key, cache_folder
from orbiter_spec.data.report import NAME as REPORT
from orbiter_spec.data.report import read_report
from orbiter_spec.data.request import BuildResult, DatasetRequest, SourceRequest
from orbiter_spec.data.tokenizing import PromptMeter, TokenizerError

FIRST_ROWS = 200
"""Rows of each source that are built for a look."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One row: its number in the build, the text that the model reads (None: not rendered), its tokens, its row."""

    split: str
    number: int
    text: str | None
    tokens: int | None
    row: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The prompt as messages."""
        return list(self.row["prompt"])

    @property
    def expected(self) -> str | None:
        """What the reward compares with, as text."""
        truth: str | None = (self.row.get("reward_model") or {}).get("ground_truth")
        return truth

    def as_json(self) -> dict[str, Any]:
        """Plain data; images as their number of bytes."""
        info = self.row.get("extra_info") or {}
        images = [_size(image) for image in self.row.get("images") or []]
        return {
            "split": self.split,
            "row": self.number,
            "data_source": self.row.get("data_source"),
            "text": self.text,
            "tokens": self.tokens,
            "messages": self.messages,
            "expected": self.expected,
            "images": images,
            "fields": json.loads(info["fields"]) if isinstance(info.get("fields"), str) else None,
        }


def _size(image: Any) -> Any:
    raw = image.get("bytes") if isinstance(image, Mapping) else None
    return {"bytes": len(raw)} if isinstance(raw, bytes) else image


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen; `whole` when it is of a whole build; `trouble` is why no text could be rendered."""

    rows: list[Seen]
    result: BuildResult
    whole: bool
    trouble: TokenizerError | None = None
    tools: list[dict[str, Any]] = field(default_factory=list)


def look(
    request: DatasetRequest,
    count: int,
    *,
    split: str = TRAIN,
    start: int = 1,
    tools: list[dict[str, Any]] | None = None,
) -> Look:
    """`count` rows of a split from number `start` on (from one). Raises OSError when the disk refuses."""
    kept = kept_build(request)
    if kept is not None:
        return _seen(request, kept, True, count, split, start, tools or [])
    with tempfile.TemporaryDirectory(prefix="orbiter-look-") as folder:
        few = replace(request, train=tuple(map(_few, request.train)), validation=tuple(map(_few, request.validation)))
        (Path(folder) / "scratch").mkdir()
        context = replace(step_context(few), scratch=Path(folder) / "scratch", offline=True)
        result = build(few, Path(folder) / "rows", context=context)
        return _seen(request, result, False, count, split, start, tools or [])


def kept_build(request: DatasetRequest) -> BuildResult | None:
    """The build of `request` in the cache, or None."""
    folder = cache_folder() / "data" / build_key(request)
    return read_report(folder, request) if (folder / REPORT).is_file() else None


def _few(source: SourceRequest) -> SourceRequest:
    return replace(source, limit=min(source.limit or FIRST_ROWS, FIRST_ROWS))


def _seen(
    request: DatasetRequest,
    result: BuildResult,
    whole: bool,
    count: int,
    split: str,
    start: int,
    tools: list[dict[str, Any]],
) -> Look:
    file = next((path for path in result.files if path.stem == split), None)
    rows = list(rows_of(file, start, count)) if file is not None else []
    texts: list[str] | list[None] = [None] * len(rows)
    tokens: list[int] | list[None] = [None] * len(rows)
    trouble = None
    if rows and request.tokenizer is not None:
        try:
            meter = with_tools(PromptMeter(request.tokenizer), tools)
            texts = meter.texts([row["prompt"] for row in rows])
            tokens = meter.count_texts(texts)
        except TokenizerError as error:
            trouble = error
    seen = [Seen(split, start + index, *one) for index, one in enumerate(zip(texts, tokens, rows, strict=True))]
    return Look(seen, result, whole, trouble, tools)


def with_tools(meter: PromptMeter, tools: list[dict[str, Any]]) -> PromptMeter:
    """The meter, whose chat template is shown the tools as verl shows them."""
    if not tools:
        return meter
    args = {**meter.request.chat_template_args, "tools": tools}
    return PromptMeter(replace(meter.request, chat_template_args=args))


def rows_of(path: Path, start: int = 1, count: int | None = None) -> Iterator[dict[str, Any]]:
    """Rows of a built file, from number `start` (from one) on; only the row groups that hold them are read."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        skip, left = start - 1, count
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            if skip >= size:
                skip -= size
                continue
            for row in file.read_row_group(group).slice(skip, left).to_pylist():
                yield row
                left = None if left is None else left - 1
            skip = 0
            if left == 0:
                return
