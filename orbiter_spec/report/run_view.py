"""One run, read for a report.

Everything is read once, with bounds, and what is missing is left out: a run that failed before its first step has a
report too. Only a folder that holds no run at all is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from orbiter_spec.diagnostics import Diagnostic, Place
from orbiter_spec.launch.machine import use_by_step
from orbiter_spec.launch.metrics import Record, read_records
from orbiter_spec.launch.progress import duration, number
from orbiter_spec.launch.reading import curve
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.status import Status
from orbiter_spec.report.observations import observe
from orbiter_spec.report.samples import Folder, count_steps, sample
from orbiter_spec.report.series import Line, by_metric, tail_mean

TEXT_BYTES = 64 << 10
VALIDATION_STEPS = 6
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
END_OF_LOG = "End of the log"


@dataclass(frozen=True, slots=True)
class Tile:
    """One number that sums a run up."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class RunView:
    """A run as the report shows it; `label` is short and unlike that of any other run in the report."""

    folder: RunFolder
    label: str
    status: Status | None
    records: list[Record]

    @cached_property
    def metrics(self) -> dict[str, Line]:
        """Every metric by verl's name."""
        steps = {record["step"] for record in self.records}
        use = [record for record in use_by_step(self.folder.machine) if record["step"] in steps]
        return by_metric([*self.records, *use])

    @property
    def state(self) -> str:
        """The state's word."""
        return self.status.state.value if self.status else "never started"

    @property
    def reason(self) -> str | None:
        """Why it ended as it did."""
        return self.status.reason if self.status else None

    @property
    def progress(self) -> str:
        """Steps and time in a sentence."""
        if self.status is None:
            return ""
        of = f" of {self.status.total_steps}" if self.status.total_steps else ""
        attempts = f", attempt {self.status.attempt}" if self.status.attempt > 1 else ""
        return f"{self.status.step:,}{of} steps in {duration(self.seconds)}{attempts}"

    @property
    def seconds(self) -> float | None:
        """From the start to the end, or to the last news."""
        if self.status is None:
            return None
        end = self.status.finished_at or self.status.updated_at
        return (datetime.fromisoformat(end) - datetime.fromisoformat(self.status.started_at)).total_seconds()

    @cached_property
    def plan(self) -> Mapping[str, Any]:
        """The compiled plan; empty where there is none."""
        return read_json(self.folder.compiled / "plan.json")

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What was run, in a few words each."""
        hardware, manifest = self.plan.get("hardware", {}), read_json(self.folder.compiled / "manifest.json")
        gpus = (hardware.get("nodes") or 1) * (hardware.get("gpus_per_node") or 1)
        batches = self.plan.get("batches", {})
        batch = f"{batches.get('prompts')} prompts of {batches.get('samples_per_prompt')} answers" if batches else ""
        named = [
            ("model", str(self.plan.get("model", {}).get("path") or "")),
            ("algorithm", str(self.plan.get("algorithm") or "")),
            ("batch", batch),
            ("hardware", f"{gpus} x {hardware['accelerator']}" if hardware.get("accelerator") else ""),
            ("verl", str(manifest.get("verl") or "")),
            ("started", self.status.started_at.replace("T", " ").replace("+00:00", " UTC") if self.status else ""),
            ("host", self.status.host if self.status else ""),
        ]
        return [(name, value) for name, value in named if value]

    @property
    def tiles(self) -> list[Tile]:
        """The same tiles for every run, so that they make a table."""
        return [
            _curve_tile("Reward", [value for _, value in curve(self.records, validation=False)]),
            _curve_tile("Validation", [value for _, value in curve(self.records, validation=True)], noisy=False),
            self._middle("Time per step", "timing_s/step", " s", "median"),
            self._middle("Throughput", "perf/throughput", "", "tokens/s per GPU, median"),
            Tile("Time", duration(self.seconds), f"{self.status.step:,} steps" if self.status else ""),
        ]

    def _middle(self, name: str, metric: str, unit: str, note: str) -> Tile:
        line = self.metrics.get(metric)
        return Tile(name, number(median(line.values)) + unit, note) if line else Tile(name, "-")

    @cached_property
    def observations(self) -> list[str]:
        """See `observe`."""
        return observe(self.metrics)

    @property
    def findings(self) -> list[Mapping[str, Any]]:
        """What the checks said before the run was started."""
        found = read_json(self.folder.findings).get("diagnostics", [])
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    @cached_property
    def samples(self) -> list[dict[str, Any]]:
        """Answers by kind: `{name, steps, groups}`."""
        rollouts, validation = self.folder.rollouts, self.folder.validation
        kinds = [
            ("training", rollouts, sample(Folder(rollouts, rollouts / "rewards"))),
            ("validation", validation, sample(Folder(validation), VALIDATION_STEPS)),
        ]
        return [{"name": name, "steps": count_steps(path), "groups": found} for name, path, found in kinds if found]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Files that say what was run, and the end of the log of a run that did not finish."""
        spec = sorted(path for path in (self.folder.path / "spec").glob("*.y*ml") if path.is_file())
        named = [] if self.state == "finished" else [(END_OF_LOG, _tail(self.folder.log))]
        named += [(path.name, _text(path)) for path in spec[:8]]
        named.append(("What differs from verl's defaults", _text(self.folder.compiled / "overrides.txt")))
        return [(name, text) for name, text in named if text]


def _curve_tile(name: str, values: list[float], noisy: bool = True) -> Tile:
    if not values:
        return Tile(name, "-")
    end = tail_mean(values) if noisy else values[-1]
    return Tile(name, number(end), f"from {number(values[0])}, best {number(max(values))}")


def read_runs(paths: list[Path]) -> tuple[list[RunView], list[Diagnostic]]:
    """The runs in `paths`, each once, and what is no run."""
    folders = list(dict.fromkeys(path.absolute() for path in paths))
    problems = [problem for path in folders if (problem := _refuse(path))]
    if problems:
        return [], problems
    return [
        RunView(folder, label, folder.read_status(), read_records(folder.metrics))
        for folder, label in zip(map(RunFolder.at, folders), labels(folders), strict=True)
    ], []


def _refuse(path: Path) -> Diagnostic | None:
    if (path / "status.json").is_file() or (path / "compiled").is_dir() or (path / "metrics.jsonl").is_file():
        return None
    message = "not a run folder" if path.is_dir() else "there is no such folder"
    return Diagnostic("ORB550", message, Place(str(path)), help="`orbiter-spec runs FOLDER` lists the runs in a folder")


def labels(folders: list[Path]) -> list[str]:
    """The folders' names, with as much of the path before them as tells them apart."""
    for depth in range(1, max(len(folder.parts) for folder in folders) + 1):
        named = ["/".join(folder.parts[-depth:]) for folder in folders]
        if len(set(named)) == len(named):
            return named
    return [str(folder) for folder in folders]


def read_json(path: Path) -> Mapping[str, Any]:
    """The JSON object in `path`; empty where there is none that can be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(TEXT_BYTES + 1)
    except OSError:
        return ""
    return data[:TEXT_BYTES].decode("utf-8", errors="replace") + ("\n…" if len(data) > TEXT_BYTES else "")


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TEXT_BYTES // 8))
            return _ANSI.sub("", file.read().decode("utf-8", errors="replace"))
    except OSError:
        return ""
