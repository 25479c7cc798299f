"""What a run recorded becomes rows of the next: the best answers, with the fields of the rows that were asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.data.build import build
from orbiter_spec.data.request import DatasetRequest, SourceRequest, TemplateRequest
from orbiter_spec.data.run_records import RunRecordsError, Selection, read_records, read_run
from orbiter_spec.train import TrajectoryDataset

ROWS = [{"question": f"{i}+1?", "answer": i + 1, "level": i % 3} for i in range(300)]


def record(prompt: str, output: str, score: float, expected: Any, **more: Any) -> dict[str, Any]:
    return {"input": prompt, "output": output, "gts": expected, "score": score, "step": 1, "uid": "u_0_0", **more}


def asked(row: dict[str, Any]) -> str:
    """The prompt as verl writes it down: through a chat template, without special tokens."""
    return f"system\nCount.\nuser\nQ: {row['question']}\nassistant\n"


def a_run(folder: Path, steps: dict[str, list[dict[str, Any]]], rows: list[dict[str, Any]] = ROWS) -> Path:
    """A run folder as ours are: compiled rows, and a file of records a step."""
    source = folder / "rows.jsonl"
    folder.mkdir()
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    request = DatasetRequest(
        (SourceRequest(source),), prompt=TemplateRequest("Q: {{ question }}"), instructions=TemplateRequest("Count.")
    )
    assert build(request, folder / "compiled" / "data").diagnostics == ()
    for name, records in steps.items():
        path = folder / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(item) + "\n" for item in records), encoding="utf-8")
    return folder


def test_the_best_answer_of_each_prompt_with_its_row(tmp_path: Path) -> None:
    steps = {
        "rollouts/2": [record(asked(ROWS[7]), "eight", 0.9, "8", step=2)],
        "rollouts/10": [record(asked(ROWS[7]), "8!", 0.95, "8", step=10), record(asked(ROWS[7]), "9", 0, "8")],
        "rollouts/1": [record(asked(ROWS[7]), "7", 0.1, "8"), record(asked(ROWS[250]), "251", 0.5, "251")],
    }
    rows = list(read_run(a_run(tmp_path / "run", steps)))
    assert rows == [
        {**ROWS[7], "response": "8!", "score": 0.95, "step": 10},
        {**ROWS[250], "response": "251", "score": 0.5, "step": 1},
    ]


def test_steps_are_numbers_not_texts(tmp_path: Path) -> None:
    steps = {f"rollouts/{step}": [record("q", f"a{step}", 1, "x", step=step)] for step in (1, 2, 10)}
    assert [item.details["step"] for item in read_records(a_run(tmp_path / "run", steps))] == [1, 2, 10]


def test_scores_have_bounds_and_answers_differ(tmp_path: Path) -> None:
    answers = [("a", 0.2), ("b", 0.9), ("b", 0.9), ("c", 0.9), ("d", 1.0)]
    run = a_run(tmp_path / "run", {"rollouts/1": [record(asked(ROWS[0]), text, s, "1") for text, s in answers]})

    def kept(**selection: Any) -> list[str]:
        return [row["response"] for row in read_run(run, Selection(**selection))]

    assert kept(best=1) == ["d"]
    assert kept(best=2) == ["d", "b"]
    assert kept(best=9) == ["d", "b", "c", "a"]
    assert kept(best=None) == ["a", "b", "b", "c", "d"]
    assert kept(best=None, min_score=0.5, max_score=0.9) == ["b", "b", "c"]
    assert kept(min_score=2) == []


def test_of_two_rows_that_fit_the_longer_question_is_meant(tmp_path: Path) -> None:
    rows = [{"question": "1+1?", "answer": "2", "own": 1}, {"question": "say 1+1?", "answer": "2", "own": 2}]
    records = [record("user\nQ: say 1+1?\n", "2", 1, "2"), record("user\nQ: 1+1?\n", "2", 1, "2")]
    run = a_run(tmp_path / "run", {"rollouts/1": [{**r, "input": f"Count.\n{r['input']}"} for r in records]}, rows)
    assert [row["own"] for row in read_run(run)] == [2, 1]


def test_many_rows_with_one_answer_are_told_apart(tmp_path: Path) -> None:
    rows = [{"question": f"is {i} a number?", "answer": "yes", "own": i} for i in range(3000)]
    records = [record(asked(row), "yes", 1, "yes") for row in rows]
    run = a_run(tmp_path / "run", {"rollouts/1": records}, rows)
    assert [row["own"] for row in read_run(run)] == list(range(3000))


def test_a_prompt_that_fits_no_row_stays_as_the_model_saw_it(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", {"rollouts/1": [record("something else", "a", 1, "2")]})
    assert list(read_run(run)) == [
        {"question": "something else", "answer": "2", "response": "a", "score": 1.0, "step": 1}
    ]


def test_conversations_come_back_as_conversations(tmp_path: Path) -> None:
    chat = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "yes?"},
        {"role": "user", "content": "1+1"},
    ]
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "rows.jsonl").write_text(json.dumps({"chat": chat, "answer": "2"}), encoding="utf-8")
    from orbiter_spec.data.request import Columns

    build(
        DatasetRequest((SourceRequest(folder / "rows.jsonl"),), columns=Columns(chat="chat")), folder / "compiled/data"
    )
    (folder / "rollouts").mkdir()
    line = record("user\nhi\nassistant\nyes?\nuser\n1+1\nassistant\n", "2", 1, "2")
    (folder / "rollouts/1.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    (row,) = read_run(folder)
    assert row["prompt"] == chat


def test_the_last_line_of_a_run_that_goes_on_is_left_out(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", {"rollouts/1": [record("q", "a", 1, "x")]})
    with (run / "rollouts/1.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"input": "q", "outp')
    assert len(list(read_records(run))) == 1


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"input": "q"}', '{"input":"q","output":"a","score":"NaN"}'])
def test_a_broken_line_elsewhere_is_said(line: str, tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", {"rollouts/1": [record("q", "a", 1, "x")]})
    path = run / "rollouts/1.jsonl"
    path.write_text(f"{line}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    with pytest.raises(RunRecordsError, match=r"1\.jsonl line 1"):
        list(read_run(run))


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunRecordsError, match="not a run folder"):
        list(read_run(tmp_path / "nowhere"))
    run = a_run(tmp_path / "run", {"rollouts/1": [record("q", "a", 1, "x")]})
    with pytest.raises(RunRecordsError, match="no answers recorded below validation"):
        list(read_run(run, Selection(split="validation")))
    with pytest.raises(RunRecordsError, match="not one of train, validation"):
        list(read_run(run, Selection(split="test")))


def test_answers_become_trajectories(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", {"validation/5": [record("q", "a", 0.5, "x", digits=0.5)]})
    dataset = TrajectoryDataset()
    assert dataset.import_run(run, split="validation") == 1
    (item,) = dataset.items
    assert (item.state, item.action, item.reward) == ("q", "a", 0.5)
    assert item.metadata == {"expected": "x", "step": 1, "uid": "u_0_0", "digits": 0.5}
