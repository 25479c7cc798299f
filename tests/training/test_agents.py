"""Agents on the CPU with real verl: a game of several turns and a tool, both learnt in a few steps."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from orbiter_spec.compiler import compile_spec
from tests.conftest import ROOT
from tests.training.runs import assert_failed, left_behind, records, run, smallest, values
from tests.training.untrained import untrained_returns

pytest.importorskip("verl")
pytestmark = pytest.mark.training

THRESHOLD = 4.0
"""Mean return of the game that counts as learnt; the best is 7.5. The first test measures it without training."""
BATCH_SAMPLES = 64
"""Episodes of one training step, over which the returns below are means."""


@pytest.mark.timeout(120)
def test_the_threshold_is_out_of_reach_without_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three models that were never trained play the game; a step's mean return would stay far below the threshold."""
    compiled = compile_spec(ROOT / "specs" / "text-game-cpu.yaml", tmp_path / "compiled")
    assert compiled.folder is not None, compiled.report
    with capsys.disabled():
        for seed in range(3):
            returns = untrained_returns(compiled.folder, seed)
            mean, deviation = statistics.mean(returns), statistics.stdev(returns) / BATCH_SAMPLES**0.5
            print(f"\nuntrained, seed {seed}: mean return {mean:.2f}, deviation of a step's mean {deviation:.2f}")
            assert mean > 0.5
            assert mean + 5 * deviation < THRESHOLD


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
    (tmp_path / "envs.py").write_text(
        "class Broken:\n    def reset(self):\n        return 'start'\n"
        "    def step(self, action):\n        raise ConnectionError('the door is shut')\n",
        encoding="utf-8",
    )
    agent = (
        "environment: envs.py:Broken\n  turns: {max: 2, tokens: 2}\n  limits: {prompt_tokens: 64, response_tokens: 64}"
    )
    spec = smallest(tmp_path, "broken", agent=agent, rewards="[{builtin: environment}]", prompts=2)
    done = run(spec, cwd=tmp_path, timeout=380)
    said = "environment Broken step raised ConnectionError: the door is shut (envs.py line 5 in step)"
    assert_failed(done, tmp_path, said)
