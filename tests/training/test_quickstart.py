"""The README's first promise, run as a user would: the reward rises, the folder is complete, nothing is left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.training.runs import assert_failed, left_behind, records, run, smallest, values

pytest.importorskip("verl")
pytestmark = pytest.mark.training
# Trainings of one suite share two cores with whatever else runs there, so limits are several times the usual time.


@pytest.mark.timeout(400)
def test_quickstart_learns(tmp_path: Path) -> None:
    done = run(ROOT / "specs" / "quickstart.yaml", "--set", f"run.output={tmp_path}", cwd=tmp_path, timeout=380)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("quickstart-*")
    scores = values(folder, "val-core/")
    assert scores[0] < 0.3
    assert scores[-1] > 0.9
    steps = [record["step"] for record in records(folder)]
    assert steps == sorted(set(steps))
    pearson = values(folder, "training/rollout_actor_probs_pearson_corr")
    assert min(pearson) > 0.999
    assert values(folder, "reward/digits/mean")
    status = json.loads((folder / "status.json").read_text(encoding="utf-8"))
    assert (status["state"], status["step"]) == ("finished", max(steps))
    assert (folder / "report.png").read_bytes().startswith(b"\x89PNG")
    assert str(folder) in done.stdout
    for name in (
        "spec/quickstart.yaml",
        "compiled/verl.yaml",
        "logs/verl.log",
        "rollouts/1.jsonl",
        "rollouts/rewards/1.jsonl",
    ):
        assert (folder / name).is_file(), name
    assert left_behind(folder) == []


@pytest.mark.timeout(300)
def test_compiled_quickstart_runs_under_verls_own_entry_point(tmp_path: Path) -> None:
    from orbiter_spec.compiler import compile_spec

    compiled = compile_spec(ROOT / "specs" / "quickstart.yaml", tmp_path / "out", sets=["algorithm.steps=1"])
    assert compiled.folder is not None
    done = subprocess.run(
        [sys.executable, "-m", "verl.trainer.main_ppo", "--config-path", str(compiled.folder), "--config-name", "verl"],
        cwd=compiled.folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "step:1 " in done.stdout
    assert (compiled.folder / "checkpoints" / "global_step_1").is_dir()


@pytest.mark.timeout(400)
def test_ppo_with_critic_reference_and_two_workers(tmp_path: Path) -> None:
    done = run(ROOT / "specs" / "ppo-critic-cpu.yaml", "--set", f"run.output={tmp_path}", cwd=tmp_path, timeout=380)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("ppo-critic-cpu-*")
    assert max(record["step"] for record in records(folder)) == 3
    assert len(values(folder, "critic/vf_loss")) == 3
    distance = values(folder, "actor/reward_kl_penalty")
    assert distance[0] == pytest.approx(0, abs=1e-6)
    assert distance[-1] != distance[0], "the reference model does not move with the actor"
    assert min(values(folder, "training/rollout_actor_probs_pearson_corr")) > 0.999
    saved = folder / "checkpoints" / "global_step_2"
    assert list(saved.glob("actor/*.pt"))
    assert list(saved.glob("critic/*.pt"))


@pytest.mark.timeout(300)
def test_a_reward_that_raises_ends_the_run_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "rewards.py").write_text(
        "def broken(response, expected):\n    raise ZeroDivisionError('no such thing')\n", encoding="utf-8"
    )
    limits = "limits: {prompt_tokens: 64, response_tokens: 8}"
    spec = smallest(tmp_path, "broken", agent=limits, rewards='[{name: part, function: "rewards.py:broken"}]')
    done = run(spec, cwd=tmp_path, timeout=280)
    assert_failed(done, tmp_path, "part", "no such thing", "rewards.py:2")
