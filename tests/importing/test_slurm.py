"""Scripts for sbatch size their run by what Slurm tells the job."""

from __future__ import annotations

import pytest

from orbiter_spec.importing.slurm import told
from tests.importing.helpers import BASE, ids, imported

SCRIPT = """#!/bin/bash
#SBATCH --job-name=verl --nodes=2   # two of them
#SBATCH --gpus-per-node=H100:4
#SBATCH -c 64
nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
nodes_array=($nodes)
if [[ "$nodes" == *" "* ]]; then
  head=${{nodes_array[1]}}
else
  head=$nodes
fi
for ((i = 1; i < SLURM_NNODES; i++)); do
  srun -w "${{nodes_array[$i]}}" ray start --address "$head:6379" --num-gpus "$SLURM_GPUS_PER_NODE" $NOBODY &
done
srun --overlap -w "$head" python3 -m verl.trainer.main_ppo {} \\
  trainer.nnodes=$SLURM_NNODES trainer.n_gpus_per_node="${{SLURM_GPUS_PER_NODE}}" \\
  trainer.experiment_name=$SLURM_JOB_NAME
"""


def test_a_job_script_knows_its_size_and_only_what_the_launch_needs_is_told() -> None:
    found = imported(SCRIPT.format(" ".join(BASE)))
    assert found.original["trainer.nnodes"] == 2
    assert found.original["trainer.n_gpus_per_node"] == 4
    assert found.original["trainer.experiment_name"] == "verl"
    assert ids(found) == []


def test_the_shell_stands_before_the_script() -> None:
    found = imported(SCRIPT.format(" ".join(BASE)), environ={"SLURM_NNODES": "8"})
    assert found.original["trainer.nnodes"] == 8


@pytest.mark.parametrize(
    ("line", "variables"),
    [
        ("--nodes=2-4", {}),
        ("-N2 -n 8", {"SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2", "SLURM_NTASKS": "8", "SLURM_NPROCS": "8"}),
        ("--gres=gpu:a100:8", {"SLURM_GPUS_ON_NODE": "8"}),
        ("--gres=shard:2,gpu:4", {"SLURM_GPUS_ON_NODE": "4"}),
        ("--exclusive --mem=0", {}),
        ("--gpus h100:16", {"SLURM_GPUS": "16"}),
        ("--time=1-00:00:00", {}),
    ],
)
def test_what_sbatch_sets(line: str, variables: dict[str, str]) -> None:
    assert told(f"#!/bin/bash\n#SBATCH {line}\n") == variables


def test_what_goes_into_the_launch_by_a_detour_is_told() -> None:
    text = "read SIZE\nf() {{ N=$1; }}\nif [ -d /data ]; then M=2; else M=4; fi\nf $M\n"
    launch = f"python3 -m verl.trainer.main_ppo {' '.join(BASE)} trainer.nnodes=$N\n"
    messages = [problem.message for problem in imported(text.format() + launch).diagnostics]
    assert len([message for message in messages if message.startswith("M=")]) == 2
    assert not [message for message in messages if "SIZE" in message]
