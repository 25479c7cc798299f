"""Columns that the prompt or a reward uses: one that is empty everywhere is an error, in some rows a warning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.compiler import check
from orbiter_spec.data.empty_columns import is_empty
from orbiter_spec.data.printed_columns import printed_columns
from orbiter_spec.data.request import TemplateRequest

SPEC = """\
version: 1
name: empty
agent: {{model: builtin:tiny-llama{agent}}}
dataset: {{train: rows.jsonl{dataset}}}
rewards: [{{{reward}}}]
algorithm: {{name: grpo, batch: {{prompts: 4, samples_per_prompt: 4}}}}
hardware: cpu
"""
MATCH = "builtin: exact_match"


def found(folder: Path, rows: list[dict[str, Any]], agent: str = "", dataset: str = "", reward: str = MATCH) -> Any:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    text = SPEC.format(agent=agent, dataset=dataset, reward=reward)
    (folder / "spec.yaml").write_text(text, encoding="utf-8")
    report = check(str(folder / "spec.yaml")).report
    return [one for one in report if one.id.startswith("ORB4")]


def rows(**changes: Any) -> list[dict[str, Any]]:
    return [{"question": f"{number}?", "answer": "a", "topic": "sums", **changes} for number in range(10)]


@pytest.mark.parametrize("column", ["question", "answer"])
@pytest.mark.parametrize("nothing", ["", " \n"])
def test_a_column_that_is_empty_in_every_row(tmp_path: Path, column: str, nothing: str) -> None:
    (problem,) = found(tmp_path, rows(**{column: nothing}))
    assert (problem.id, str(problem.severity), problem.place.line) == ("ORB457", "error", 4)
    assert problem.message.startswith(f"{column} is empty in every row of rows.jsonl")
    assert "dataset.columns." in problem.help


def test_a_column_that_is_empty_in_some_rows(tmp_path: Path) -> None:
    data = rows()
    data[3]["answer"] = ""
    (problem,) = found(tmp_path, data)
    assert (problem.id, str(problem.severity)) == ("ORB458", "warning")
    assert "1 of 10 rows" in problem.message and "rows.jsonl row 4" in problem.note
    step = problem.help.split("dataset.pipeline: ")[1]
    assert found(tmp_path, data, dataset=f", pipeline: [{{{step}}}]") == [], "the help is a step that mends it"


def test_an_environment_may_need_no_words_of_the_row(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text(
        "class Game:\n    def reset(self): return 'go'\n    def step(self, action): return '', 1.0, True, {}\n",
        encoding="utf-8",
    )
    agent = ', prompt: "{{ question }}", environment: {class: "game.py:Game"}'
    data = rows(question="", answer="")
    empty = [one.message for one in found(tmp_path, data, agent=agent) if one.id in ("ORB457", "ORB458")]
    assert [message.partition(" is ")[0] for message in empty] == ["answer"], "what a reward compares is looked at"


def test_columns_of_templates(tmp_path: Path) -> None:
    agent = ', prompt: "{{ question }}", instructions: "About {{ row.topic }}."'
    (problem,) = found(tmp_path, rows(topic=""), agent=agent)
    assert problem.id == "ORB457" and "agent.instructions" in problem.message
    assert [place.place.line for place in problem.related] == [3]
    assert found(tmp_path, rows(topic="", question="q"), agent=', prompt: "{{ question }}"') == []


def test_nobody_reads_the_answer(tmp_path: Path) -> None:
    assert found(tmp_path, rows(answer=""), reward="builtin: regex, args: {pattern: a}") == []


def test_a_column_that_a_reward_reads_by_its_name(tmp_path: Path) -> None:
    data = [{**row, "tests": [] if number else ["assert True"]} for number, row in enumerate(rows())]
    (problem,) = found(tmp_path, data, reward="builtin: code_tests")
    assert problem.id == "ORB458" and problem.message.startswith("tests is empty in 9 of 10 rows")


def test_rows_of_another_source_may_be_empty(tmp_path: Path) -> None:
    data = [
        {**row, "answer": "" if number % 2 else "a", "data_source": "ab"[number % 2]}
        for number, row in enumerate(rows())
    ]
    reward = "builtin: exact_match, sources: [a]"
    assert "ORB458" not in [one.id for one in found(tmp_path, data, reward=reward)]
    assert "ORB458" in [one.id for one in found(tmp_path, data)]


def test_what_a_template_prints_whatever_it_holds() -> None:
    text = (
        "{{ a }} {{ row.b | trim }} {{ c.d }} {{ e | default('') }} {% if f %}{{ f }}{% endif %} {{ f }} {{ row['g'] }}"
    )
    assert printed_columns(TemplateRequest(text)) == ["a", "b", "c.d", "g"]
    assert printed_columns(TemplateRequest("{{ broken")) == []


@pytest.mark.parametrize("value", [None, "", " ", [], {}, float("nan")])
def test_nothing(value: Any) -> None:
    assert is_empty(value)


@pytest.mark.parametrize("value", [0, False, 0.0, "0", ["", ""], b""])
def test_something(value: Any) -> None:
    assert not is_empty(value)
