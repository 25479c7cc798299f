"""A checkpoint as a Hugging Face folder, by verl's own merger.

verl saves each process' shard of the weights; `python -m verl.model_merger` joins them and writes model, configuration
and tokenizer, in bfloat16 whatever the training kept. It runs in a process of its own, into a folder beside the goal
that is moved there when everything is in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from orbiter_spec.diagnostics import Diagnostic, Place
from orbiter_spec.launch.checkpoints import Checkpoint
from orbiter_spec.launch.failure import explain_failure
from orbiter_spec.launch.verl_config import VerlConfig
from orbiter_spec.launch.write import staged

BACKENDS = {"fsdp": "fsdp", "fsdp2": "fsdp", "megatron": "megatron"}
LOG_CHARACTERS = 1 << 16


def refuse_export(config: VerlConfig, checkpoint: Checkpoint, output: Path) -> Diagnostic | None:
    """Why `checkpoint` cannot be written to `output`, or None when it can."""
    strategy = str(config.get("actor_rollout_ref.actor.strategy", ""))
    if strategy not in BACKENDS:
        place = Place(str(checkpoint.path))
        return Diagnostic("ORB553", f"verl's merger does not read checkpoints of {strategy or 'no engine'}", place)
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        return Diagnostic("ORB502", "output exists already", Place(str(output)), help="name an empty or new folder")
    return None


def merge_command(config: VerlConfig, checkpoint: Checkpoint, target: Path) -> list[str]:
    """verl's merger on the policy of `checkpoint`."""
    command = [sys.executable, "-m", "verl.model_merger", "merge"]
    command += ["--backend", BACKENDS[str(config.get("actor_rollout_ref.actor.strategy"))]]
    command += ["--local_dir", str(checkpoint.path / "actor"), "--target_dir", str(target)]
    trusted = config.get("actor_rollout_ref.model.trust_remote_code", False)
    return [*command, "--trust-remote-code"] if trusted else command


def export(config: VerlConfig, checkpoint: Checkpoint, output: Path) -> Diagnostic | None:
    """Write `checkpoint` to `output`; returns what went wrong, and then `output` is as it was.

    Raises:
        OSError: when the disk refuses.
    """
    output = output.absolute()
    try:
        with staged(output) as stage:
            environment = {**os.environ, "HF_HUB_OFFLINE": os.environ.get("HF_HUB_OFFLINE", "1")}
            command = merge_command(config, checkpoint, stage)
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", check=False, env=environment
            )
            if done.returncode != 0:
                raise _MergeError(explain_failure((done.stdout + done.stderr)[-LOG_CHARACTERS:], done.returncode))
    except _MergeError as failure:
        return Diagnostic("ORB554", f"verl's merger failed: {failure}", Place(str(checkpoint.path)))
    return None


class _MergeError(Exception):
    pass
