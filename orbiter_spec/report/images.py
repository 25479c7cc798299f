"""The report's plots as PNG images, for slides and for places that show no HTML. matplotlib is needed for them only."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from orbiter_spec.report.content import Chart, charts
from orbiter_spec.report.run_view import RunView

COLORS = ("#2563eb", "#d9660b", "#0d9467", "#c026a3", "#7c4ddb", "#0e8ba8", "#8a7a08", "#d3324a")


def write_images(folder: Path, runs: list[RunView]) -> list[Path]:
    """One image a plot in `folder`; none where matplotlib is missing or nothing was measured.

    Raises:
        OSError: when the disk refuses.
    """
    found = charts(runs)
    if not found or importlib.util.find_spec("matplotlib") is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    names = _names(found)
    for chart, name in zip(found, names, strict=True):
        _write(folder / name, chart)
    return [folder / name for name in names]


def _names(found: list[Chart]) -> list[str]:
    keys = [chart["key"] for chart in found]
    return [
        key + (f"-{keys[:at].count(key) + 1}" if keys.count(key) > 1 else "") + ".png" for at, key in enumerate(keys)
    ]


def _write(path: Path, chart: Chart) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(7, 4), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for line in chart["lines"]:
        color = COLORS[line["color"] % len(COLORS)]
        marker = "o" if len(line["x"]) <= 40 else ""
        label = line["label"].replace("$", r"\$")
        axes.plot(line["x"], line["y"], color=color, marker=marker, markersize=4, label=label)
        if "lo" in line:
            axes.fill_between(line["x"], line["lo"], line["hi"], color=color, alpha=0.15, linewidth=0)
    axes.set_title(chart["title"].replace("$", r"\$"), loc="left")
    axes.set(xlabel="step", ylabel=chart["unit"])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    canvas.print_png(path)
