"""The live view: numbers, answers, the machine; and nothing in an answer moves the terminal."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path

import pytest

from orbiter_spec.launch.live import LEVELS, SPARK_WIDTH, LiveReporter, spark
from orbiter_spec.launch.live_answers import last_answers, one_line
from orbiter_spec.launch.machine import MachineLog, cpu_percent, last_use, memory_gb, read_gpus, use_by_step
from orbiter_spec.launch.reading import Reading, read
from orbiter_spec.launch.run_folder import RunFolder


def test_bars_rise_with_the_values() -> None:
    assert spark([0.0, 1.0]) == LEVELS[0] + LEVELS[-1]
    assert spark([1.0, 1.0, 1.0]) == LEVELS[3] * 3
    assert spark([5.0]) == ""
    assert len(spark([float(value) for value in range(1000)])) <= SPARK_WIDTH
    assert list(spark([float(value) for value in range(200)])) == sorted(spark([float(value) for value in range(200)]))


def write_answers(folder: RunFolder, step: int, answers: list[str]) -> None:
    folder.rollouts.mkdir(parents=True, exist_ok=True)
    records = [{"input": f"prompt\n{number}", "output": text, "score": 0.5} for number, text in enumerate(answers)]
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder.rollouts / f"{step}.jsonl").write_text(text, encoding="utf-8")


def test_the_newest_answers_are_shown(tmp_path: Path) -> None:
    folder = RunFolder.at(tmp_path)
    assert last_answers(folder.rollouts) == []
    write_answers(folder, 9, ["old"] * 4)
    write_answers(folder, 10, ["first", "second", "third", "fourth"])
    assert last_answers(folder.rollouts) == [("0.5", "prompt 0", "first"), ("0.5", "prompt 2", "third")]
    (folder.rollouts / "11.jsonl").write_bytes(b'{"half a li')
    assert last_answers(folder.rollouts) == []


def test_answers_cannot_move_the_cursor() -> None:
    assert one_line("a\x1b[2J\x07b\nc\u202e") == "a·[2J·b c·"
    assert len(one_line("x" * 10_000)) == 300


def shown(reporter: LiveReporter, width: int, height: int) -> str:
    from rich.console import Console

    stream = io.StringIO()
    reporter._console = Console(file=stream, width=width, height=height)
    reporter._console.print(reporter)
    return stream.getvalue()


@pytest.fixture
def reporter(tmp_path: Path) -> LiveReporter:
    """A view of a run at its third step."""
    folder = RunFolder.at(tmp_path)
    write_answers(folder, 3, ["an answer", "another"])
    folder.logs.mkdir()
    folder.machine.write_text('{"step": 3, "cpu_percent": 87.4, "memory_gb": 12.25, "gpu_percent": 55}\n')
    found = LiveReporter(io.StringIO(), clock=lambda: 100.0)
    found.begin(folder)
    for step in (1, 2, 3):
        parts = {"correct": step / 10, "brevity": 1.0}
        found.reading(Reading(step, reward=step / 4, entropy=2.0, seconds=2.0, parts=parts), 12)
    found.close()
    return found


def test_the_view_has_the_numbers(reporter: LiveReporter) -> None:
    text = shown(reporter, 100, 40)
    for part in ("step 3/12", "left", "reward", "0.75", "correct", "0.3", "entropy", "an answer", "CPU 87%", "GPU 55%"):
        assert part in text, part
    assert "KL" not in text, "what verl did not measure is left out"
    assert "12.2 GB" in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_a_small_terminal_has_no_room_for_answers(reporter: LiveReporter) -> None:
    text = shown(reporter, 40, 20)
    assert "an answer" not in text and "reward" in text
    assert max(len(line) for line in text.splitlines()) <= 40


def test_parts_of_the_reward_are_read() -> None:
    record = {"step": 1, "reward/a/mean": 0.5, "reward/a/max": 1.0, "reward/a/errors/mean": 0.1, "reward/b/mean": 0.25}
    assert read(record).parts == {"a": 0.5, "b": 0.25}


def test_the_machine_is_measured() -> None:
    share, counters = cpu_percent(None)
    assert share is None and counters is not None
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
    share, _ = cpu_percent(counters)
    assert share is not None and 0 < share <= 100
    used = memory_gb()
    assert used is not None and 0.05 < used < 1e5


def test_gpus_as_the_tool_prints_them() -> None:
    assert read_gpus("50, 1024\n100, 2048\n") == {"gpu_percent": 75.0, "gpu_memory_gb": pytest.approx(2.147483648)}
    assert read_gpus("No devices were found\n") == {}


def test_the_log_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho '80, 1000'\n")
    tool.chmod(0o755)
    monkeypatch.setattr("orbiter_spec.launch.machine.EVERY_SECONDS", 0.05)
    log = MachineLog(tmp_path / "machine.jsonl", _tool=str(tool))
    end = time.monotonic() + 10
    while "gpu_percent" not in last_use(log.path) and time.monotonic() < end:
        log.poll(4)
        time.sleep(0.05)
    log.close()
    found = last_use(log.path)
    assert (found["step"], found["gpu_percent"]) == (4, 80.0)
    assert found["cpu_percent"] >= 0 and found["memory_gb"] > 0


def test_use_is_averaged_over_the_step_that_was_going_on(tmp_path: Path) -> None:
    path = tmp_path / "machine.jsonl"
    lines = [{"step": 0, "cpu_percent": 10}, {"step": 0, "cpu_percent": 30}, {"step": 1, "cpu_percent": 50}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + 'nonsense\n{"step": 1, "cpu_')
    assert use_by_step(path) == [{"step": 1, "machine/cpu_percent": 20.0}, {"step": 2, "machine/cpu_percent": 50.0}]
    assert use_by_step(tmp_path / "absent") == []
    assert last_use(tmp_path / "absent") == {}
