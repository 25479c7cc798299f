"""How busy this machine is while a run goes on: `logs/machine.jsonl`, one line every few seconds.

verl measures memory and not how much the processors do. Linux' own counters and the driver's tool do, without a package
and for all processes of a run at once. Shares are percent of all cores, or of a GPU; memory is in GB (10^9 bytes). The
driver's tool may take seconds, so it is started and looked at again later, never waited for.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orbiter_spec.launch.metrics import Record

EVERY_SECONDS = 2.0
GPU_EVERY_SECONDS = 10.0
GPU_GIVEN_UP_SECONDS = 30.0
GPU_COMMAND = ("--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits")
TAIL_BYTES = 2048
READ_BYTES = 32 << 20
MIB = 1 << 20
PREFIX = "machine/"


@dataclass(slots=True)
class MachineLog:
    """Appends to `path` when `poll` is called often enough; a machine that tells nothing costs nothing."""

    path: Path
    _looked: float = 0.0
    _before: tuple[int, int] | None = None
    _tool: str | None = field(default_factory=lambda: shutil.which("nvidia-smi"))
    _asked: float = 0.0
    _asking: subprocess.Popen[str] | None = None
    _gpu: dict[str, float] = field(default_factory=dict)

    def poll(self, step: int) -> None:
        """Write a line when it is time; `step` is the last one that was measured."""
        now = time.monotonic()
        if now - self._looked < EVERY_SECONDS:
            return
        self._looked = now
        self._ask_gpus(now)
        busy, self._before = cpu_percent(self._before)
        found = {"cpu_percent": busy, "memory_gb": memory_gb(), **self._gpu}
        record = {"step": step, **{name: round(value, 2) for name, value in found.items() if value is not None}}
        with contextlib.suppress(OSError), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def _ask_gpus(self, now: float) -> None:
        if self._asking is not None and self._asking.poll() is not None:
            output = self._asking.communicate()[0]
            self._gpu = read_gpus(output) if self._asking.returncode == 0 else {}
            self._asking = None
        if self._asking is not None and now - self._asked > GPU_GIVEN_UP_SECONDS:
            self.close()
            self._tool = None
        if self._tool and self._asking is None and now - self._asked > GPU_EVERY_SECONDS:
            self._asked = now
            with contextlib.suppress(OSError):
                self._asking = subprocess.Popen(
                    [self._tool, *GPU_COMMAND], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
                )

    def close(self) -> None:
        """End the driver's tool, should it still be at work."""
        if self._asking is not None:
            self._asking.kill()
            self._asking.communicate()
            self._asking = None


def cpu_percent(before: tuple[int, int] | None) -> tuple[float | None, tuple[int, int] | None]:
    """Busy share of all cores since `before`, and the counters for the next call (proc(5), /proc/stat: jiffies)."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            numbers = [int(text) for text in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return None, None
    now = (sum(numbers), sum(numbers) - numbers[3] - numbers[4])
    if before is None or now[0] <= before[0]:
        return None, now
    return 100 * (now[1] - before[1]) / (now[0] - before[0]), now


def memory_gb() -> float | None:
    """Main memory that is not available to new programs (proc(5), /proc/meminfo: KiB)."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines()[:5]}
        return (sizes["MemTotal"] - sizes["MemAvailable"]) * 1024 / 1e9
    except (OSError, ValueError, KeyError, IndexError):
        return None


def read_gpus(output: str) -> dict[str, float]:
    """Mean use of the GPUs and the memory of the fullest, out of the tool's lines `PERCENT, MIB`."""
    rows: list[tuple[float, float]] = []
    for line in output.splitlines():
        with contextlib.suppress(ValueError):
            busy, used = line.split(",")
            rows.append((float(busy), float(used) * MIB / 1e9))
    if not rows:
        return {}
    return {"gpu_percent": sum(busy for busy, _ in rows) / len(rows), "gpu_memory_gb": max(used for _, used in rows)}


def last_use(path: Path) -> dict[str, Any]:
    """The newest whole line of `path`; empty where there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            lines = file.read().split(b"\n")[:-1]
        found = json.loads(lines[-1])
    except (OSError, ValueError, IndexError):
        return {}
    return found if isinstance(found, dict) else {}


def use_by_step(path: Path) -> list[Record]:
    """Means of `path` over each step, named `machine/...`; a line belongs to the step that was going on."""
    try:
        with path.open("rb") as file:
            lines = file.read(READ_BYTES).split(b"\n")[:-1]
    except OSError:
        return []
    sums: dict[int, dict[str, list[float]]] = {}
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            record = json.loads(line)
            values = sums.setdefault(int(record.pop("step")) + 1, {})
            for name, value in record.items():
                values.setdefault(name, []).append(float(value))
    return [{"step": step, **_means(values.items())} for step, values in sorted(sums.items())]


def _means(columns: Iterable[tuple[str, list[float]]]) -> dict[str, float]:
    return {PREFIX + name: sum(values) / len(values) for name, values in columns}
