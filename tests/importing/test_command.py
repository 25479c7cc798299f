"""`orbiter-spec import` as it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from orbiter_spec.cli.import_command import command
from orbiter_spec.compiler import check
from orbiter_spec.importing.compare import flatten
from orbiter_spec.lower.compose import compose
from tests.importing.helpers import TARGET

SCRIPT = """#!/usr/bin/env bash
set -x
N_GPUS=${{N_GPUS:-8}}
DATA={folder}
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    data.train_files=$DATA/train.parquet \\
    data.val_files=$DATA/test.parquet \\
    data.train_batch_size=64 \\
    actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\
    actor_rollout_ref.actor.ppo_mini_batch_size=32 \\
    actor_rollout_ref.actor.use_dynamic_bsz=True \\
    actor_rollout_ref.rollout.name=vllm \\
    actor_rollout_ref.rollout.n=8 \\
    trainer.n_gpus_per_node=$N_GPUS "$@"
"""


def script(folder: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name in ("train", "test"):
        row = {"prompt": [{"role": "user", "content": "hi"}], "data_source": "x", "reward_model": {"ground_truth": "1"}}
        pq.write_table(pa.Table.from_pylist([row] * 64), folder / f"{name}.parquet")
    path = folder / "run.sh"
    path.write_text(SCRIPT.format(folder=folder))
    return path


def test_import_check_and_compile(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    result = CliRunner().invoke(command, [str(script(tmp_path)), "-o", str(spec), "--check"])
    assert result.exit_code == 0, result.output
    assert " 0 differ" in result.output
    state = check(spec)
    assert state.report.ok, [found.message for found in state.findings]
    assert state.lowered is not None
    compiled = flatten(compose(TARGET, state.lowered.engine, state.lowered.settings))
    assert compiled["data.train_files"] == f"{tmp_path}/train.parquet"
    assert compiled["data.val_files"] == f"{tmp_path}/test.parquet"
    assert compiled["trainer.n_gpus_per_node"] == 8
    assert compiled["reward.custom_reward_function.path"] is None


def test_the_environment_is_the_shells(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [str(script(tmp_path))], env={"N_GPUS": "4"})
    assert "gpus_per_node: 4" in result.output


def test_standard_input() -> None:
    text = "trainer.nnodes=2\nactor_rollout_ref.rollout.name=vllm\n"
    result = CliRunner().invoke(command, ["-"], input=text)
    assert result.exit_code == 0
    assert "nodes: 2" in result.output


def test_what_cannot_be_imported_exits_1(tmp_path: Path) -> None:
    empty = tmp_path / "run.sh"
    empty.write_text("echo nothing\n")
    result = CliRunner().invoke(command, [str(empty)])
    assert result.exit_code == 1
    assert CliRunner().invoke(command, [str(tmp_path / "absent.sh")]).exit_code == 2


def test_what_a_rule_refuses_compiles_with_a_comment(tmp_path: Path) -> None:
    path = script(tmp_path)
    path.write_text(
        path.read_text().replace("rollout.n=8", "rollout.n=8 actor_rollout_ref.rollout.tensor_model_parallel_size=3")
    )
    spec = tmp_path / "spec.yaml"
    result = CliRunner().invoke(command, [str(path), "-o", str(spec)])
    assert result.exit_code == 0, result.output
    assert "# orbiter: ignore[ORB" in spec.read_text()
    assert check(spec).report.ok


def test_what_verl_refuses_is_said_at_its_line_of_the_script(tmp_path: Path) -> None:
    path = script(tmp_path)
    path.write_text(path.read_text().replace("rollout.n=8", "rollout.n=8 \\\n  trainer.resume_mode=always"))
    result = CliRunner().invoke(command, [str(path)])
    number = next(at for at, line in enumerate(path.read_text().splitlines(), 1) if "resume_mode" in line)
    assert "warning[ORB614]" in result.output
    assert f"run.sh:{number}:3" in result.output


def test_a_script_in_another_folder_finds_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = script(tmp_path)
    there = '"$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"'
    path.write_text(path.read_text().replace(str(tmp_path), there))
    monkeypatch.chdir(tmp_path.parent)
    result = CliRunner().invoke(command, [f"{tmp_path.name}/run.sh"])
    assert f"train: {tmp_path}/train.parquet" in result.output


def test_a_launch_that_is_not_reached_is_pointed_at(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text('cd "$(dirname "$0"\nset -x\npython3 -m verl.trainer.main_ppo trainer.nnodes=2\n')
    result = CliRunner().invoke(command, [str(path)])
    assert result.exit_code == 1
    assert "the launch is not reached" in result.output and "run.sh:3:1" in result.output


def test_a_file_that_is_there_is_not_replaced_by_a_spec_with_errors(tmp_path: Path) -> None:
    path, spec = script(tmp_path), tmp_path / "spec.yaml"
    path.write_text(path.read_text().replace("rollout.n=8", "rollout.n=8 trainer.no_such_key=1"))
    assert CliRunner().invoke(command, [str(path), "-o", str(spec)]).exit_code == 1
    assert "Look here" in spec.read_text(), "a new file gets the spec and its comments"
    spec.write_text("keep me")
    result = CliRunner().invoke(command, [str(path), "-o", str(spec)])
    assert result.exit_code == 1 and "left as it was" in result.output
    assert spec.read_text() == "keep me"


@pytest.mark.parametrize(
    "odd",
    [
        "actor_rollout_ref.actor.checkpoint.save_contents=3",
        "actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size=many",
        "trainer.save_freq=[1]",
        "algorithm.adv_estimator=[1]",
    ],
)
def test_value_of_another_kind_is_told_without_a_traceback(odd: str, tmp_path: Path) -> None:
    path = script(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace('"$@"', f'"{odd}"'), encoding="utf-8")
    result = CliRunner().invoke(command, [str(path)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert odd.partition("=")[0] in result.output
