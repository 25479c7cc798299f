"""What `run` costs beside verl's own entry point called by hand with the same configuration.

    python benchmarks/run_overhead.py [--rounds 3] [--steps 6]

Both sides train the quickstart without validation, one after the other, in turn, so that a machine that gets busier
weighs on both. By hand means `python -m verl.trainer.main_ppo` on what `compile` wrote, with the same environment and
in a folder of its own. Counted are the seconds from the command to the first measured training step, which for `run`
include reading, checking, compiling and looking at the machine, and the median seconds of the steps after it, by verl's
own clock. The last line is the ratio of the medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from orbiter_spec.compiler import compile_spec
from orbiter_spec.launch.command import run_environment, verl_command
from orbiter_spec.launch.metrics import Attempt, attempts, read_records
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.scratch import make_scratch, remove_scratch
from orbiter_spec.launch.verl_config import binding_overrides, read_verl_config

SPEC = Path(__file__).resolve().parents[1] / "specs" / "quickstart.yaml"
LIMIT_SECONDS = 600.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds to the first training step, and of a step after it."""

    first: float
    step: float

    def __str__(self) -> str:
        return f"first step after {self.first:6.2f} s, then {self.step:.3f} s a step"


def settings(steps: int) -> list[str]:
    """What both sides train."""
    return [f"algorithm.steps={steps}", "run.evaluate={every: never, before_training: false}"]


def by_run(folder: Path, steps: int) -> Timing:
    """`orbiter-spec run`, as a person types it."""
    sets = [part for one in [*settings(steps), f"run.output={folder}"] for part in ("--set", one)]
    return timed([sys.executable, "-m", "orbiter_spec", "run", str(SPEC), *sets], dict(os.environ), folder)


def by_hand(folder: Path, steps: int) -> Timing:
    """verl's entry point on compiled files; compiling them is not counted."""
    run = RunFolder.at(folder / "by-hand")
    found = compile_spec(SPEC, run.compiled, sets=settings(steps))
    if found.folder is None:
        raise SystemExit(f"the spec does not compile: {found.report}")
    run.logs.mkdir()
    config, scratch = read_verl_config(run.compiled), make_scratch()
    attempt = Attempt(1, 0, run.logs / "metrics-01-from-000000.jsonl")
    environment = run_environment(config, run, attempt, scratch, dict(os.environ))
    try:
        return timed(verl_command(run, binding_overrides(config, run)), environment, folder, run.compiled)
    finally:
        remove_scratch(scratch)


def timed(command: list[str], environment: dict[str, str], folder: Path, cwd: Path | None = None) -> Timing:
    """Start `command`, wait for its end, and read what it measured below `folder`."""
    begun, first = time.monotonic(), None
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(command, env=environment, cwd=cwd, stdout=output, stderr=output)
    while process.poll() is None:
        if first is None and measured(folder):
            first = time.monotonic() - begun
        if time.monotonic() - begun > LIMIT_SECONDS:
            process.kill()
            raise SystemExit(f"not done within {LIMIT_SECONDS:g} s: {' '.join(command)}")
        time.sleep(POLL_SECONDS)
    if process.returncode != 0 or first is None:
        raise SystemExit((folder / "output.txt").read_text(errors="replace")[-3000:])
    later = measured(folder)[1:]
    return Timing(first, statistics.median(later))


def measured(folder: Path) -> list[float]:
    """Seconds of each training step so far, by verl's own clock."""
    records = [
        record for logs in folder.glob("*/logs") for part in attempts(logs) for record in read_records(part.path)
    ]
    return [record["timing_s/step"] for record in records if "timing_s/step" in record]


def main() -> int:
    """Rounds of both sides, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    given = parser.parse_args()
    seen: dict[str, list[Timing]] = {"by hand": [], "run": []}
    for number in range(given.rounds):
        sides = (("by hand", by_hand), ("run", by_run))
        for name, side in sides if number % 2 == 0 else sides[::-1]:
            with tempfile.TemporaryDirectory(prefix="overhead-") as folder:
                timing = side(Path(folder), given.steps)
            seen[name].append(timing)
            print(f"round {number + 1}, {name:7}: {timing}", flush=True)
    hand, run = ([statistics.median(values) for values in zip(*map(_pair, seen[name]), strict=True)] for name in seen)
    print(f"median: first step {run[0]:.2f} s by run, {hand[0]:.2f} s by hand, ratio {run[0] / hand[0]:.3f}")
    print(f"median: a step {run[1]:.3f} s by run, {hand[1]:.3f} s by hand, ratio {run[1] / hand[1]:.3f}")
    return 0


def _pair(timing: Timing) -> tuple[float, float]:
    return timing.first, timing.step


if __name__ == "__main__":
    sys.exit(main())
