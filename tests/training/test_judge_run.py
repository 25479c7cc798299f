"""Whole runs with a judge in real verl, whose server misbehaves all the time: they go on, or stop, as the spec says."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.judge_server import Behaviour, Handler, grade, hang_up, judging, raw, says, status
from tests.training.runs import assert_failed, run, smallest

pytest.importorskip("verl")
pytestmark = pytest.mark.training

REWARDS = """
  - {{name: digits, function: "rewards.py:digits"}}
  - name: graded
    weight: 0.5
    on_error: {on_error}
    judge:
      {{address: "{address}", model: grader, api_key_env: JUDGE_KEY_OF_TEST, retries: {retries}, timeout_seconds: 20,
       cache: cache}}"""


def judged(folder: Path, steps: int, **values: Any) -> subprocess.CompletedProcess[str]:
    (folder / "rewards.py").write_text(
        "def digits(response):\n    return sum(c.isdigit() for c in response) / max(1, len(response))\n",
        encoding="utf-8",
    )
    rewards = REWARDS.format(**values)
    limits = "limits: {prompt_tokens: 64, response_tokens: 8}"
    spec = smallest(folder, "judged", agent=limits, rewards=rewards, prompts=8, samples=4, steps=steps)
    return run(spec, cwd=folder, timeout=280)


def grade_digits(handler: Handler) -> None:
    """A judge that looks at the answer: ten points when it has a digit."""
    question = handler.body["messages"][1]["content"]
    answer = re.search(r"<answer>\n(.*?)\n</answer>", question, re.DOTALL)
    assert answer is not None
    grade(10 if any(map(str.isdigit, answer[1])) else 0)(handler)


BAD: tuple[Behaviour, ...] = (
    status(500),
    status(429, Retry_After="0"),
    raw(b"<html>"),
    says("a good answer, I think"),
    grade(99),
    hang_up,
)


def sometimes(handler: Handler) -> None:
    """Every third request meets one of the faults."""
    count = len(handler.server.requests)  # type: ignore[attr-defined]
    (BAD[count // 3 % len(BAD)] if count % 3 == 0 else grade_digits)(handler)


@pytest.mark.timeout(300)
def test_a_run_learns_from_a_judge_whose_server_fails_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY_OF_TEST", "sk-secret-of-test")
    with judging(sometimes) as server:
        done = judged(tmp_path, on_error="skip", address=server.address, retries=1, steps=3)
        asked = len(server.requests)
        keys = {request["headers"]["Authorization"] for request in server.requests}
    assert done.returncode == 0, done.stdout + done.stderr
    assert asked >= 3 * 8
    assert keys == {"Bearer sk-secret-of-test"}
    (folder,) = (tmp_path / "runs").glob("judged-*")
    steps = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    trained = [step for step in steps if "reward/graded/mean" in step]
    assert len(trained) == 3
    for step in trained:
        assert 0 <= step["reward/graded/mean"] <= 1
        assert step["reward/graded/errors/mean"] == pytest.approx(1 - step["reward/graded/counted/mean"])
        assert step["critic/score/mean"] == pytest.approx(
            step["reward/digits/mean"] + 0.5 * step["reward/graded/mean"], abs=1e-5
        )
    assert max(step["reward/graded/tries/max"] for step in trained) == 2
    assert max(step["reward/graded/seconds/mean"] for step in trained) > 0
    records = [
        json.loads(line) for line in (folder / "rollouts/rewards/1.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert {record.get("graded/reason") for record in records} & {"as told"}
    for path in folder.rglob("*"):
        assert not path.is_file() or b"sk-secret-of-test" not in path.read_bytes(), path


@pytest.mark.timeout(300)
def test_a_judge_that_is_gone_ends_the_run_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY_OF_TEST", "sk-secret-of-test")
    with judging(status(503)) as server:
        done = judged(tmp_path, on_error="stop", address=server.address, retries=0, steps=1)
    assert_failed(done, tmp_path, "graded", "status 503")
    assert "sk-secret-of-test" not in done.stdout + done.stderr
