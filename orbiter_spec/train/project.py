"""An experiment written out as a person would write it, and run as the command line runs it.

A trainer in Python makes the same files: a spec, rows, a file of rewards. They stay where they are, so that what was
trained can be read, changed and started again without Python. Runs are processes of their own, so the caller's event
loop, signals and GPU memory stay the caller's.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orbiter_spec.data.atomic import replacing
from orbiter_spec.data.convert import to_json
from orbiter_spec.launch.run_folder import RunFolder, RunSummary, list_runs
from orbiter_spec.train.lifecycle import TrainerError

SPEC_FILE = "experiment.json"
TAIL_CHARACTERS = 4000
STOP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Project:
    """The folder of an experiment."""

    folder: Path

    @property
    def spec(self) -> Path:
        """The spec; JSON is YAML."""
        return self.folder / SPEC_FILE

    def write(self, spec: Mapping[str, Any], rows: Mapping[str, Sequence[Mapping[str, Any]]], **files: str) -> None:
        """Write the spec, rows as JSONL by their names, and Python files by theirs. Raises OSError."""
        texts = {f"{name}.jsonl": "".join(f"{to_json(row)}\n" for row in part) for name, part in rows.items()}
        texts |= {f"{name}.py": text for name, text in files.items()}
        texts[SPEC_FILE] = json.dumps(spec, indent=2, ensure_ascii=False) + "\n"
        for name, text in texts.items():
            with replacing(self.folder / name) as file:
                file.write_text(text, encoding="utf-8")

    def check(self, sets: Sequence[str] = ()) -> None:
        """Raises TrainerError with every error that the spec has."""
        from orbiter_spec.api import validate
        from orbiter_spec.diagnostics.text import render

        report = validate(self.spec, sets)
        if not report.ok:
            raise TrainerError(f"the experiment has errors\n{render(report)}")

    async def run(self, sets: Sequence[str] = ()) -> RunFolder:
        """Train; the run folder. Raises TrainerError when the run fails."""
        known = {run.folder.path for run in self.runs()}
        code, said = await command("run", str(self.spec), *_options(sets), cwd=self.folder)
        new = [run for run in self.runs() if run.folder.path not in known]
        if code != 0:
            reason = new[0].status.reason if new else None
            raise TrainerError(f"the run failed: {reason or said}")
        return new[0].folder

    async def evaluate(self, run: RunFolder, sets: Sequence[str] = ()) -> dict[str, Any]:
        """Validate what `run` trained; the scores as `orbiter-spec evaluate` says them. Raises TrainerError."""
        args = ("evaluate", str(self.spec), "--checkpoint", str(run.path), "--format", "json", *_options(sets))
        code, said = await command(*args, cwd=self.folder)
        if code != 0:
            raise TrainerError(f"the evaluation failed: {said}")
        found: dict[str, Any] = json.loads(said[said.index("{") :])
        return found

    def runs(self) -> list[RunSummary]:
        """The runs of this experiment, the newest first."""
        return list_runs(self.folder / "runs")


def _options(sets: Sequence[str]) -> list[str]:
    return [word for one in sets for word in ("--set", one)]


async def command(*args: str, cwd: Path) -> tuple[int, str]:
    """Run one of our commands; its exit code, and what it printed (the end, when it failed).

    A caller that is cancelled stops the command as an interrupt would, and waits for it.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "orbiter_spec",
        *args,
        cwd=cwd,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await process.communicate()
    except BaseException:
        await _stop(process)
        raise
    code = process.returncode or 0
    said = (out if code == 0 else out + err).decode("utf-8", "replace")
    return code, said if code == 0 else said.strip()[-TAIL_CHARACTERS:]


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.send_signal(signal.SIGINT)
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
