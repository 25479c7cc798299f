"""The command line and environment with which verl starts.

verl's own entry point is started, so a run does what `python -m verl.trainer.main_ppo` would do with the same files.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from orbiter_spec.launch.metrics import Attempt
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.scratch import MARKER
from orbiter_spec.launch.verl_config import VerlConfig, logger_folders, quoted


def verl_command(folder: RunFolder, overrides: Sequence[str]) -> list[str]:
    """verl's entry point on the compiled folder; Hydra leaves no folder of its own behind."""
    return [
        sys.executable,
        "-m",
        "verl.trainer.main_ppo",
        "--config-path",
        str(folder.compiled),
        "--config-name",
        "verl",
        f"hydra.run.dir={quoted(folder.logs)}",
        "hydra.output_subdir=null",
        "hydra/job_logging=stdout",
        *overrides,
    ]


def run_environment(
    config: VerlConfig, folder: RunFolder, attempt: Attempt, scratch: Path, inherited: Mapping[str, str]
) -> dict[str, str]:
    """The environment of verl and of every Ray process of the run; what the user has set is kept where it may be."""
    mild = {
        "HYDRA_FULL_ERROR": "1",
        "RAY_COLOR_PREFIX": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "TQ_NUM_THREADS": "2",
        **logger_folders(folder.logs),
    }
    firm = {
        MARKER: scratch.name,
        "PYTHONUNBUFFERED": "1",
        "RAY_TMPDIR": str(scratch),
        "VERL_FILE_LOGGER_PATH": str(attempt.path),
    }
    if config.get("trainer.device") == "cpu":
        firm["VERL_PLATFORM"] = "cpu"
        # Every actor of a run names its own process, so those that Ray starts ahead only take cores from them.
        mild |= {"RAY_prestart_worker_first_driver": "0", "RAY_worker_niceness": "0"}
    outer = {name: value for name, value in inherited.items() if name not in ("RAY_ADDRESS", "RAY_NAMESPACE")}
    return {**mild, **outer, **firm}
