"""The pipeline: steps in order, what they report, and that a broken one is a finding where the spec writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from orbiter_spec.data import pipeline
from orbiter_spec.data.build import build, check
from orbiter_spec.data.flow import Flow
from orbiter_spec.data.pipeline import STEPS, Batch, Context, in_batches
from orbiter_spec.data.read import Row
from orbiter_spec.data.request import DatasetRequest, SourceRequest, StepRequest
from orbiter_spec.diagnostics import Place
from orbiter_spec.spec.pipeline import Step

SOURCE = SourceRequest(Path("rows.jsonl"), shown="rows.jsonl")
HERE = Place("spec.yaml", 9, 12)


def rows(*fields: dict[str, Any]) -> list[Row]:
    return [Row(SOURCE, number, dict(each)) for number, each in enumerate(fields, start=1)]


def through(items: list[Row], *steps: StepRequest, **context: Any) -> tuple[list[Row], list[dict[str, Any]]]:
    flow = Flow(Context(**context))
    kept = [row for batch in flow.run(in_batches(items), steps) for row in batch]
    return kept, [report.as_json() for report in flow.reports]


def request_of(folder: Path, items: list[dict[str, Any]], *steps: StepRequest, **options: Any) -> DatasetRequest:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return DatasetRequest((SourceRequest(path, shown="rows.jsonl", place=HERE),), pipeline=steps, **options)


def questions(path: Path) -> list[str]:
    return [row["prompt"][-1]["content"] for row in parquet.read_table(path).to_pylist()]


def test_the_language_and_the_engine_know_the_same_steps() -> None:
    assert tuple(Step.model_fields) == STEPS


def test_steps_run_in_order_and_report_what_they_drop() -> None:
    items = rows(*({"question": "q" * (index + 1), "score": index / 10} for index in range(10)))
    kept, reports = through(
        items, StepRequest("filter", {"expression": "len(question) > 2"}), StepRequest("filter_by_score", {"min": 0.5})
    )
    assert [row.number for row in kept] == [6, 7, 8, 9, 10]
    assert reports == [
        {
            "step": "filter",
            "rows_in": 10,
            "rows_out": 8,
            "added": 0,
            "changed": 0,
            "dropped": {"not len(question) > 2": 2},
            "examples": {"not len(question) > 2": ["rows.jsonl row 1", "rows.jsonl row 2"]},
        },
        {
            "step": "filter_by_score",
            "rows_in": 8,
            "rows_out": 5,
            "added": 0,
            "changed": 0,
            "dropped": {"score below 0.5": 3},
            "examples": {"score below 0.5": ["rows.jsonl row 3", "rows.jsonl row 4", "rows.jsonl row 5"]},
        },
    ]


def test_a_shuffle_keeps_every_row_and_repeats_itself_in_and_out_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = rows(*({"question": str(index)} for index in range(3000)))
    orders = []
    for held in (65_536, 100):
        monkeypatch.setattr("orbiter_spec.data.spool.BUFFER_ROWS", held)
        kept, _ = through(items, StepRequest("shuffle"), seed=3, scratch=tmp_path)
        orders.append([row.number for row in kept])
    assert orders[0] == orders[1]
    assert orders[0] != sorted(orders[0]) == [row.number for row in items]
    assert [row.number for row in through(items, StepRequest("shuffle", {"seed": 4}))[0]] != orders[0]
    assert list(tmp_path.iterdir()) == []


def test_the_pipeline_builds_rows_and_sets_a_share_aside(tmp_path: Path) -> None:
    request = request_of(
        tmp_path,
        [{"question": f"{index}?", "answer": index} for index in range(100)],
        StepRequest("filter", {"expression": "answer >= 20"}),
        StepRequest("shuffle"),
        fraction=0.1,
    )
    result = build(request, tmp_path / "out")
    assert (result.train_rows, result.validation_rows, result.diagnostics) == (72, 8, ())
    train, validation = (questions(path) for path in result.files)
    assert sorted(train + validation) == sorted(f"{index}?" for index in range(20, 100))
    assert [report.rows_out for report in result.steps] == [80, 80]


@pytest.mark.parametrize(
    ("step", "id", "message"),
    [
        (StepRequest("filter", {"expression": "len(question"}, HERE), "ORB440", "filter: expression cannot be read"),
        (StepRequest("filter", {"expression": "len(qestion) < 1"}, HERE), "ORB441", "filter fails on rows.jsonl row 1"),
        (StepRequest("filter_by_score", {"min": 1.0}, HERE), "ORB441", "filter_by_score finds no score or reward"),
    ],
)
def test_a_broken_step_is_one_finding_at_its_place(tmp_path: Path, step: StepRequest, id: str, message: str) -> None:
    request = request_of(tmp_path, [{"question": "a", "answer": 1}] * 3, step)
    for result in (check(request), build(request, tmp_path / "out")):
        (found,) = result.diagnostics
        assert (found.id, found.place) == (id, HERE)
        assert found.message.startswith(message)
    assert not (tmp_path / "out").exists()


def test_a_check_does_not_claim_to_know_how_many_rows_stay(tmp_path: Path) -> None:
    request = request_of(
        tmp_path, [{"question": "a", "answer": 1}] * 3, StepRequest("filter", {"expression": "answer > 1"})
    )
    assert check(request).exact is False


def test_batches_are_cut_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "BATCH_BYTES", 100)

    def batches(size: int) -> Iterator[Batch]:
        return in_batches(rows(*({"x": ["a" * size, {"y": b"b"}]} for _ in range(10))))

    assert [len(batch) for batch in batches(49)] == [2, 2, 2, 2, 2]
    assert [len(batch) for batch in batches(9)] == [10]


PIPELINE = (
    StepRequest("filter", {"expression": "len(question) > 2"}),
    StepRequest("augment", {"noise": 0.3}),
    StepRequest("deduplicate", {"threshold": 0.9}),
    StepRequest("split", {"fraction": 0.1}),
    StepRequest("shuffle"),
    StepRequest("filter_by_score", {"min": 0.1, "column": "score"}),
    StepRequest("sample", {"fraction": 0.9}),
)


def test_the_number_of_workers_does_not_change_a_byte(tmp_path: Path) -> None:
    items = [{"question": f"What is {n} and {n % 700}?", "answer": n, "score": n % 10 / 10} for n in range(5000)]
    request = request_of(tmp_path, items, *PIPELINE, seed=9)
    contents = []
    for workers in (1, 3):
        result = build(request, tmp_path / str(workers), workers=workers)
        assert result.diagnostics == ()
        contents.append(([path.read_bytes() for path in result.files], [step.as_json() for step in result.steps]))
    assert contents[0] == contents[1]
    assert len(contents[0][0]) == 2


def test_a_step_that_fails_in_another_process_is_the_same_finding(tmp_path: Path) -> None:
    items = [{"question": "a", "answer": n} for n in range(4000)]
    step = StepRequest("filter", {"expression": "1 / (answer - 3000) < 1"}, HERE)
    found = [build(request_of(tmp_path, items, step), tmp_path / "out", workers=n).diagnostics for n in (1, 2)]
    assert found[0] == found[1]
    assert [(each.id, each.place) for each in found[0]] == [("ORB441", HERE)]
    assert list(tmp_path.glob("out/*")) == []
