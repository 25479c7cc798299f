"""The reward as a plot: a few lines of braille for the terminal, and `report.png` where matplotlib is installed.

Braille gives two by four dots a character, enough to see a curve in eight lines, and needs no package.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

Curve = Sequence[tuple[int, float]]
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_EMPTY = 0x2800


def draw(curve: Curve, *, title: str, width: int = 56, height: int = 8, ascii_only: bool = False) -> str:
    """`curve` of (step, value) as text, `width` x `height` characters beside its scale; empty without two points."""
    if len(curve) < 2:
        return ""
    values = [value for _, value in curve]
    low, high = min(values), max(values)
    cells = _ascii_cells(curve, width, height) if ascii_only else _braille_cells(curve, width, height)
    labels = [f"{high:.3g}", *[""] * (height - 2), f"{low:.3g}"]
    margin = max(len(label) for label in labels)
    rows = [f"{label:>{margin}} |{row.rstrip()}" for label, row in zip(labels, cells, strict=True)]
    first, last = str(curve[0][0]), str(curve[-1][0])
    axis = " " * margin + " +" + "-" * width
    steps = " " * (margin + 2) + first + f"step {last}".rjust(width - len(first))
    return "\n".join([title, *rows, axis, steps])


def _positions(curve: Curve, columns: int, rows: int) -> Iterable[tuple[int, int]]:
    """Column and row, from the top, of each dot on the line through `curve`."""
    first, last = curve[0][0], curve[-1][0]
    values = [value for _, value in curve]
    low, span = min(values), max(values) - min(values) or 1.0
    for column in range(columns):
        step = first + (last - first) * column / max(1, columns - 1)
        yield column, round((1 - (_value_at(curve, step) - low) / span) * (rows - 1))


def _value_at(curve: Curve, step: float) -> float:
    """The value at `step` on the line through the points."""
    for (left, before), (right, after) in pairwise(curve):
        if step <= right:
            share = (step - left) / (right - left) if right > left else 1.0
            return before + (after - before) * share
    return curve[-1][1]


def _braille_cells(curve: Curve, width: int, height: int) -> list[str]:
    cells = [[_EMPTY] * width for _ in range(height)]
    for column, row in _joined(_positions(curve, width * 2, height * 4)):
        cells[row // 4][column // 2] |= _DOTS[column % 2][row % 4]
    return ["".join(chr(cell) if cell != _EMPTY else " " for cell in line) for line in cells]


def _ascii_cells(curve: Curve, width: int, height: int) -> list[str]:
    cells = [[" "] * width for _ in range(height)]
    for column, row in _positions(curve, width, height):
        cells[row][column] = "*"
    return ["".join(line) for line in cells]


def _joined(dots: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """`dots` with steep parts filled in."""
    previous: int | None = None
    for column, row in dots:
        for filled in _between(previous, row):
            yield column, filled
        previous = row


def _between(previous: int | None, row: int) -> Iterable[int]:
    if previous is None or abs(previous - row) <= 1:
        return (row,)
    step = 1 if row > previous else -1
    return range(previous + step, row + step, step)


def write_image(path: Path, *, title: str, training: Curve, validation: Curve) -> str | None:
    """Write the plot as PNG; returns a note when it could not be written."""
    if not training and not validation:
        return "no reward was measured, so there is no plot"
    if importlib.util.find_spec("matplotlib") is None:
        return f"{path.name} was not written: install matplotlib for it"
    try:
        _write_png(path, title, training, validation)
    except Exception as error:
        return f"{path.name} was not written: {error}"
    return None


def _write_png(path: Path, title: str, training: Curve, validation: Curve) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(7, 4), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for curve, label, marker in ((training, "training", ""), (validation, "validation", "o")):
        if curve:
            axes.plot([step for step, _ in curve], [value for _, value in curve], marker=marker, label=label)
    axes.set(title=title, xlabel="step", ylabel="mean reward")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    canvas.print_png(path)
