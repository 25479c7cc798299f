"""A rehearsal asks no service by itself: a stand-in on this machine answers in the form that was declared."""

from __future__ import annotations

import json
import random
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.compiler import check
from orbiter_spec.rehearse.changes import Shrunk
from orbiter_spec.rehearse.rehearsal import rehearse
from orbiter_spec.rehearse.services import verdict
from orbiter_spec.rehearse.shrink import shrink
from orbiter_spec.rehearse.stand_in import StandIn, drawn
from orbiter_spec.spec.rewards import Judge

SPECS = Path("specs").resolve()


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    with StandIn(tmp_path).running() as server:
        yield server


def shrunk(spec: str, stand_in: StandIn, *, ask: bool = False) -> Shrunk:
    state = check(SPECS / spec)
    assert state.plan is not None
    return shrink(state.plan, "builtin:tiny-llama", byte_tokens=True, stand_in=stand_in, ask_services=ask)


def values(made: Shrunk) -> dict[str, Any]:
    return {change.route: change.value for change in made.changes}


def post(url: str, content: object) -> Any:
    request = urllib.request.Request(url, json.dumps(content).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.loads(reply.read())


def test_a_judge_is_led_here_without_its_key(stand_in: StandIn) -> None:
    made = shrunk("judge-over-http-8gpu.yaml", stand_in)
    found = values(made)
    assert found["rewards.parts[1].judge.address"].startswith("http://127.0.0.1:")
    assert found["rewards.parts[1].judge.api_key_env"] is None
    assert found["rewards.parts[1].judge.cache"] is False
    (said,) = [left for left in made.left_out if "verdicts" in left.what]
    assert "https://judge.example.com/v1" in said.why


def test_a_judge_is_asked_when_that_is_said(stand_in: StandIn) -> None:
    made = shrunk("judge-over-http-8gpu.yaml", stand_in, ask=True)
    assert not any("judge" in change.route for change in made.changes)
    assert not any("verdicts" in left.what for left in made.left_out)


def test_a_judge_of_the_run_itself_is_led_here_always(stand_in: StandIn) -> None:
    for ask in (True, False):
        found = values(shrunk("judge-own-pool-2nodes.yaml", stand_in, ask=ask))
        assert found["rewards.parts[0].judge.address"].startswith("http://127.0.0.1:")
        assert found["rewards.model"] is None


def test_a_teacher_leaves_no_answers_among_real_ones(stand_in: StandIn) -> None:
    found = values(shrunk("teacher-rows-8gpu.yaml", stand_in))
    step = "dataset.pipeline[2].synthesize"
    assert found[f"{step}.url"].startswith("http://127.0.0.1:")
    assert found[f"{step}.api_key_env"] is None
    assert Path(found[f"{step}.cache"]).parent == stand_in.folder


def test_the_sandbox_is_led_here(stand_in: StandIn) -> None:
    url = values(shrunk("code-sandbox-8gpu.yaml", stand_in))["rewards.sandbox.url"]
    assert post(url, {"code": "print(1)"})["run_result"]["stdout"] == ""
    assert stand_in.asked == {"sandbox": 1}


def test_the_same_question_gets_the_same_grade(stand_in: StandIn) -> None:
    url = stand_in.chat("judge-0", verdict(Judge(scale=[0, 1000]))) + "/chat/completions"
    contents = [post(url, {"messages": [text]})["choices"][0]["message"]["content"] for text in ("a", "b", "a")]
    grades = [json.loads(content)["score"] for content in contents]
    assert grades[0] == grades[2] != grades[1]
    assert all(0 <= grade <= 1000 for grade in grades)


def test_what_is_not_here_is_said(stand_in: StandIn) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        post(f"{stand_in.url}/chat/nobody/chat/completions", {})


def test_labels_and_a_verdict_of_the_users_own() -> None:
    schema = {"type": "object", "properties": {"why": {"type": "string"}, "mark": {"enum": ["good", "bad"]}}}
    judge = Judge(labels={"good": 1.0, "bad": 0.0}, verdict=schema, grade="mark")
    found = json.loads(verdict(judge)(random.Random(1)))
    assert found["mark"] in ("good", "bad")
    assert isinstance(found["why"], str)


def test_values_fit_their_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = {
        "type": "object",
        "required": ["grade", "kinds", "sure", "reason"],
        "properties": {
            "grade": {"type": "integer", "minimum": 1, "maximum": 5},
            "kinds": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2},
            "sure": {"type": "boolean"},
            "share": {"type": "number", "minimum": 0.5, "maximum": 0.75},
            "reason": {"type": ["string", "null"]},
            "version": {"const": 3},
        },
    }
    for seed in range(20):
        jsonschema.validate(drawn(schema, random.Random(seed)), schema)


@pytest.mark.parametrize("name", ["judge-over-http-8gpu", "teacher-rows-8gpu", "judge-own-pool-2nodes"])
def test_wiring_up_to_a_service_is_probed(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = rehearse(SPECS / f"{name}.yaml", sets=[f"run.output={tmp_path}"], run=False)
    assert done.passed, [f"{found.message}: {found.note}" for found in done.report]
    assert ("teacher-2" in done.asked) == name.startswith("teacher")
    assert "https://judge.example.com" not in json.dumps([str(path.read_text()) for path in tmp_path.rglob("*.json")])
