"""The command line, environment and scratch folder with which verl starts.

verl's own entry point is started, so a run does what `python -m verl.trainer.main_ppo` would do with the same files.
Ray's session goes to a short folder of its own below /tmp: a socket's path may have 107 bytes, and a folder that nobody
else uses can be removed as a whole.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from orbiter_spec.launch.metrics import Attempt
from orbiter_spec.launch.processes import is_alive, start_time
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.verl_config import VerlConfig, quoted

MARKER = "ORBITER_RUN_ID"
SCRATCH_PREFIX = "orbiter-"
OWNER = "owner.json"
MAX_SCRATCH_BYTES = 30


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
        "TENSORBOARD_DIR": str(folder.logs / "tensorboard"),
        "TQ_NUM_THREADS": "2",
        "WANDB_DIR": str(folder.logs),
    }
    firm = {
        MARKER: scratch.name,
        "PYTHONUNBUFFERED": "1",
        "RAY_TMPDIR": str(scratch),
        "VERL_FILE_LOGGER_PATH": str(attempt.path),
    }
    if config.get("trainer.device") == "cpu":
        firm["VERL_PLATFORM"] = "cpu"
    outer = {name: value for name, value in inherited.items() if name not in ("RAY_ADDRESS", "RAY_NAMESPACE")}
    return {**mild, **outer, **firm}


def make_scratch() -> Path:
    """A new private folder with a short path, marked with who made it.

    Raises:
        OSError: when no temporary folder is short enough or writable.
    """
    roots = [Path("/tmp"), Path(tempfile.gettempdir())]
    root = next(
        (path for path in roots if os.access(path, os.W_OK | os.X_OK) and len(str(path)) <= MAX_SCRATCH_BYTES), None
    )
    if root is None:
        raise OSError(f"no writable temporary folder with a path of at most {MAX_SCRATCH_BYTES} bytes")
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=root))
    owner = {"pid": os.getpid(), "started": start_time(os.getpid())}
    (scratch / OWNER).write_text(json.dumps(owner), encoding="utf-8")
    return scratch


def remove_stale_scratch(root: Path = Path("/tmp")) -> list[Path]:
    """Remove scratch folders of runs whose processes are all gone, as after a power cut; returns them."""
    removed = []
    for path in root.glob(f"{SCRATCH_PREFIX}*"):
        try:
            owner = json.loads((path / OWNER).read_text(encoding="utf-8"))
            ours = path.stat().st_uid == os.getuid() and not is_alive(int(owner["pid"]), owner["started"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if ours and not _in_use(path):
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path)
    return removed


def _in_use(scratch: Path) -> bool:
    """Whether any process carries the folder's mark, as the supervisor of a launcher that was killed does."""
    from orbiter_spec.launch.processes import marked

    return bool(marked(MARKER, scratch.name))
