"""The pipeline step `synthesize` and the source `run`, from a spec to built rows, as a user meets them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from orbiter_spec.compilation import Compilation
from orbiter_spec.compiler import CompiledFolder, check, compile_spec, write_compiled
from orbiter_spec.diagnostics import Severity
from tests.data.teacher_server import teacher_server
from tests.data.test_run_records import ROWS, a_run, asked, record

SPEC = """\
version: 1
name: small
agent: {model: Qwen/Qwen2.5-0.5B-Instruct, prompt: "{{ question }}"}
dataset:
  train: %s
  pipeline: %s
rewards: [{builtin: exact_match}]
algorithm: {name: grpo, batch: {prompts: 8}}
hardware: 8xH100
"""

Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    def write(train: Any, *steps: dict[str, Any]) -> Path:
        lines = (json.dumps({"question": f"{i}+1?"}) + "\n" for i in range(32))
        (tmp_path / "rows.jsonl").write_text("".join(lines), encoding="utf-8")
        path = tmp_path / "spec.yaml"
        path.write_text(SPEC % (json.dumps(train), json.dumps(list(steps))), encoding="utf-8")
        return path

    return write


def teach(url: str, **settings: Any) -> dict[str, Any]:
    return {"synthesize": {"url": url, "model": "big", "prompt": "Solve {{ question }}", "attempts": 1, **settings}}


def write(spec: Path, folder: Path) -> CompiledFolder:
    """What `run` does before it starts: the teacher may be asked."""
    state: Compilation = check(spec)
    assert state.report.ok, list(state.report)
    return write_compiled(state, folder, ask=True)


def ids(compiled: CompiledFolder) -> list[str]:
    return [found.id for found in compiled.report if found.severity is not Severity.NOTE]


def expected(folder: Path) -> list[str]:
    return [
        row["ground_truth"] for row in parquet.read_table(folder / "data/train.parquet")["reward_model"].to_pylist()
    ]


def test_the_teachers_answers_are_what_is_expected(project: Project, tmp_path: Path) -> None:
    with teacher_server(lambda exchange: exchange.say(exchange.question.upper())) as server:
        spec = project("rows.jsonl", teach(server.url))
        assert ids(write(spec, tmp_path / "a")) == []
    assert expected(tmp_path / "a") == [f"SOLVE {i}+1?" for i in range(32)]
    assert (tmp_path / ".orbiter" / "answers.sqlite").is_file()
    assert ids(write(spec, tmp_path / "b")) == [], "the server is gone and every answer is at hand"
    files = [tmp_path / name / "data/train.parquet" for name in ("a", "b")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_compile_asks_nobody_and_says_what_it_needs(project: Project, tmp_path: Path) -> None:
    with teacher_server(lambda exchange: exchange.say("a")) as server:
        spec = project("rows.jsonl", teach(server.url))
        compiled = compile_spec(spec, tmp_path / "out")
        assert ids(compiled) == ["ORB460"]
        assert compiled.folder is not None and not (compiled.folder / "data").exists()
        assert server.requests == 0
        write(spec, tmp_path / "built")
    compiled = compile_spec(spec, tmp_path / "out")
    assert ids(compiled) == [] and expected(tmp_path / "out") == ["a"] * 32


@pytest.mark.parametrize("on_error", ["stop", "drop"])
def test_a_teacher_out_of_order_is_an_error_at_its_line(on_error: str, project: Project, tmp_path: Path) -> None:
    with teacher_server(lambda exchange: exchange.refuse(500, "overloaded")) as server:
        compiled = write(project("rows.jsonl", teach(server.url, on_error=on_error)), tmp_path / "out")
    (found,) = [found for found in compiled.report if found.severity is Severity.ERROR]
    assert found.id == "ORB461" and "status 500: overloaded" in found.message
    assert found.place is not None and found.place.line == 6
    assert compiled.folder is None and not (tmp_path / "out").exists()


def test_rows_that_are_dropped_are_counted_and_never_empty(project: Project, tmp_path: Path) -> None:
    def half(exchange: Any) -> None:
        exchange.say("" if int(exchange.question.split()[1].split("+")[0]) % 2 else "fine")

    with teacher_server(half) as server:
        write(project("rows.jsonl", teach(server.url, on_error="drop")), tmp_path / "out")
    assert expected(tmp_path / "out") == ["fine"] * 16


def test_a_teacher_that_fits_no_row_leaves_no_dataset(project: Project, tmp_path: Path) -> None:
    with teacher_server(lambda exchange: exchange.say("")) as server:
        spec = project("rows.jsonl", {"filter": "question == '1+1?'"}, teach(server.url, on_error="drop"))
        compiled = write(spec, tmp_path / "out")
    assert not compiled.report.ok and compiled.folder is None


def test_a_missing_key_is_said_before_anything_is_asked(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEACHER_KEY", raising=False)
    with teacher_server(lambda exchange: exchange.say("a")) as server:
        compiled = write(project("rows.jsonl", teach(server.url, api_key_env="TEACHER_KEY")), tmp_path / "out")
        assert (ids(compiled), server.requests) == (["ORB461"], 0)


def test_a_key_is_in_no_file(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEACHER_KEY", "sk-very-secret")
    with teacher_server(lambda exchange: exchange.say("a")) as server:
        assert ids(write(project("rows.jsonl", teach(server.url, api_key_env="TEACHER_KEY")), tmp_path / "out")) == []
    assert server.exchanges[0].handler.headers["Authorization"] == "Bearer sk-very-secret"
    assert [path for path in tmp_path.rglob("*") if path.is_file() and b"very-secret" in path.read_bytes()] == []


def test_a_prompt_that_cannot_be_used_is_found_by_validate(project: Project) -> None:
    report = check(project("rows.jsonl", teach("http://127.0.0.1:9/v1", prompt="{% for %}"))).report
    assert "ORB461" in [found.id for found in report]


def test_templates_with_more_combinations_than_memory(project: Project) -> None:
    lists = {name: list(range(100)) for name in "abcdef"}
    began = time.monotonic()
    many = {"texts": ["{{ a }} {{ b }} {{ c }} {{ d }} {{ e }} {{ f }}"], "variables": lists}
    (found,) = [found for found in check(project("rows.jsonl", {"template": many})).report if found.id == "ORB440"]
    assert "1,000,000,000,000 rows" in found.message and "say how many" in found.help
    fewer = check(project("rows.jsonl", {"template": {**many, "rows": 500_000}})).report
    assert "ORB440" not in [found.id for found in fewer]
    assert time.monotonic() - began < 10


def test_a_template_that_loops_for_ever_is_found_by_validate(project: Project) -> None:
    began = time.monotonic()
    endless = "{% for a in range(10**9) %}{% for b in range(10**9) %}{{ a }}{% endfor %}{% endfor %}"
    report = check(project("rows.jsonl", {"template": {"texts": [endless], "variables": {"a": [1]}}})).report
    assert "ORB440" in [found.id for found in report]
    assert time.monotonic() - began < 10


def test_answers_of_a_run_are_rows(project: Project, tmp_path: Path) -> None:
    answers = [record(asked(row), f"got {row['answer']}", row["level"] / 2, str(row["answer"])) for row in ROWS]
    a_run(tmp_path / "earlier", {"rollouts/1": answers})
    spec = project({"run": {"path": "earlier", "min_score": 1}})
    state = check(spec)
    assert state.report.ok and state.rows is not None and state.rows.train_rows == 100
    write(spec, tmp_path / "out")
    table = parquet.read_table(tmp_path / "out/data/train.parquet").to_pylist()
    fields = [json.loads(row["extra_info"]["fields"]) for row in table]
    assert fields[0] == {**ROWS[2], "response": "got 3", "score": 1.0, "step": 1}
    assert {row["data_source"] for row in table} == {"earlier"}


@pytest.mark.parametrize(
    ("source", "id"),
    [
        ({"run": "nowhere"}, "ORB462"),
        ({"run": {"path": "earlier", "answers": "validation"}}, "ORB462"),
        ({"run": {"path": "earlier", "min_score": 9}}, "ORB413"),
    ],
)
def test_a_run_that_gives_nothing_is_an_error(source: Any, id: str, project: Project, tmp_path: Path) -> None:
    a_run(tmp_path / "earlier", {"rollouts/1": [record("q", "a", 1, "x")]})
    assert id in [found.id for found in check(project(source)).report]


@pytest.mark.parametrize("source", [{"run": "x", "path": "rows.jsonl"}, {"name": "x"}])
def test_a_source_is_one_thing(source: Any, project: Project) -> None:
    assert not check(project(source)).report.ok
