"""The report as one HTML file.

Plots are drawn in the reader's browser by uPlot (MIT licence, 50 KB, kept whole in `assets/` with its licence): lines
that can be zoomed and read off under the pointer are worth that size in each file, and images drawn here would be
larger and dumb. The page loads nothing: style, script and data are in it, and its content policy forbids the network.

Everything from a run is text. In the page Jinja escapes it; in the data `<` is written as an escape of JSON, so that no
answer can end the script element; the script puts text into the page as text alone.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from orbiter_spec.launch.status import utc_now
from orbiter_spec.report import content
from orbiter_spec.report.comparison import difference_groups
from orbiter_spec.report.run_view import RunView

ASSETS = Path(__file__).parent / "assets"


def render(runs: list[RunView]) -> str:
    """The page of `runs`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja").render(**_values(runs), **_assets())


def _values(runs: list[RunView]) -> dict[str, Any]:
    charts, samples = content.charts(runs), content.samples(runs)
    data = {"charts": charts, "samples": samples, "every": content.every_metric(runs)}
    return {
        "title": runs[0].folder.name if len(runs) == 1 else f"{len(runs)} runs compared",
        "made_at": utc_now().replace("T", " ").replace("+00:00", " UTC"),
        "runs": runs,
        "notices": content.notices(runs),
        "has_charts": bool(charts),
        "has_samples": bool(samples),
        "phases": content.phase_table(runs),
        "differences": difference_groups(runs) if len(runs) > 1 else [],
        "same_note": "None: the same configuration, rewards and files.",
        "data": embedded(data),
    }


def embedded(data: Any) -> str:
    """`data` as JSON that may stand in a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _assets() -> dict[str, str]:
    return {
        "style": _asset("page.css"),
        "script": _asset("page.js"),
        "plot_style": _asset("uplot.min.css"),
        "plot_script": _asset("uplot.min.js"),
    }


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def write_page(path: Path, runs: list[RunView]) -> None:
    """Replace `path` by the page of `runs`, in one move.

    Raises:
        OSError: when the disk refuses.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    stage = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        stage.write_bytes(render(runs).encode("utf-8", errors="replace"))
        os.replace(stage, path)
    finally:
        stage.unlink(missing_ok=True)
