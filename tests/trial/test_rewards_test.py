"""`rewards test` as a user runs it: good rewards pass, and each planted fault is found at its line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

ROWS = "".join(
    json.dumps({"question": f"What is {n} + {n}?", "answer": f"it is {2 * n}", "solution": f"#### {2 * n}"}) + "\n"
    for n in range(10, 26)
)
CODE = """\
import itertools, random, sys, time
counter = itertools.count()

def right(response, expected): return float(response == expected)
def constant(response): return 0.5
def inverted(response, expected): return float(response != expected)
def slow(response, expected): time.sleep(0.2); return float(response == expected)
def random_score(response, expected): return float(response == expected) * next(counter)
def wide(response, expected): return 7.0 * (response == expected)
def fails(response, row): return float(row["missing"])
def endless(response, expected):
    while not response:
        pass
    return float(response == expected)
def leaves(response): sys.exit(3)
def marked(response, expected): return float(response.endswith("#### " + expected.split()[-1]))
def noisy(response, expected): print("x" * 1000); return float(response == expected)
"""


def project(folder: Path, rewards: Any, rows: str = ROWS) -> Path:
    (folder / "rows.jsonl").write_text(rows, encoding="utf-8")
    (folder / "rewards.py").write_text(CODE, encoding="utf-8")
    (folder / "spec.yaml").write_text(
        "version: 1\nname: tried\n"
        'agent: {model: Qwen/Qwen2.5-0.5B-Instruct, prompt: "{{ question }}"}\n'
        f"dataset: {{train: rows.jsonl}}\nrewards: {json.dumps(rewards)}\n"
        "algorithm: {name: grpo, batch: {prompts: 16, samples_per_prompt: 4}}\nhardware: 8xH100-80GB\n",
        encoding="utf-8",
    )
    return folder / "spec.yaml"


def run(*args: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orbiter_spec", "rewards", "test", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def tried(spec: Path, *args: object) -> tuple[int, dict[str, Any]]:
    done = run(spec, "--format", "json", *args)
    assert "Traceback" not in done.stdout, done.stdout
    return done.returncode, json.loads(done.stdout)


def function(name: str, **changes: Any) -> dict[str, Any]:
    return {"function": f"rewards.py:{name}", **changes}


def test_a_good_reward_passes_and_its_scores_are_shown(tmp_path: Path) -> None:
    code, found = tried(project(tmp_path, [function("right"), {"builtin": "length_penalty", "args": {"target": 20}}]))
    assert code == 0, found["diagnostics"]
    right, brevity, total = found["rewards"]
    assert right["means"] == {"gold": 1.0, "empty": 0.0, "repeated": 0.0, "truncated": 0.0, "shuffled": 0.0}
    assert brevity["means"]["repeated"] == -1.0
    assert total["means"]["gold"] == 1.0
    assert (found["rows"], found["answers"], right["calls"]) == (16, 80, 96)
    assert 0 < right["seconds"] < 0.5


PLANTED: list[tuple[dict[str, Any], str, str]] = [
    (function("constant"), "ORB490", "gives 0.5 whatever the answer is"),
    (function("inverted"), "ORB491", "gives more to answers of other rows than to the right ones"),
    (function("right", weight=-1.0), "ORB491", "with weight -1"),
    (function("slow"), "ORB492", "s a call"),
    (function("random_score"), "ORB493", "gives the same answer different scores"),
    (function("wide", range=[0.0, 1.0]), "ORB495", "outside its range of 0 to 1"),
    (function("fails"), "ORB495", "raised KeyError: 'missing' (rewards.py:10 in fails)"),
    (function("endless", timeout_seconds=0.3), "ORB495", "took longer than 0.3 s (rewards.py:12 in endless)"),
    (function("leaves"), "ORB495", "called sys.exit(3) (rewards.py:15 in leaves)"),
    (function("marked"), "ORB496", "does not tell the right answers from empty ones"),
]


@pytest.mark.parametrize(("part", "id", "said"), PLANTED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_planted_fault_is_found_where_it_is_declared(
    tmp_path: Path, part: dict[str, Any], id: str, said: str
) -> None:
    code, found = tried(project(tmp_path, [part]), "--rows", 4, "--slow", 0.1)
    assert code == (0 if id == "ORB492" else 1)
    about = [item for item in found["diagnostics"] if item["id"] == id]
    assert any(said in f"{item['message']} {item['note']}" for item in about), found["diagnostics"]
    assert {item["place"]["line"] for item in about} == {5}


def test_the_form_of_a_right_answer_can_be_given(tmp_path: Path) -> None:
    spec = project(tmp_path, [function("marked")])
    code, found = tried(spec, "--gold", "so {{ solution }}")
    assert code == 0, found["diagnostics"]
    assert found["rewards"][0]["means"]["gold"] == 1.0
    code, found = tried(spec, "--gold", "{{ nothing }}")
    assert code == 1
    assert "'nothing' is undefined" in found["diagnostics"][0]["message"]


def test_what_needs_a_run_is_named_and_left_out(tmp_path: Path) -> None:
    rewards = {
        "parts": [
            function("right", only_if={"part": "reward_model", "at_least": 0.0}),
            {"builtin": "reward_model"},
            {"name": "graded", "judge": {}},
            {"builtin": "step_rewards"},
        ],
        "model": {"path": "org/model", "nodes": 1, "gpus_per_node": 8},
    }
    code, found = tried(project(tmp_path, rewards))
    assert code == 0, found["diagnostics"]
    assert found["left_out"] == {
        "reward_model": "needs the reward model of a run",
        "graded": "needs the judge that a run serves",
        "step_rewards": "needs an episode of a run",
    }
    assert [row["name"] for row in found["rewards"]] == ["right", "total"]
    assert found["rewards"][0]["means"]["gold"] == 1.0


def test_answers_of_a_run_are_scored_beside_them(tmp_path: Path) -> None:
    spec = project(tmp_path, [function("right")])
    records = tmp_path / "run" / "rollouts"
    records.mkdir(parents=True)
    lines = [{"input": "q", "output": text, "gts": "it is 20", "score": 0.0, "step": 1} for text in ("it is 20", "no")]
    (records / "1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    code, found = tried(spec, "--rollouts", tmp_path / "run")
    assert code == 0, found["diagnostics"]
    assert found["rewards"][0]["means"]["rollouts"] == 0.5
    code, found = tried(spec, "--rollouts", tmp_path)
    assert code == 1
    assert "is not a run folder" in found["diagnostics"][0]["message"]


def test_text_for_people(tmp_path: Path) -> None:
    done = run(project(tmp_path, [function("right"), function("noisy", weight=0.5)]))
    assert done.returncode == 0, done.stderr
    head, right, noisy, total, last = done.stdout.splitlines()
    assert head.split()[:4] == ["reward", "right", "empty", "repeated"]
    assert (right.split()[0], noisy.split()[0], total.split()[0]) == ("right", "noisy", "total")
    assert last == "80 answers of 16 rows scored, no fault found"
    assert len(done.stderr) < 80_000


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [(("--without", "none"), 2, "there is no reward 'none' to leave out"), (("--rows", "0"), 2, "Invalid value")],
)
def test_wrong_use_is_said(tmp_path: Path, args: tuple[str, ...], code: int, said: str) -> None:
    done = run(project(tmp_path, [function("right")]), *args)
    assert done.returncode == code
    assert said in done.stderr


def test_a_spec_with_errors_or_a_file_that_does_not_load(tmp_path: Path) -> None:
    done = run(project(tmp_path, [function("not_there")]))
    assert done.returncode == 1
    assert "ORB402" in done.stderr
    spec = project(tmp_path, [function("right")])
    (tmp_path / "rewards.py").write_text(CODE + "\nraise OSError('no disk')\n", encoding="utf-8")
    done = run(spec)
    assert done.returncode == 1
    assert "cannot be loaded: OSError: no disk (rewards.py:19)" in done.stderr
    assert "ORB495" in done.stderr


@pytest.mark.parametrize("name", ["quickstart", "weighted-rewards"])
def test_the_rewards_of_the_examples_are_sound(name: str) -> None:
    done = run(ROOT / "specs" / f"{name}.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("on_error", "severity", "code"), [("stop", "error", 1), (0.0, "warning", 0)])
def test_a_rare_failure_is_as_bad_as_the_spec_says(tmp_path: Path, on_error: Any, severity: str, code: int) -> None:
    spec = project(tmp_path, [function("rare", on_error=on_error)])
    rare = "def rare(response, expected): return float(response == expected) / (expected != 'it is 20')\n"
    (tmp_path / "rewards.py").write_text(CODE + rare, encoding="utf-8")
    ended, found = tried(spec)
    (failed,) = [item for item in found["diagnostics"] if item["id"] == "ORB495"]
    assert (ended, failed["severity"]) == (code, severity)
    assert ("on_error" in failed["help"]) is (on_error == "stop")
