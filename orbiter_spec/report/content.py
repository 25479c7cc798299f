"""What stands in a report, drawn from runs as plain values: text for the template, numbers for the script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orbiter_spec.launch.progress import duration
from orbiter_spec.report.panels import PANELS, Panel, lines_of
from orbiter_spec.report.run_view import RunView
from orbiter_spec.report.series import Line, thin
from orbiter_spec.report.timing import phases

POINTS, POINTS_OF_ALL = 600, 160
METRICS_OF_ALL = 400

Chart = dict[str, Any]


def charts(runs: list[RunView]) -> list[Chart]:
    """The panels with something to show. Of several runs each has its colour, and a panel of parts one plot a part."""
    found: list[Chart] = []
    for panel in PANELS:
        by_run = [lines_of(panel, run.metrics) for run in runs]
        if panel.key == "parts" and all(map(_part_is_all, runs, by_run)):
            continue
        together = len(runs) == 1 and not panel.apart
        found += [_chart(panel, by_run[0])] if together else _compared(panel, runs, by_run)
    return [chart for chart in found if chart["lines"]]


def _part_is_all(run: RunView, parts: Mapping[str, Line]) -> bool:
    """Whether the parts of the reward say no more than the reward."""
    total = run.metrics.get("critic/score/mean")
    if len(parts) != 1 or total is None:
        return not parts
    (part,) = parts.values()
    return part.steps == total.steps and all(map(_close, part.values, total.values))


def _close(left: float, right: float) -> bool:
    return abs(left - right) <= 1e-4 * max(1.0, abs(left))


def _chart(panel: Panel, lines: Mapping[str, Line]) -> Chart:
    drawn = [{"label": label, "color": color} | line.as_json() for color, (label, line) in enumerate(thinned(lines))]
    return {"key": panel.key, "title": panel.title, "unit": panel.unit, "about": panel.about, "lines": drawn}


def thinned(lines: Mapping[str, Line], points: int = POINTS) -> list[tuple[str, Line]]:
    """Lines as they are drawn."""
    return [(label, thin(line, points)) for label, line in lines.items()]


def _compared(panel: Panel, runs: list[RunView], by_run: list[dict[str, Line]]) -> list[Chart]:
    names = list(dict.fromkeys(label for lines in by_run for label in lines))
    names = names[:1] if panel.compared_by_first else names
    found = []
    for name in names:
        drawn = [
            {"label": run.label if len(runs) > 1 else name, "color": color} | thin(lines[name], POINTS).as_json()
            for color, (run, lines) in enumerate(zip(runs, by_run, strict=True))
            if name in lines
        ]
        title = panel.title if len(names) == 1 else f"{panel.title}: {name}"
        found.append({"key": panel.key, "title": title, "unit": panel.unit, "about": panel.about, "lines": drawn})
    return found


def every_metric(runs: list[RunView]) -> dict[str, list[dict[str, Any]]]:
    """All metrics by name, a line a run, with fewer points."""
    names = sorted({name for run in runs for name in run.metrics})[:METRICS_OF_ALL]
    return {
        name: [
            {"label": run.label, "color": color} | thin(run.metrics[name], POINTS_OF_ALL).as_json()
            for color, run in enumerate(runs)
            if name in run.metrics
        ]
        for name in names
    }


def samples(runs: list[RunView]) -> list[dict[str, Any]]:
    """Answers of the runs that wrote any."""
    return [{"label": run.label, "kinds": run.samples} for run in runs if run.samples]


def notices(runs: list[RunView]) -> list[dict[str, str]]:
    """Warnings of the checks before, then what the metrics show; what is said of several runs is said once."""
    by_text: dict[tuple[str, str, str], list[str]] = {}
    for run in runs:
        for finding in run.findings:
            text = f"{finding.get('id')}: {finding.get('message')}"
            key = (str(finding.get("severity")), text, str(finding.get("help") or ""))
            by_text.setdefault(key, []).append(run.label)
        for text in run.observations:
            by_text.setdefault(("observation", text, ""), []).append(run.label)
    return [
        {"kind": kind, "text": text, "help": help_text, "run": ", ".join(named) if len(runs) > 1 else ""}
        for (kind, text, help_text), named in by_text.items()
    ]


def phase_table(runs: list[RunView]) -> dict[str, Any]:
    """Seconds and share of each phase, a column a run; no rows where no step was timed."""
    timed = [{phase.name: phase for phase in phases(run.metrics)} for run in runs]
    names = list(dict.fromkeys(name for columns in timed for name in columns))
    rows = [{"name": name, "cells": [_cell(columns.get(name)) for columns in timed]} for name in names]
    return {"labels": [run.label for run in runs] if len(runs) > 1 else ["all steps"], "rows": rows}


def _cell(phase: Any) -> dict[str, str] | None:
    if phase is None:
        return None
    seconds = f"{phase.seconds:.2f}s" if phase.seconds < 10 else duration(phase.seconds)
    return {"seconds": seconds, "share": f"{phase.share:.1%}", "percent": f"{phase.share * 100:.1f}"}
