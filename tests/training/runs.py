"""Whole runs by the command line, and what they leave in their folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SMALLEST = """\
version: 1
name: {name}
agent:
  model: builtin:tiny-llama
  prompt: "{{{{ question }}}}"
  {agent}
dataset: {{train: rows.jsonl}}
rewards: {rewards}
algorithm:
  {{name: grpo, steps: {steps}, batch: {{prompts: {prompts}, samples_per_prompt: {samples}}}, kl: {{apply: none}}}}
hardware: cpu
run: {{evaluate: {{before_training: false}}}}
"""


def smallest(folder: Path, name: str, *, agent: str, rewards: str, **batch: int) -> Path:
    """A spec of a few samples; `agent` and `rewards` are YAML. Returns its path."""
    batch = {"prompts": 4, "samples": 2, "steps": 1, **batch}
    (folder / "rows.jsonl").write_text('{"question": "say 1", "answer": "1"}\n' * 32, encoding="utf-8")
    spec = folder / "spec.yaml"
    spec.write_text(SMALLEST.format(name=name, agent=agent, rewards=rewards, **batch), encoding="utf-8")
    return spec


def orbiter(*args: object, timeout: float, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command line with these arguments."""
    command = [sys.executable, "-m", "orbiter_spec", *map(str, args)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)


def run(*args: object, cwd: Path, timeout: float) -> subprocess.CompletedProcess[str]:
    return orbiter("run", *args, cwd=cwd, timeout=timeout)


def assert_failed(done: subprocess.CompletedProcess[str], folder: Path, *said: str) -> None:
    """The run below `folder` failed, said so without a traceback, and left no process behind."""
    assert done.returncode == 3, done.stdout + done.stderr
    (run_folder,) = (folder / "runs").iterdir()
    status = json.loads((run_folder / "status.json").read_text(encoding="utf-8"))
    assert status["state"] == "failed"
    for words in said:
        assert words in status["reason"]
    assert "Traceback" not in done.stdout + done.stderr
    assert left_behind(run_folder) == []


def records(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def values(folder: Path, prefix: str) -> list[float]:
    return [value for record in records(folder) for key, value in record.items() if key.startswith(prefix)]


def left_behind(folder: Path) -> list[str]:
    """Processes whose command line or environment names this run's folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            text = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in text and int(process.name) != os.getpid():
            found.append(text.split(b"\0")[0].decode(errors="replace"))
    return found
