"""Mistakes in `rewards` that need no function to be seen: one finding each, at the line that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from orbiter_spec.compiler import check
from orbiter_spec.diagnostics import Diagnostic

MODEL = "model: {path: org/m, nodes: 1, gpus_per_node: 8}"
CASES: list[tuple[str, str, str]] = [
    ("[{builtin: exact_match}, {builtin: regex, args: {pattern: a}, only_if: exact_mach}]", "ORB480", "exact_mach"),
    (
        "[{builtin: exact_match, only_if: regex}, {builtin: regex, args: {pattern: a}, only_if: exact_match}]",
        "ORB481",
        "",
    ),
    ("[{builtin: exact_match, only_if: exact_match}]", "ORB481", "wait for one another"),
    ("[{function: 'rewards.py:score', range: [1, 0]}]", "ORB482", "range has no values inside"),
    ("[{function: 'rewards.py:score', clip: [1, 1]}]", "ORB482", "clip has no values inside"),
    ("[{function: 'rewards.py:score', normalize: range}]", "ORB482", "no range to normalize by"),
    ("[{function: 'rewards.py:score', range: [0, 1], clip: [2, 3]}]", "ORB482", "clip leaves one value only"),
    ("[{judge: {address: 'http://h/v1', model: m, scale: [5, 1]}}]", "ORB482", "scale has no values inside"),
    ("{parts: [{builtin: exact_match}], clip: [1, 0]}", "ORB482", "clip has no values inside"),
    ("[{builtin: exact_match, batch: 4}]", "ORB483", "batch is for functions of your own"),
    ("[{judge: {address: 'http://h/v1', model: m}, timeout_seconds: 3}]", "ORB483", "timeout_seconds is for functions"),
    ("[{builtin: step_rewards, steps: '-'}]", "ORB483", "steps does not go with step_rewards"),
    ("[{builtin: exact_match, error_limit: 0.5}]", "ORB483", "error_limit is not read"),
    ("[{judge: {model: m}}]", "ORB484", "no address and no model"),
    ("[{judge: {address: 'http://h/v1'}}]", "ORB484", "names no model"),
    ("[{judge: {address: 'api.example.com/v1', model: m}}]", "ORB484", "is not an address"),
    ("[{judge: {address: 'http://h:99999/v1', model: m}}]", "ORB484", "is not an address"),
    ("[{judge: {address: 'http://h/v1/chat/completions', model: m}}]", "ORB484", "ends in what is added to it"),
    ("[{judge: {address: 'http://h/v1', model: m, rubric: '{{ response'}}]", "ORB485", "not a Jinja2 template"),
    (
        "[{judge: {address: 'http://h/v1', model: m, rubric: 'Grade {{ answer }}'}}]",
        "ORB485",
        "does not show the answer",
    ),
    ("[{judge: {address: 'http://me:pass@h/v1', model: m}}]", "ORB486", "a key stands in the spec"),
    ("[{judge: {address: 'http://h/v1?api_key=1', model: m}}]", "ORB486", "a key stands in the spec"),
    ("[{judge: {address: 'http://h/v1', model: m, body: {api_key: sk-1}}}]", "ORB486", "a key stands in the spec"),
    ("[{builtin: code_tests, args: {language: cpp, tests: answer}}]", "ORB487", "cpp cannot be run without"),
    ("{parts: [{builtin: length_penalty, args: {target: 9}}], combine: product}", "ORB488", "never above 0"),
    ("[{builtin: reward_model}]", "ORB489", "a model that is not there"),
    ("[{builtin: code_tests}]", "ORB497", "rows have no 'tests'"),
    ("[{builtin: json_schema, args: {column: anser}}]", "ORB497", "did you mean 'answer'?"),
    (
        "[{judge: {address: 'http://h/v1', model: m, rubric: '{{ qestion }} {{ response }}'}}]",
        "ORB497",
        "rows have no 'qestion', which the rubric shows did you mean 'question'?",
    ),
]
GOOD = [
    "[{builtin: exact_match}, {judge: {address: 'https://h:8/v1', model: m, body: {top_k: 3}}, only_if: exact_match}]",
    "[{function: 'rewards.py:score', range: [0, 5], normalize: range, clip: [0.2, 1], steps: '-', timeout_seconds: 2}]",
    f"{{parts: [{{builtin: reward_model, normalize: sigmoid}}, {{judge: {{}}}}], combine: product, {MODEL}}}",
    "[{builtin: code_tests, args: {tests: answer}}]",
    "{parts: [{builtin: length_penalty, args: {target: 9}, range: [-1, 0], normalize: range}], combine: min}",
    "[{builtin: exact_match, on_error: skip, error_limit: 0.5}]",
    "[{judge: {address: 'http://h/v1', model: m, rubric: '{{ question }} {{ response }} {{ low }} {{ row.anything }}"
    "{% for label in labels %}{{ label }}{% endfor %}{% if hint is defined %}{{ hint }}{% endif %}"
    "{{ more | d(1) }}'}}]",
]


def findings(project: Path, rewards: str, more: str = "") -> list[Diagnostic]:
    text = project.read_text(encoding="utf-8").replace('[{function: "rewards.py:score"}]', rewards)
    project.write_text(text + more, encoding="utf-8")
    return [found for found in check(str(project)).report if found.id[:5] in ("ORB48", "ORB49") or found.id == "ORB478"]


@pytest.mark.parametrize(("rewards", "id", "said"), CASES, ids=lambda value: value[:50])
def test_a_mistake_is_one_finding_at_its_line(project: Path, rewards: str, id: str, said: str) -> None:
    found = findings(project, rewards)
    assert {item.id for item in found} == {id}
    assert any(said in f"{item.message} {item.note}" for item in found), found
    assert all(item.place is not None and item.place.text.startswith("rewards: ") for item in found)


@pytest.mark.parametrize("rewards", GOOD, ids=lambda value: value[:50])
def test_what_is_right_is_left_alone(project: Path, rewards: str) -> None:
    assert findings(project, rewards) == []


def test_a_judges_key_has_to_reach_the_cluster(project: Path) -> None:
    part = "[{judge: {address: 'https://h/v1', model: m, api_key_env: JUDGE_KEY}}]"
    text = project.read_text(encoding="utf-8")
    cluster = text.replace(
        "hardware: 8xH100", "hardware: {accelerator: H100-80GB, cluster: {kind: ray, address: 'http://h:8265'}}"
    )
    project.write_text(cluster, encoding="utf-8")
    (found,) = findings(project, part)
    assert (found.id, found.message) == ("ORB478", "the judge's key JUDGE_KEY does not reach the cluster")
    project.write_text(cluster, encoding="utf-8")
    assert findings(project, part, "run: {secrets: {JUDGE_KEY: {}}}\n") == []
