"""What Slurm tells a job of its own `#SBATCH` lines: variables such as SLURM_NNODES, as sbatch's manual lists them.

A script for sbatch sizes its run by these, and no other shell has them. What the shell has set stands before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

DIRECTIVE = re.compile(r"^#SBATCH\s+(?P<options>\S.*)$", re.MULTILINE)
OPTION = re.compile(r"(?:--(?P<long>[a-z-]+)(?:=|\s+)|-(?P<short>[a-zA-Z])\s*)(?P<value>[^\s#-][^\s#]*)")
SHORT = {"N": "nodes", "n": "ntasks", "c": "cpus-per-task", "J": "job-name", "G": "gpus", "p": "partition"}
COUNTS: Mapping[str, tuple[str, ...]] = {
    "nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "cpus-per-task": ("SLURM_CPUS_PER_TASK",),
    "gpus-per-node": ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"),
    "gpus": ("SLURM_GPUS",),
}
GRES = re.compile(r"gpu(?::[A-Za-z][\w.-]*)?:(\d+)")


def told(text: str) -> dict[str, str]:
    """The variables that sbatch would set for this script; a range of nodes leaves their number open."""
    found: dict[str, str] = {}
    for name, value in _options(text):
        count = re.fullmatch(r"(?:[A-Za-z][\w.-]*:)?(\d+)", value)
        gres = GRES.search(value) if name == "gres" else None
        if name in COUNTS and count is not None:
            found |= dict.fromkeys(COUNTS[name], count[1])
        elif gres is not None:
            found["SLURM_GPUS_ON_NODE"] = gres[1]
        elif name in ("job-name", "partition"):
            found["SLURM_JOB_NAME" if name == "job-name" else "SLURM_JOB_PARTITION"] = value
    return found


def _options(text: str) -> Iterator[tuple[str, str]]:
    for line in DIRECTIVE.finditer(text):
        for option in OPTION.finditer(line["options"]):
            yield option["long"] or SHORT.get(option["short"], ""), option["value"].strip("'\"")
