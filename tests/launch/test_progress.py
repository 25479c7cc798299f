"""Lines, plots and the time left."""

from __future__ import annotations

import io
import os
import pty
import re
import select
from pathlib import Path

import pytest

from orbiter_spec.launch.live import LiveReporter
from orbiter_spec.launch.log_file import PHASES, LogFollower, phase_in
from orbiter_spec.launch.plot import draw, write_image
from orbiter_spec.launch.progress import Pace, PlainReporter, duration, number
from orbiter_spec.launch.reading import Reading
from orbiter_spec.launch.reporters import make_reporter


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0, "0s"), (59.4, "59s"), (60, "1m00s"), (3599.6, "1h00m"), (7620, "2h07m"), (273600, "3d04h")],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.0, "0"), (0.12345, "0.1235"), (1e-5, "1.00e-05"), (123456.0, "1.23e+05")]
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text


def test_time_left_counts_what_steps_really_took() -> None:
    now = [100.0]
    pace = Pace(lambda: now[0])
    assert pace.seconds_left(10, 2.0) is None
    pace.step(5)
    assert pace.seconds_left(10, 2.0) == 10.0
    now[0] = 106.0
    pace.step(7)
    assert pace.seconds_left(10, 2.0) == 9.0
    assert pace.seconds_left(None, 2.0) is None
    pace.step(12)
    assert pace.seconds_left(10, 2.0) == 0.0


def test_plain_lines() -> None:
    stream = io.StringIO()
    reporter = PlainReporter(stream, lambda: 0.0)
    reporter.reading(Reading(1, reward=0.25, kl=0.001, seconds=2.0, validation={"digits": 0.5}), 3)
    reporter.reading(Reading(2, reward=0.5), None)
    assert stream.getvalue().splitlines() == [
        "step 1/3  reward 0.25  kl 0.001  s/step 2  left 4s",
        "validation after step 1  digits 0.5",
        "step 2  reward 0.5",
    ]


def test_a_pipe_gets_plain_lines_and_a_terminal_a_live_one() -> None:
    assert isinstance(make_reporter(io.StringIO()), PlainReporter)
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as terminal:
        reporter = make_reporter(terminal)
        assert isinstance(reporter, LiveReporter)
        reporter.phase("starting [bold]Ray[/]")
        reporter.reading(Reading(1, reward=0.25, validation={"digits": 0.5}), 3)
        reporter.note("a [note] of mine")
        reporter.close()
        shown = b""
        while select.select([master], [], [], 0.2)[0]:
            shown += os.read(master, 65536)
    os.close(master)
    assert b"a [note] of mine" in shown
    assert b"validation after step 1" in shown


def test_the_plot_rises_where_the_curve_rises() -> None:
    text = draw([(0, 0.0), (5, 0.2), (10, 1.0)], title="reward", width=20, height=4)
    lines = text.splitlines()
    assert lines[0] == "reward"
    assert [len(re.sub(r"[⠀-⣿ ]", "", line)) for line in lines[1:5]] == [2, 1, 1, 2]
    assert lines[1].startswith("1 |")
    assert lines[4].startswith("0 |")
    first_row, last_row = lines[1][3:], lines[4][3:]
    assert len(first_row) - len(first_row.lstrip()) > 10
    assert last_row[0] != " "
    assert lines[-1].split() == ["0", "step", "10"]


def test_the_ascii_plot_has_one_star_a_column() -> None:
    lines = draw([(0, 1.0), (10, 0.0)], title="", width=10, height=5, ascii_only=True).splitlines()
    columns = [line.partition("|")[2].ljust(10) for line in lines[1:6]]
    assert [sum(row[column] == "*" for row in columns) for column in range(10)] == [1] * 10
    assert all(line.isascii() for line in lines)


@pytest.mark.parametrize("curve", [[], [(1, 0.5)]])
def test_no_plot_without_two_points(curve: list[tuple[int, float]]) -> None:
    assert draw(curve, title="reward") == ""


def test_a_flat_curve_is_drawn() -> None:
    assert draw([(1, 0.5), (2, 0.5)], title="reward", width=4, height=2).count("0.5") == 2


def test_the_image(tmp_path: Path) -> None:
    path = tmp_path / "report.png"
    assert write_image(path, title="run", training=[(1, 0.1), (2, 0.4)], validation=[(0, 0.1)]) is None
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "no plot" in (write_image(path, title="run", training=[], validation=[]) or "")


def test_an_image_that_cannot_be_written_is_a_note(tmp_path: Path) -> None:
    note = write_image(tmp_path / "no" / "report.png", title="run", training=[(1, 0.1)], validation=[])
    assert note is not None
    assert note.startswith("report.png was not written")


def test_without_matplotlib_the_note_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    note = write_image(tmp_path / "report.png", title="run", training=[(1, 0.1)], validation=[])
    assert note == "report.png was not written: install matplotlib for it"


def test_phases_only_go_forward() -> None:
    model = phase_in("(TaskRunnerV1 pid=3) INFO create worker group dict_keys(['actor'])\n")
    assert PHASES[model - 1][1] == "loading the model"
    assert phase_in("Using dataset class: RLHFDataset\n", model) == model
    assert phase_in("", 0) == 0


def test_a_log_is_followed_from_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "verl.log"
    assert LogFollower(path).new_text() == ""
    path.write_text("an earlier attempt\n")
    follower = LogFollower(path)
    assert follower.new_text() == ""
    with path.open("a") as file:
        file.write("one\ntwo\n")
    assert follower.new_text() == "one\ntwo\n"
    assert follower.new_text() == ""
    assert follower.all_text(100) == "one\ntwo\n"
    assert follower.all_text(4) == "two\n"
