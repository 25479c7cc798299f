"""From sources to verl's rows: what is in them, that bytes repeat, and that a problem leaves no file."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from orbiter_spec.data.build import build, check
from orbiter_spec.data.quick import QUICK_BYTES
from orbiter_spec.data.request import Columns, DatasetRequest, SourceRequest, TemplateRequest
from orbiter_spec.diagnostics import Place

SPEC = Place("spec.yaml", 5, 10)


def jsonl(path: Path, rows: list[Any]) -> SourceRequest:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return SourceRequest(path, place=SPEC, shown=path.name)


def questions(count: int) -> list[dict[str, Any]]:
    return [{"question": f"{i}+1?", "answer": i + 1} for i in range(count)]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return parquet.read_table(path).to_pylist()


def ids(request: DatasetRequest) -> list[str]:
    return [found.id for found in check(request, quick=False).diagnostics]


def test_a_row_in_verls_format(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "sums.jsonl", [{"question": "1+1?", "answer": 2, "tags": ["a", None], "level": 1.5}])
    request = DatasetRequest(
        (source,), prompt=TemplateRequest("Q: {{ question }}"), instructions=TemplateRequest("Level {{ level }}.")
    )
    result = build(request, tmp_path / "out")
    assert (result.train_rows, result.validation_rows, result.diagnostics) == (1, 0, ())
    assert result.files == (tmp_path / "out" / "train.parquet",)
    (row,) = rows_of(result.files[0])
    fields = row["extra_info"].pop("fields")
    assert json.loads(fields) == {"question": "1+1?", "answer": 2, "tags": ["a", None], "level": 1.5}
    assert row == {
        "data_source": "sums",
        "prompt": [{"role": "system", "content": "Level 1.5."}, {"role": "user", "content": "Q: 1+1?"}],
        "ability": "general",
        "reward_model": {"style": "rule", "ground_truth": "2"},
        "extra_info": {
            "index": 0,
            "split": "train",
            "source": "sums.jsonl",
            "row": 1,
            "prompt": "Q: 1+1?",
            "expected": "2",
        },
    }


def test_rows_of_different_shapes_fit_one_file(tmp_path: Path) -> None:
    shapes = [{"answer": "x"}, {"answer": 1}, {"answer": [1, {"a": 2}]}, {"answer": True, "more": {"deep": [1]}}]
    source = jsonl(tmp_path / "a.jsonl", [{"question": "q", **shape} for shape in shapes])
    result = build(DatasetRequest((source,)), tmp_path)
    assert result.diagnostics == ()
    rows = rows_of(result.files[0])
    assert [row["reward_model"]["ground_truth"] for row in rows] == ["x", "1", '[1, {"a": 2}]', "true"]
    assert [row["extra_info"]["expected"] for row in rows] == [None, "1", '[1, {"a": 2}]', "true"]


def test_chat_columns_pass_through(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    source = jsonl(tmp_path / "a.jsonl", [{"prompt": chat, "reward_model": {"ground_truth": "g"}, "data_source": "d"}])
    for columns in (Columns(), Columns(chat="prompt", expected="reward_model.ground_truth")):
        instructions = TemplateRequest("other")
        (row,) = rows_of(
            build(DatasetRequest((source,), columns=columns, instructions=instructions), tmp_path).files[0]
        )
        assert row["prompt"] == chat
        assert row["reward_model"]["ground_truth"] == "g"
        assert row["data_source"] == "d"


def test_a_named_source_and_a_source_column(tmp_path: Path) -> None:
    source = jsonl(
        tmp_path / "a.b.jsonl", [{"question": "q", "set": "easy", "ability": "math"}, {"question": "q", "set": ""}]
    )
    named = SourceRequest(source.path, name="given")
    rows = rows_of(build(DatasetRequest((source, named), columns=Columns(source="set")), tmp_path).files[0])
    assert [row["data_source"] for row in rows] == ["easy", "a", "given", "given"]
    assert [row["ability"] for row in rows] == ["math", "general", "math", "general"]


def test_the_same_request_gives_the_same_bytes(tmp_path: Path) -> None:
    contents = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        source = jsonl(folder / "a.jsonl", questions(3000))
        result = build(DatasetRequest((source,), fraction=0.1, seed=7), folder / "out")
        contents.append([path.read_bytes() for path in result.files])
    assert contents[0] == contents[1]


def test_a_share_is_set_aside_by_seed_and_loses_no_row(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", questions(100))
    chosen = {}
    for seed in (1, 2):
        result = build(DatasetRequest((source,), fraction=0.25, seed=seed), tmp_path / str(seed))
        assert (result.train_rows, result.validation_rows) == (75, 25)
        train, validation = (rows_of(path) for path in result.files)
        assert [row["extra_info"]["index"] for row in validation] == list(range(25))
        numbers = [[row["extra_info"]["row"] for row in rows] for rows in (train, validation)]
        assert sorted(numbers[0] + numbers[1]) == list(range(1, 101))
        assert numbers[0] == sorted(numbers[0])
        assert {row["extra_info"]["split"] for row in validation} == {"validation"}
        chosen[seed] = numbers[1]
    assert chosen[1] != chosen[2]


@pytest.mark.parametrize(
    ("rows", "fraction", "limit", "expected"),
    [(2, 0.01, None, (1, 1)), (10, 0.99, None, (1, 9)), (100, 0.5, 3, (97, 3))],
)
def test_shares_of_small_files(
    tmp_path: Path, rows: int, fraction: float, limit: int | None, expected: tuple[int, int]
) -> None:
    request = DatasetRequest((jsonl(tmp_path / "a.jsonl", questions(rows)),), fraction=fraction, validation_limit=limit)
    built, checked = build(request, tmp_path), check(request)
    assert (built.train_rows, built.validation_rows) == (checked.train_rows, checked.validation_rows) == expected


def test_one_row_cannot_be_shared(tmp_path: Path) -> None:
    request = DatasetRequest((jsonl(tmp_path / "a.jsonl", questions(1)),), fraction=0.5)
    for result in (check(request), build(request, tmp_path / "out")):
        assert [found.id for found in result.diagnostics] == ["ORB413"]
    assert not (tmp_path / "out").exists()


def test_validation_files_and_limits(tmp_path: Path) -> None:
    train = SourceRequest(jsonl(tmp_path / "a.jsonl", questions(10)).path, limit=4)
    request = DatasetRequest((train,), validation=(jsonl(tmp_path / "v.jsonl", questions(9)),), validation_limit=3)
    result = build(request, tmp_path / "out")
    assert (result.train_rows, result.validation_rows) == (4, 3)
    assert [len(rows_of(path)) for path in result.files] == [4, 3]
    assert (check(request).train_rows, check(request).validation_rows) == (4, 3)


def test_missing_column_with_the_nearest_name_at_the_spec(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", questions(3))
    place = Place("spec.yaml", 9, 20)
    columns = Columns(input="questoin", places={"input": place})
    (found,) = check(DatasetRequest((source,), columns=columns)).diagnostics
    assert (found.id, found.place, found.help) == ("ORB411", place, "did you mean question?")
    assert found.message == "a.jsonl has no column 'questoin'"


def test_no_usual_column_asks_for_its_name(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", [{"text": "q", "label": "a"}])
    (found,) = check(DatasetRequest((source,))).diagnostics
    assert (found.id, found.place, found.help) == ("ORB411", SPEC, "name it: dataset.columns.input")
    assert found.note == "the file has text, label"
    prompt = TemplateRequest("{{ text }}")
    assert ids(DatasetRequest((source,), prompt=prompt)) == []
    assert ids(DatasetRequest((source,), prompt=prompt, needs_expected=True)) == ["ORB411"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"answer": 1}, "row has no question"),
        ({"question": None, "answer": 1}, "row has no question"),
        ({"question": {"a": 1}, "answer": 1}, "question is a dict, not text"),
        ({"question": [], "answer": 1}, "question is not a list of messages"),
        ({"question": [{"role": "user"}], "answer": 1}, "question holds a message whose content is not text"),
        (
            {"question": ["hello"], "answer": 1},
            "question holds something that is not a message with a role and a content",
        ),
        ({"question": "q", "answer": None}, "row has no answer"),
    ],
)
def test_an_unfit_row_is_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    source = jsonl(tmp_path / "a.jsonl", [*questions(300), row])
    request = DatasetRequest((source,), columns=Columns(expected="answer"))
    for quick in (True, False):
        (found,) = check(request, quick=quick).diagnostics
        assert (found.id, found.message) == ("ORB416", message)
        assert found.place is not None
        assert (found.place.file, found.place.line) == ("a.jsonl", 301)


def test_an_unfit_parquet_row_is_named_at_the_spec(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"question": ["q", None], "answer": ["a", "b"]}), path)
    (found,) = check(DatasetRequest((SourceRequest(path, place=SPEC, shown="a.parquet"),))).diagnostics
    assert (found.id, found.place, found.message) == ("ORB416", SPEC, "a.parquet row 2: row has no question")


def test_parquet_values_that_json_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    when = datetime.datetime(2026, 1, 2, 3, 4, 5)
    table = {"question": ["q"], "answer": [float("nan")], "when": [when], "raw": [b"\x00\xff"], "size": [2**60]}
    parquet.write_table(pa.table(table), path)
    (row,) = rows_of(build(DatasetRequest((SourceRequest(path),)), tmp_path / "out").files[0])
    fields = {"question": "q", "answer": None, "when": "2026-01-02T03:04:05", "raw": "AP8=", "size": 2**60}
    assert json.loads(row["extra_info"]["fields"]) == fields


def test_empty_files_and_files_without_good_rows(tmp_path: Path) -> None:
    empty = jsonl(tmp_path / "empty.jsonl", [])
    (found,) = check(DatasetRequest((empty,))).diagnostics
    assert (found.id, found.place, found.message) == ("ORB413", SPEC, "dataset has no rows: empty.jsonl")
    parquet.write_table(pa.table({"question": pa.array([], pa.string())}), tmp_path / "e.parquet")
    assert ids(DatasetRequest((SourceRequest(tmp_path / "e.parquet"),))) == ["ORB413"]
    assert ids(DatasetRequest((jsonl(tmp_path / "a.jsonl", [1, 2]),))) == ["ORB412", "ORB412"]


def test_every_problem_is_found_in_one_go(tmp_path: Path) -> None:
    train = jsonl(tmp_path / "a.jsonl", [{"question": "q"}, 3])
    validation = (SourceRequest(tmp_path / "missing.jsonl"), jsonl(tmp_path / "e.jsonl", []))
    request = DatasetRequest((train,), validation=validation, prompt=TemplateRequest("{{ qestion }}"))
    assert sorted(ids(request)) == ["ORB410", "ORB412", "ORB413", "ORB415"]


def test_a_template_problem_points_at_the_template_and_the_row(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", [{"question": "q", "hint": "h"}, *questions(50)])
    place = Place("spec.yaml", 2, 11)
    (found,) = check(DatasetRequest((source,), prompt=TemplateRequest("{{ question }} {{ hint }}", place))).diagnostics
    assert (found.id, found.place) == ("ORB415", place)
    assert found.message == "template names 'hint', which the row does not have, in a.jsonl row 2"
    assert found.related[0].place.line == 2


def test_a_broken_template_is_one_finding(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", questions(50))
    place = Place("spec.yaml", 2, 11)
    (found,) = check(DatasetRequest((source,), prompt=TemplateRequest("a\n{{ question", place))).diagnostics
    assert (found.id, found.place, found.note) == ("ORB415", place, "line 2 of the template")


@pytest.mark.parametrize("earlier", [True, False])
def test_a_problem_leaves_the_output_as_it_was(tmp_path: Path, earlier: bool) -> None:
    out = tmp_path / "out"
    good = jsonl(tmp_path / "good.jsonl", questions(5000))
    before = build(DatasetRequest((good,)), out).files[0].read_bytes() if earlier else None
    bad = jsonl(tmp_path / "bad.jsonl", [*questions(5000), "broken"])
    result = build(DatasetRequest((bad,), fraction=0.1), out)
    assert result.files == ()
    assert [found.id for found in result.diagnostics] == ["ORB412"]
    kept = [path.name for path in out.iterdir()] if out.exists() else []
    assert kept == (["train.parquet"] if earlier else [])
    assert before is None or (out / "train.parquet").read_bytes() == before


def test_a_disk_that_fails_leaves_no_part_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = jsonl(tmp_path / "a.jsonl", questions(3000))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("orbiter_spec.data.write.os.replace", fail)
    with pytest.raises(OSError, match="No space"):
        build(DatasetRequest((source,)), tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_images_as_bytes_or_paths(tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_bytes(b"png")
    source = jsonl(tmp_path / "a.jsonl", [{"question": "<image>?", "pictures": ["cat.png"]}])
    (row,) = rows_of(build(DatasetRequest((source,), columns=Columns(images="pictures")), tmp_path / "o").files[0])
    assert row["images"] == [{"bytes": b"png"}]
    path = tmp_path / "b.parquet"
    parquet.write_table(pa.table({"question": ["<image>?"], "image": [{"bytes": b"png", "path": "x"}]}), path)
    (row,) = rows_of(
        build(DatasetRequest((SourceRequest(path),), columns=Columns(images="image")), tmp_path / "p").files[0]
    )
    assert row["images"] == [{"bytes": b"png"}]
    assert json.loads(row["extra_info"]["fields"]) == {"question": "<image>?"}


def test_images_of_two_kinds_are_a_finding(tmp_path: Path) -> None:
    first = SourceRequest(tmp_path / "b.parquet", place=SPEC)
    parquet.write_table(pa.table({"question": ["?"], "image": [{"bytes": b"png"}]}), first.path)
    second = jsonl(tmp_path / "a.jsonl", [{"question": "?", "image": "cat.png"}])
    result = build(DatasetRequest((first, second), columns=Columns(images="image")), tmp_path / "o")
    assert [found.id for found in result.diagnostics] == ["ORB416"]
    assert list((tmp_path / "o").iterdir()) == []


def test_a_quick_check_reads_the_head_and_counts_the_rest(tmp_path: Path) -> None:
    rows = 50_000
    path = tmp_path / "a.jsonl"
    with path.open("w") as stream:
        for i in range(rows):
            stream.write(f'{{"question": "{i}{"x" * 250}", "answer": {i}}}\n')
        stream.write("broken at the very end")
    assert path.stat().st_size > QUICK_BYTES
    source = SourceRequest(path)
    quick = check(DatasetRequest((source,), fraction=0.5))
    assert (quick.train_rows + quick.validation_rows, quick.exact, quick.diagnostics) == (rows + 1, True, ())
    limited = check(DatasetRequest((SourceRequest(path, limit=45_500),)))
    assert limited.train_rows == 45_500
    whole = check(DatasetRequest((source,)), quick=False)
    assert [found.id for found in whole.diagnostics] == ["ORB412"]
    assert whole.train_rows == rows


def test_a_quick_check_of_a_large_parquet_file_trusts_its_footer(tmp_path: Path) -> None:
    rows = 30_000
    path = tmp_path / "a.parquet"
    table = pa.table(
        {"question": [f"{i} " + str(hash((i, "x"))) * 20 for i in range(rows)], "answer": list(range(rows))}
    )
    parquet.write_table(table, path, compression="none", use_dictionary=False)
    assert path.stat().st_size > QUICK_BYTES
    result = check(DatasetRequest((SourceRequest(path),)))
    assert (result.train_rows, result.exact, result.diagnostics) == (rows, True, ())
