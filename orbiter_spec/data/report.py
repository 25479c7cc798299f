"""report.json of a build: rows in and out, what each step dropped and why, and what to look at."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from orbiter_spec.data.findings import findings
from orbiter_spec.data.request import BuildResult, DatasetRequest, StepReport

NAME = "report.json"


def write_report(folder: Path, result: BuildResult) -> None:
    """Write the report beside the files, and see that all of them are on disk."""
    report = {
        "version": 1,
        "rows": {"train": result.train_rows, "validation": result.validation_rows},
        "steps": [step.as_json() for step in result.steps],
        "facts": result.facts,
    }
    path = folder / NAME
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    for file in (*result.files, path, folder):
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_report(folder: Path, request: DatasetRequest) -> BuildResult:
    """The result of the build in `folder`; findings stand where the spec has their cause now."""
    report: dict[str, Any] = json.loads((folder / NAME).read_text(encoding="utf-8"))
    return BuildResult(
        report["rows"]["train"],
        report["rows"]["validation"],
        tuple(findings(request, report["facts"])),
        tuple(sorted(folder.glob("*.parquet"))),
        steps=tuple(_step(item) for item in report["steps"]),
        facts=report["facts"],
    )


def _step(item: dict[str, Any]) -> StepReport:
    reasons: Counter[str] = Counter(item["dropped"])
    return StepReport(
        item["step"], item["rows_in"], item["rows_out"], item["added"], item["changed"], reasons, item["examples"]
    )
