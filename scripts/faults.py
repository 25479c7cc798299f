#!/usr/bin/env python3
"""Kill parts of real runs at random moments and count how the runs end.

    python scripts/faults.py --results faults.jsonl worker driver head node supervisor client     # once each
    python scripts/faults.py --results faults.jsonl --times 10 worker
    python scripts/faults.py --results faults.jsonl --table docs/faults.md                 # its table is written anew

Each run is verl with Ray on this machine's CPU: 6 steps, a checkpoint every second one, three retries. One process is
killed with SIGKILL at a random moment: every third time while the run starts, else within a second of a step drawn from
the first five, so that fast and slow machines see the same. A run whose client is killed is resumed afterwards, as a
person would. What has to hold is checked from outside: status, metrics, checkpoints, processes, files. A run that was
over before its moment came is no trial and is drawn again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

from orbiter_spec.launch.metrics import attempts, read_records
from orbiter_spec.launch.processes import descendants, is_alive, marked, shared_memory_of, start_time
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.scratch import MARKER
from orbiter_spec.launch.status import State

ROOT = Path(__file__).resolve().parent.parent
STEPS, EVERY, RETRIES = 6, 2, 3
SETS = (
    f"algorithm.steps={STEPS}",
    "algorithm.batch.prompts=4",
    "algorithm.batch.samples_per_prompt=2",
    f"run.checkpoint.every={EVERY}",
    "run.evaluate={every: never, before_training: false}",
    f"run.retries={RETRIES}",
)
START_SECONDS, STEP_SECONDS = 25.0, 1.0
LIMIT_SECONDS = 900.0
MARKS: dict[str, bytes] = {
    "worker": b"ray::WorkerDict",
    "driver": b"verl.trainer.main_ppo",
    "head": b"gcs_server",
    "node": b"raylet/raylet",
    "supervisor": b"orbiter_spec.launch.supervisor",
}
KINDS = (*MARKS, "client")
OVER = -1
"""The step at which a run was killed that had ended by itself."""


@dataclass
class Trial:
    """One killed run. `wrong` is empty where everything held."""

    kind: str
    after_seconds: float = 0.0
    at_step: int = 0
    state: str = ""
    reason: str | None = None
    attempts: int = 0
    lost_steps: int = 0
    seconds: float = 0.0
    resumed: bool = False
    wrong: list[str] = field(default_factory=list)


@dataclass
class Seen:
    """What the run had outside its folder."""

    processes: dict[int, int | None] = field(default_factory=dict)
    shared: set[Path] = field(default_factory=set)
    scratch: set[str] = field(default_factory=set)

    def look(self, launcher: int) -> None:
        """Note what the run has by now."""
        tree = descendants(launcher)
        self.processes |= {pid: start_time(pid) for pid in tree if pid not in self.processes}
        self.shared |= shared_memory_of(tree)
        for pid in tree:
            with contextlib.suppress(OSError):
                entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                self.scratch |= {one[11:].decode() for one in entries if one.startswith(b"RAY_TMPDIR=")}

    def left(self) -> list[str]:
        """What is still there."""
        found = [f"process {pid}" for pid, started in self.processes.items() if started and is_alive(pid, started)]
        found += [str(path) for path in self.shared if path.exists()]
        for scratch in self.scratch:
            found += [scratch] if Path(scratch).exists() else []
            found += [f"process {pid}" for pid in marked(MARKER, Path(scratch).name)]
        return found


def start(*arguments: str) -> subprocess.Popen[bytes]:
    """The command line, as a person starts it."""
    command = [sys.executable, "-m", "orbiter_spec", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)


def run_of(output: Path) -> RunFolder | None:
    """The run below `output`, once it has a status."""
    return next((RunFolder.at(path) for path in output.glob("*-*") if (path / "status.json").is_file()), None)


def step_of(output: Path) -> int:
    """The step that the run has come to."""
    run = run_of(output)
    status = run.read_status() if run else None
    return status.step if status else 0


def find(kind: str, launcher: int) -> int | None:
    """A living process of `kind` below the launcher."""
    if kind == "client":
        return launcher
    for pid in sorted(descendants(launcher)):
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            if MARKS[kind] in line and (kind == "supervisor" or b"launch.supervisor" not in line):
                return pid
    return None


def wait(condition: Callable[[], object], seconds: float, between: Callable[[], None]) -> bool:
    """Whether `condition` came to hold."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        between()
        time.sleep(0.2)
    return True


def trial(kind: str, draw: random.Random, output: Path) -> Trial:
    """Start a run, kill one process of it, see it to its end."""
    found = Trial(kind)
    step = 0 if draw.random() < 1 / 3 else draw.randint(1, STEPS - 1)
    pause = draw.uniform(0, STEP_SECONDS if step else START_SECONDS)
    sets = [part for one in (*SETS, f"run.output={output}") for part in ("--set", one)]
    seen, begun = Seen(), time.monotonic()
    launcher = start("run", str(ROOT / "specs" / "quickstart.yaml"), *sets)

    def look() -> None:
        seen.look(launcher.pid)

    def over() -> bool:
        return launcher.poll() is not None

    wait(lambda: over() or step_of(output) >= step, LIMIT_SECONDS, look)
    come = time.monotonic()
    wait(lambda: over() or time.monotonic() - come > pause, LIMIT_SECONDS, look)
    wait(lambda: over() or find(kind, launcher.pid), LIMIT_SECONDS, look)
    target = None if over() else find(kind, launcher.pid)
    found.after_seconds, found.at_step = round(time.monotonic() - begun, 1), step_of(output)
    if target is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(target, signal.SIGKILL)
    else:
        found.at_step = OVER
    if not wait(over, LIMIT_SECONDS, look):
        found.wrong.append("the client did not end")
        launcher.kill()
    launcher.wait()
    if kind == "client" and target is not None:
        resume(found, output, seen)
    found.seconds = round(time.monotonic() - begun, 1)
    judge(found, output, seen)
    return found


def resume(found: Trial, output: Path, seen: Seen) -> None:
    """Wait until nothing of the killed client's run is left, then go on with it."""

    def settled() -> bool:
        run = run_of(output)
        status = run.read_status() if run else None
        return run is None or (status is not None and not status.state.is_active and not seen.left())

    if not wait(settled, 60, lambda: None):
        found.wrong.append("what the killed client started went on")
    run = run_of(output)
    if run is None:
        found.reason = "killed before there was a run"
        return
    found.resumed = True
    status = run.read_status()
    found.reason = status.reason if status else None
    if status is not None and status.state is not State.FINISHED:
        again = start("resume", str(run.path))
        wait(lambda: again.poll() is not None, LIMIT_SECONDS, lambda: seen.look(again.pid))
        again.kill()
        again.wait()


def judge(found: Trial, output: Path, seen: Seen) -> None:
    """What has to hold."""
    wait(lambda: not seen.left(), 10, lambda: None)
    found.wrong += [f"left behind: {one}" for one in seen.left()]
    run = run_of(output)
    status = run.read_status() if run else None
    if run is None or status is None:
        found.state = "never started"
        return
    found.state, found.attempts = str(status.state), status.attempt
    found.reason = status.reason or found.reason
    if status.state.is_active or (status.state is not State.FINISHED and not status.reason):
        found.wrong.append(f"status.json says {status.state}, {status.reason}")
    steps = [int(record["step"]) for record in read_records(run.metrics) if record.get("critic/score/mean") is not None]
    wanted = list(range(1, STEPS + 1)) if status.state is State.FINISHED else list(range(1, len(steps) + 1))
    if steps != wanted:
        found.wrong.append(f"metrics have steps {steps}")
    parts = attempts(run.logs)
    for before, after in pairwise(parts):
        measured = max((int(record["step"]) for record in read_records(before.path)), default=before.from_step)
        found.lost_steps = max(found.lost_steps, measured - after.from_step)
    if found.lost_steps > EVERY:
        found.wrong.append(f"{found.lost_steps} steps were done again, of {EVERY} between checkpoints")


def table(path: Path) -> str:
    """The results by kind, as a table for the documentation."""
    trials = [Trial(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = ["| killed | runs | at steps | finished | failed | attempts | steps done again, at most | anything wrong |"]
    rows.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for kind in dict.fromkeys(one.kind for one in trials):
        of = [one for one in trials if one.kind == kind]
        finished = sum(one.state == "finished" for one in of)
        failed = sum(one.state in ("failed", "interrupted") for one in of)
        counts = sorted({one.attempts for one in of if one.attempts})
        wrong = "; ".join(dict.fromkeys(text for one in of for text in one.wrong)) or "nothing"
        span = "-".join(str(number) for number in dict.fromkeys((counts[0], counts[-1]))) if counts else "0"
        lost = max(one.lost_steps for one in of)
        steps = ", ".join(map(str, sorted({one.at_step for one in of})))
        rows.append(f"| {kind} | {len(of)} | {steps} | {finished} | {failed} | {span} | {lost} | {wrong} |")
    return "\n".join(rows)


def with_table(page: str, rows: str) -> str:
    """`page` with `rows` in place of the table of its last section."""
    before, mark, section = page.rpartition("\n## ")
    lines = section.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    last = max(number for number, line in enumerate(lines) if line.startswith("|"))
    return before + mark + "\n".join([*lines[:first], *rows.splitlines(), *lines[last + 1 :]]) + "\n"


def main() -> int:
    """Run trials, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="what is killed")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--table", type=Path, help="a page whose table is replaced; nothing is run")
    given = parser.parse_args()
    if given.table is not None:
        given.table.write_text(
            with_table(given.table.read_text(encoding="utf-8"), table(given.results)), encoding="utf-8"
        )
    else:
        draw = random.Random(given.seed)
        for kind in (kind for _ in range(given.times) for kind in given.kinds):
            found = Trial(kind, at_step=OVER)
            while found.at_step == OVER and not found.wrong:
                with tempfile.TemporaryDirectory(prefix="orbiter-faults-") as folder:
                    found = trial(kind, draw, Path(folder) / "runs")
            with given.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(found)) + "\n")
            print(found, flush=True)
    print(table(given.results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
