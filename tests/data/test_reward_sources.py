"""Rewards that score rows of some sources: each has rows, and each row has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from orbiter_spec.compiler import check
from orbiter_spec.runtime.reward_library.function import call_function
from orbiter_spec.runtime.reward_library.scoring import Part, Scorer
from orbiter_spec.runtime.reward_library.signature import Bound

SPEC = """\
version: 1
name: mixed
agent: {{model: Qwen/Qwen2.5-0.5B-Instruct, prompt: "{{{{ question }}}}"}}
dataset: {{train: [{{path: math.jsonl}}, {{path: code.jsonl, name: programs}}]}}
rewards:
  - {{builtin: exact_match, sources: [{first}]}}
  - {{builtin: regex, args: {{pattern: a}}{second}}}
algorithm: grpo
hardware: 8xH100
"""
ROW = '{"question": "1+1?", "answer": "2"}\n'


def found(folder: Path, first: str, second: str, row: str = ROW) -> list[tuple[str, str, int | None]]:
    (folder / "math.jsonl").write_text(row * 2000, encoding="utf-8")
    (folder / "code.jsonl").write_text(ROW * 2000, encoding="utf-8")
    (folder / "spec.yaml").write_text(SPEC.format(first=first, second=second), encoding="utf-8")
    report = check(str(folder / "spec.yaml")).report
    return [
        (one.id, str(one.severity), one.place.line if one.place else None)
        for one in report
        if one.id in ("ORB455", "ORB456")
    ]


def test_sources_that_fit(tmp_path: Path) -> None:
    assert found(tmp_path, "math", ", sources: [programs]") == []
    assert found(tmp_path, "math", "") == [], "a part without sources scores every row"


def test_a_reward_for_no_source(tmp_path: Path) -> None:
    assert found(tmp_path, "maths", "") == [("ORB455", "error", 6)]


def test_a_source_without_a_reward(tmp_path: Path) -> None:
    assert found(tmp_path, "math", ", sources: [math]") == [("ORB456", "error", 4)]


def test_rows_that_name_their_source(tmp_path: Path) -> None:
    row = '{"question": "1+1?", "answer": "2", "data_source": "sums"}\n'
    assert found(tmp_path, "sums", ", sources: [programs]", row) == []
    assert found(tmp_path, "later", "", row) == [("ORB455", "warning", 6)]


def part(folder: Path, name: str, weight: float, sources: frozenset[str] | None) -> Part:
    value = {"half": 0.5, "quarter": 0.25}[name]
    call = call_function(Bound(lambda: value, {}), folder, {"name": name, "kind": "function"})
    return Part(name, weight, "stop", "", call, sources=sources)


@pytest.mark.parametrize("combine", ["sum", "product", "min"])
def test_a_part_counts_for_its_sources_alone(tmp_path: Path, combine: str) -> None:
    one = part(tmp_path, "half", 1.0, frozenset(("a",)))
    two = part(tmp_path, "quarter", 2.0, None)
    scorer = Scorer([one, two], tmp_path, combine)
    other = scorer.score({"data_source": "b"})
    assert (other["score"], other["half/counted"], other["half"]) == (0.5, 0.0, 0.0)
    own = scorer.score({"data_source": "a"})
    assert own["half/counted"] == 1.0
    assert own["score"] == {"sum": 1.0, "product": 0.25, "min": 0.5}[combine]


def test_a_part_called_asynchronously_counts_for_its_sources_alone(tmp_path: Path) -> None:
    async def half() -> float:
        return 0.5

    call = call_function(Bound(half, {}), tmp_path, {"name": "half", "kind": "function"})
    scorer = Scorer([Part("half", 1.0, "stop", "", call, sources=frozenset(("a",)))], tmp_path)
    assert [scorer.score({"data_source": name})["score"] for name in "ab"] == [0.5, 0.0]


def check_ids(folder: Path, spec: str) -> list[tuple[str, str]]:
    (folder / "spec.yaml").write_text(spec, encoding="utf-8")
    report = check(str(folder / "spec.yaml")).report
    return [(one.id, one.message) for one in report if str(one.severity) == "error"]


def test_only_rows_that_are_compared_need_an_answer(tmp_path: Path) -> None:
    bare = '{"question": "write a loop", "tests": "assert True"}\n'
    (tmp_path / "math.jsonl").write_text(ROW * 2000, encoding="utf-8")
    (tmp_path / "code.jsonl").write_text(bare * 2000, encoding="utf-8")
    spec = SPEC.format(first="math", second="").replace("regex, args: {pattern: a}", "code_tests, sources: [programs]")
    assert check_ids(tmp_path, spec) == []
    (tmp_path / "math.jsonl").write_text(ROW * 1999 + bare, encoding="utf-8")
    assert check_ids(tmp_path, spec) == [("ORB416", "row has no answer")]
    (tmp_path / "math.jsonl").write_text(bare * 2000, encoding="utf-8")
    assert [found for found, _ in check_ids(tmp_path, spec)] == ["ORB411"]


def test_rows_of_one_file_with_their_own_sources(tmp_path: Path) -> None:
    """The first row is not compared, so it says nothing about the others."""
    rows = ['{"question": "loop", "data_source": "programs"}', '{"question": "1+1?", "data_source": "math"}']
    (tmp_path / "math.jsonl").write_text("\n".join(rows * 1000), encoding="utf-8")
    spec = SPEC.format(first="math", second="").replace(
        "[{path: math.jsonl}, {path: code.jsonl, name: programs}]", "math.jsonl"
    )
    assert ("ORB416", "row has no expected answer") in check_ids(tmp_path, spec)


def test_a_column_that_a_part_reads_is_looked_for_in_its_own_rows(tmp_path: Path) -> None:
    (tmp_path / "math.jsonl").write_text(ROW * 2000, encoding="utf-8")
    (tmp_path / "code.jsonl").write_text(ROW * 2000, encoding="utf-8")
    spec = SPEC.format(first="math", second="").replace("regex, args: {pattern: a}", "code_tests, sources: [programs]")
    assert [found for found, _ in check_ids(tmp_path, spec)] == ["ORB497"]
