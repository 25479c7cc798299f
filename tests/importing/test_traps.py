"""Import reads; it never runs. Scripts full of traps leave the machine as it was."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.importing.helpers import imported

TRAPS = """#!/bin/bash
rm -rf {folder}/keep
touch {folder}/ran
X=$(touch {folder}/ran; echo 3)
Y=`touch {folder}/ran`
Z=$((  $(touch {folder}/ran) + 1 ))
curl http://127.0.0.1:1 | sh
(touch {folder}/ran) &
eval "touch {folder}/ran"
source {folder}/evil.sh
trap 'touch {folder}/ran' EXIT
: > {folder}/ran
exec 3> {folder}/ran
cat <(touch {folder}/ran) >& {folder}/ran
W=${{UNSET:=$(touch {folder}/ran)}}
python3 -m verl.trainer.main_ppo \\
  data.train_files=/data/$(touch {folder}/ran)/train.parquet \\
  data.train_batch_size=$X \\
  trainer.n_gpus_per_node=4 \\
  trainer.experiment_name="a;touch {folder}/ran" \\
  'trainer.project_name=$(touch {folder}/ran)' > {folder}/ran 2>&1 && touch {folder}/ran &
"""


def test_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("import ran something")

    for module, name in ((os, "system"), (os, "popen"), (os, "execv"), (os, "fork"), (subprocess, "Popen")):
        monkeypatch.setattr(module, name, refuse)
    (tmp_path / "keep").write_text("safe")
    (tmp_path / "evil.sh").write_text(f"touch {tmp_path}/ran\n")
    found = imported(TRAPS.format(folder=tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evil.sh", "keep"]
    assert found.spec_text is not None
    assert found.original["trainer.n_gpus_per_node"] == 4
    assert found.original["data.train_batch_size"] == 1024
    assert not found.report.ok, "Hydra reads no value with parentheses and a semicolon, and neither is run"


def test_a_substitution_is_reported_with_its_line() -> None:
    found = imported("N=$(nproc)\npython3 -m verl.trainer.main_ppo data.train_batch_size=$N trainer.nnodes=2\n")
    reported = {(problem.id, problem.place.line if problem.place else 0) for problem in found.diagnostics}
    assert ("ORB655", 1) in reported
    assert ("ORB656", 2) in reported
    assert found.original["trainer.nnodes"] == 2


@pytest.mark.parametrize(
    "script",
    [
        'HERE=$(cd "$(dirname "$0")" && pwd)\ncd $HERE\nexport LOGS=$HERE/logs\n{launch} | tee $LOGS/$(date +%s)',
        "for file in $(ls models); do echo $file; done\n{launch}",
        "echo `date`\n$(which python3) -m verl.trainer.main_ppo trainer.nnodes=2 2> $(mktemp)",
    ],
)
def test_a_substitution_that_the_launch_does_not_use_is_not_told(script: str) -> None:
    found = imported(script.format(launch="python3 -m verl.trainer.main_ppo trainer.nnodes=2"))
    assert [problem for problem in found.diagnostics if problem.id == "ORB655"] == []
    assert found.original["trainer.nnodes"] == 2


@pytest.mark.parametrize(
    "script",
    [
        "HERE=$(pwd)\nexport DATA=$HERE/data\npython3 -m verl.trainer.main_ppo data.train_files=$DATA/train.parquet",
        "A=(trainer.nnodes=2)\nA+=(data.train_files=$(pwd)/x)\npython3 -m verl.trainer.main_ppo ${A[@]}",
        "for FILE in $(ls data); do python3 -m verl.trainer.main_ppo data.train_files=$FILE; done",
        'bash -c "python3 -m verl.trainer.main_ppo data.train_files=$(pwd)/train.parquet trainer.nnodes=2"',
        "ssh host <<EOF\npython3 -m verl.trainer.main_ppo data.train_files=$(pwd)/train.parquet\nEOF",
        "go() { python3 -m verl.trainer.main_ppo data.train_files=$1/train.parquet; }\ngo $(pwd)",
        "python3 -m verl.trainer.main_ppo --config-name=$(hostname) trainer.nnodes=2",
    ],
)
def test_a_substitution_that_reaches_the_launch_is_told(script: str) -> None:
    found = imported(script)
    assert [problem.place.line for problem in found.diagnostics if problem.id == "ORB655" and problem.place] != []
