"""Whatever a file, a template or a reference holds: findings or rows, never an exception."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orbiter_spec.data.build import build, check
from orbiter_spec.data.functions import check_function
from orbiter_spec.data.request import Columns, DatasetRequest, SourceRequest, TemplateRequest
from orbiter_spec.data.template import PromptError, PromptTemplate

QUIET = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELD = st.sampled_from(["question", "answer", "prompt", "reward_model", "data_source", "images", "extra"])
ROWS = st.lists(st.dictionaries(FIELD, JSON, max_size=4), max_size=4)


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv", "parquet", "jsonl.gz", "csv.gz"])
@QUIET
@given(content=st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(content)
    result = check(DatasetRequest((SourceRequest(path),)))
    assert result.train_rows or result.diagnostics


@QUIET
@given(rows=ROWS, images=st.booleans(), chat=st.booleans(), fraction=st.none() | st.just(0.5))
def test_any_rows_are_built_or_explained(
    tmp_path: Path, rows: list[Any], images: bool, chat: bool, fraction: float | None
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    columns = Columns(images="images" if images else None, chat="prompt" if chat else None)
    result = build(DatasetRequest((SourceRequest(path),), columns=columns, fraction=fraction), tmp_path / "out")
    assert bool(result.diagnostics) != bool(result.files)
    if result.files:
        assert result.train_rows + result.validation_rows == len(rows)


PIECES = [
    "{{",
    "}}",
    "{%",
    "%}",
    "question",
    " if ",
    " for x in ",
    " endif ",
    " endfor ",
    " set ",
    "|",
    ".",
    "(",
    ")",
    "'",
]
WORDS = [
    "upper",
    "join",
    "row",
    "range",
    "9",
    "*",
    "~",
    "[",
    "]",
    ",",
    "=",
    "loop",
    "namespace",
    "items",
    "__class__",
    " ",
]


@QUIET
@given(text=st.lists(st.sampled_from(PIECES + WORDS) | st.text(max_size=3), max_size=25).map("".join), row=ROWS)
def test_any_template(text: str, row: list[dict[str, Any]]) -> None:
    with contextlib.suppress(PromptError):
        assert isinstance(PromptTemplate(text).render(row[0] if row else {}), str)


@QUIET
@given(ref=st.text(max_size=30) | st.from_regex(r"[a-z./~]{0,12}(\.py)?:[a-z_]{0,5}"))
def test_any_reference(tmp_path: Path, ref: str) -> None:
    found, problem = check_function(ref, tmp_path)
    assert (found is None) != (problem is None)


@QUIET
@given(template=st.text(max_size=30))
def test_a_template_in_a_request_is_a_finding_at_most(tmp_path: Path, template: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"question": "q"}\n')
    result = check(DatasetRequest((SourceRequest(path),), prompt=TemplateRequest(template)))
    assert {found.id for found in result.diagnostics} <= {"ORB415"}
