"""How `orbiter-spec data` shows builds, rows and numbers: plain data, and text drawn from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orbiter_spec.data.look import Look, Seen
    from orbiter_spec.data.request import BuildResult
    from orbiter_spec.data.statistics import SplitStatistics

BAR_CHARACTERS = 40


def build_json(result: BuildResult) -> dict[str, Any]:
    """A build: rows, steps, files."""
    return {
        "version": 1,
        "rows": {"train": result.train_rows, "validation": result.validation_rows},
        "steps": [step.as_json() for step in result.steps],
        "files": [str(path) for path in result.files],
    }


def build_text(result: BuildResult) -> str:
    """The same as text."""
    content = build_json(result)
    files = [f"  {path}" for path in content["files"]]
    return "\n".join([*_steps(content["steps"]), _rows(content["rows"]), *files])


def _rows(rows: Mapping[str, int]) -> str:
    return f"{rows['train']:,} training rows, {rows['validation']:,} validation rows"


def _steps(steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line a step, and one for each reason why rows were dropped."""
    for number, step in enumerate(steps, start=1):
        more = f", {step['added']:,} added" if step["added"] else ""
        more += f", {step['changed']:,} changed" if step.get("changed") else ""
        yield f"{number}. {step['step']}: {step['rows_in']:,} rows in, {step['rows_out']:,} out{more}"
        for reason, count in sorted(step["dropped"].items(), key=lambda item: (-item[1], item[0])):
            shown = ", ".join(step["examples"].get(reason, ()))
            yield f"     {count:,} dropped: {reason}" + (f" ({shown})" if shown else "")


def preview_json(seen: Look) -> dict[str, Any]:
    """Rows as the model reads them."""
    trouble = seen.trouble
    return {
        "version": 1,
        "whole_build": seen.whole,
        "trouble": None if trouble is None else {"id": trouble.id, "message": str(trouble), "note": trouble.note},
        "tools": seen.tools,
        "rows": [row.as_json() for row in seen.rows],
    }


def preview_text(seen: Look) -> str:
    """The same as text: what the model reads stands between two lines of its own, with nothing added to it."""
    parts = [part for row in seen.rows for part in _row(row)]
    if not seen.rows:
        parts.append("there are no such rows")
    if seen.trouble is not None:
        help = f"; {seen.trouble.help}" if seen.trouble.help else ""
        parts.append(f"shown as messages: {seen.trouble}{f' ({seen.trouble.note})' if seen.trouble.note else ''}{help}")
    if not seen.whole:
        parts.append("not built yet: these are of the first rows of each source")
    return "\n".join(parts)


def _row(row: Seen) -> Iterator[str]:
    tokens = f", {row.tokens:,} tokens" if row.tokens is not None else ""
    images = row.row.get("images")
    pictures = f", {len(images)} images" if images else ""
    yield f"--- {row.split} row {row.number}, {row.row.get('data_source')}{tokens}{pictures} ---"
    if row.text is not None:
        yield row.text
    else:
        yield from (f"[{message['role']}] {message['content']}" for message in row.messages)
    yield f"--- expected: {row.expected} ---" if row.expected is not None else "--- nothing expected ---"


def stats_json(
    result: BuildResult, counted: Mapping[str, SplitStatistics], rewards: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """A build in numbers. `rewards` are the parts that score an answer, as rewards.json has them."""
    return {
        **build_json(result),
        "splits": {name: _covered(split.as_json(), rewards) for name, split in counted.items()},
        "rewards": [str(part["name"]) for part in rewards],
    }


def _covered(split: dict[str, Any], rewards: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The split, with the parts that score the rows of each source."""
    for name, source in split["sources"].items():
        source["rewards"] = [str(part["name"]) for part in rewards if name in part.get("sources", (name,))]
    return split


def stats_text(content: Mapping[str, Any]) -> str:
    """The same as text."""
    lines = [*_steps(content["steps"]), _rows(content["rows"])]
    for name, split in content["splits"].items():
        lines += ["", f"{name}: {split['rows']:,} rows"]
        lines += [f"  {line}" for line in (*_sources(split), *_shape(split), *_lengths(split))]
    return "\n".join(lines)


def _sources(split: Mapping[str, Any]) -> Iterator[str]:
    for name, source in split["sources"].items():
        share = source["with_expected"] / source["rows"]
        scored = f", scored by {', '.join(source['rewards'])}" if source["rewards"] else ", scored by nothing"
        yield f"{name}: {source['rows']:,} rows, {share:.1%} with an expected answer{scored}"


def _shape(split: Mapping[str, Any]) -> Iterator[str]:
    turns = ", ".join(f"{count:,} of {number}" for number, count in split["messages"].items())
    yield f"messages a prompt: {turns}"
    if split["with_images"]:
        yield f"with images: {split['with_images']:,} rows"


def _lengths(split: Mapping[str, Any]) -> Iterator[str]:
    lengths = split["lengths"]
    if split["trouble"]:
        yield f"tokens are not counted: {split['trouble']}"
    if lengths is None:
        return
    some = f" of {lengths['measured']:,} rows" if lengths["measured"] < split["rows"] else ""
    names = ("least", "median", "p90", "p99", "most")
    yield f"prompt {lengths['unit']}{some}: " + ", ".join(f"{name} {lengths[name]:,}" for name in names)
    if lengths["over_limit"]:
        yield f"over the limit: {lengths['over_limit']:,} ({lengths['over_limit'] / lengths['measured']:.1%})"
    most = max(count for _, _, count in lengths["bins"])
    wide = len(f"{lengths['bins'][-1][1]:,}")
    for start, end, count in lengths["bins"]:
        bar = "#" * round(BAR_CHARACTERS * count / most)
        yield f"{start:>{wide},} - {end:>{wide},}  {bar:{BAR_CHARACTERS}} {count:,}"
