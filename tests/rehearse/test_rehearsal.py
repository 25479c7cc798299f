"""A GPU spec is rehearsed by real verl, from validation to checkpoint."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from orbiter_spec.cli.rehearse_command import command

SPECS = Path("specs").resolve()


@pytest.mark.training
@pytest.mark.timeout(400)
def test_a_mixture_of_experts_with_critic_is_rehearsed(tmp_path: Path) -> None:
    pytest.importorskip("verl")
    shutil.copytree(SPECS, tmp_path / "specs")
    spec = tmp_path / "specs" / "ppo-7b-2nodes.yaml"
    done = CliRunner().invoke(
        command, [str(spec), "--format", "json", "--set", "agent.model.path=Qwen/Qwen3-30B-A3B"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["passed"]
    exercised = {one["part"]: one["evidence"] for one in found["exercised"]}
    assert set(exercised) >= {"training", "critic", "reference model", "validation", "checkpoint", "turns"}
    assert exercised["training"].startswith("2 steps")
    assert exercised["checkpoint"] == "step 2, whole"
    assert {one["name"] for one in found["rewards"]} == {"correct", "rehearsal", "total"}
    assert not found["findings"], "a gradient, and agreement of rollout and trainer"
    assert any("vllm" in one["what"] for one in found["not_exercised"])
    config = json.loads((next((tmp_path / "specs/runs/rehearsals/.models").iterdir()) / "config.json").read_text())
    assert config["model_type"] == "qwen3_moe"


def test_errors_of_the_spec_are_its_own(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text((SPECS / "quickstart.yaml").read_text().replace("{{ question }}", "{{ qestion }}"))
    shutil.copytree(SPECS / "data", tmp_path / "data")
    shutil.copytree(SPECS / "rewards", tmp_path / "rewards")
    done = CliRunner().invoke(command, [str(spec)])
    assert done.exit_code == 1
    assert "qestion" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_an_unknown_model_is_one_error(tmp_path: Path) -> None:
    spec = SPECS / "grpo-7b-8gpu.yaml"
    done = CliRunner().invoke(
        command, [str(spec), "--set", "agent.model.path=nobody/nothing", "--set", f"run.output={tmp_path}"]
    )
    assert done.exit_code == 1
    assert "ORB560" in done.stderr
