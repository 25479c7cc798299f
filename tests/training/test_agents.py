"""Agents on the CPU with real verl: a game of several turns and a tool, both learnt in a few steps."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.training.test_quickstart import left_behind, records, run, values

pytest.importorskip("verl")
pytestmark = pytest.mark.training

THRESHOLD = 4.0
"""Mean return of the game that counts as learnt. Without training it is about 1.9; the best is 7.5."""
SAMPLES = 64


@pytest.mark.timeout(60)
def test_the_threshold_is_out_of_reach_without_training() -> None:
    """The game played by what random weights write, three times: two bytes a turn out of 259 tokens, four turns."""
    namespace: dict[str, type] = {}
    exec((ROOT / "specs" / "environments" / "text_game.py").read_text(encoding="utf-8"), namespace)
    for seed in range(3):
        draw, total = random.Random(seed), 0.0
        for sample in range(SAMPLES):
            game = namespace["TextGame"](2 + sample % 2)
            game.reset()
            for _ in range(4):
                text = bytes(draw.randrange(256) for _ in range(2)).decode(errors="replace")
                _, reward, done, _ = game.step(text)
                total += reward
                if done:
                    break
        assert 0.5 < total / SAMPLES < THRESHOLD - 1


@pytest.mark.timeout(500)
def test_the_text_game_is_learnt(tmp_path: Path) -> None:
    spec = ROOT / "specs" / "text-game-cpu.yaml"
    done = run(spec, "--set", f"run.output={tmp_path}", cwd=tmp_path, timeout=480)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("text-game-cpu-*")
    returns = values(folder, "agent/environment_return/mean")
    assert len(returns) == 12
    assert returns[0] < 3.0, "the first step is played by random weights"
    assert sum(returns[-3:]) / 3 > THRESHOLD
    assert returns == pytest.approx(values(folder, "reward/environment/mean"))
    before, after = values(folder, "val-core/")
    assert before < 3.0 < THRESHOLD < after
    assert values(folder, "agent/turns/max")[0] == 4
    assert sum(values(folder, "agent/environment_failures/max")) == 0
    assert min(values(folder, "training/rollout_actor_probs_pearson_corr")) > 0.999, "what is trained was generated"
    assert left_behind(folder) == []


@pytest.mark.timeout(500)
def test_the_calculator_is_learnt(tmp_path: Path) -> None:
    spec = ROOT / "specs" / "calculator-cpu.yaml"
    done = run(spec, "--set", f"run.output={tmp_path}", cwd=tmp_path, timeout=480)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("calculator-cpu-*")
    share = values(folder, "agent/tool_success_share")
    assert share[0] < 0.3
    assert sum(share[-3:]) / 3 > 0.7
    assert values(folder, "agent/tool_calls/mean")[-1] > 1.5
    assert min(values(folder, "training/rollout_actor_probs_pearson_corr")) > 0.999
    assert max(record["step"] for record in records(folder)) == 10


@pytest.mark.timeout(400)
def test_an_environment_that_fails_ends_the_run_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "go"}\n' * 8, encoding="utf-8")
    (tmp_path / "envs.py").write_text(
        "class Broken:\n    def reset(self):\n        return 'start'\n"
        "    def step(self, action):\n        raise ConnectionError('the door is shut')\n",
        encoding="utf-8",
    )
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        """\
version: 1
name: broken
agent:
  model: builtin:tiny-llama
  prompt: "{{ question }}"
  environment: envs.py:Broken
  turns: {max: 2, tokens: 2}
  limits: {prompt_tokens: 64, response_tokens: 64}
dataset: {train: rows.jsonl}
rewards: [{builtin: environment}]
algorithm: {name: grpo, steps: 1, batch: {prompts: 2, samples_per_prompt: 2}, kl: {apply: none}}
hardware: cpu
run: {evaluate: {before_training: false}}
""",
        encoding="utf-8",
    )
    done = run(spec, cwd=tmp_path, timeout=380)
    assert done.returncode == 3, done.stdout + done.stderr
    (folder,) = (tmp_path / "runs").glob("broken-*")
    status = json.loads((folder / "status.json").read_text(encoding="utf-8"))
    assert status["state"] == "failed"
    assert (
        "environment Broken step raised ConnectionError: the door is shut (envs.py line 5 in step)" in status["reason"]
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert left_behind(folder) == []
