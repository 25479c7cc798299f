"""What users' functions do to a run: each fault has a message with file and line, and counts as the spec says."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from orbiter_spec.runtime.reward_library.printing import Limited, speaking_for
from tests.runtime.compiled_rewards import compiled_rewards, part, score

CODE = """\
import asyncio, os, sys, time

def endless(response):
    while response == "loop":
        pass
    return 1.0

def leaves(response):
    if response == "leave":
        sys.exit(3)
    return 1.0

async def leaves_async(response):
    sys.exit(4)

def dies(response):
    if response == "die":
        os._exit(9)
    return 1.0

def hungry(response):
    data = bytearray(10**9) if response == "eat" else b""
    return 1.0 + len(data)

def talks(response):
    for _ in range(2000):
        print("x" * 1000)
    return 1.0

async def waits(response):
    await asyncio.sleep(30 if response == "wait" else 0)
    return 1.0

async def blocks(response):
    time.sleep(4 if response == "block" else 0)
    return 1.0

def sleeps_in_c(response):
    time.sleep(30 if response == "sleep" else 0)
    return 1.0

def swallows(response):
    while response == "loop":
        try:
            while True:
                time.sleep(0.001)
        except Exception:
            pass
    return 1.0

def unpicklable(response):
    return {"score": 1.0, "f": lambda: 0} if response == "odd" else 1.0
"""
FAULTS: list[tuple[str, str, dict[str, Any], str]] = [
    ("endless", "loop", {"timeout_seconds": 0.5}, "took longer than 0.5 s (rewards.py:"),
    ("endless", "loop", {"limit": 0.5}, "took longer than 0.5 s (rewards.py:"),
    ("swallows", "loop", {"limit": 0.5}, "took longer than 0.5 s (rewards.py:"),
    ("sleeps_in_c", "sleep", {"timeout_seconds": 0.5}, "took longer than 0.5 s (rewards.py:39 in sleeps_in_c)"),
    ("waits", "wait", {"timeout_seconds": 0.5}, "took longer than 0.5 s"),
    ("blocks", "block", {"timeout_seconds": 0.5}, "took longer than 0.5 s (rewards.py:35 in blocks)"),
    ("leaves", "leave", {}, "called sys.exit(3) (rewards.py:10 in leaves)"),
    ("leaves", "leave", {"timeout_seconds": 20}, "called sys.exit(3) (rewards.py:10 in leaves)"),
    ("leaves_async", "", {}, "called sys.exit(4) (rewards.py:14 in leaves_async)"),
    ("dies", "die", {"timeout_seconds": 20}, "ended its process with exit code 9"),
    ("hungry", "eat", {"memory_megabytes": 200}, "ran out of memory (rewards.py:22 in hungry)"),
    ("unpicklable", "odd", {"timeout_seconds": 20}, "lambda"),
]


@pytest.mark.parametrize(("function", "bad", "item", "said"), FAULTS, ids=lambda value: str(value)[:30])
def test_a_fault_is_named_and_the_next_sample_is_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, bad: str, item: dict[str, Any], said: str
) -> None:
    item = dict(item)
    limit = item.pop("limit", None)
    code = CODE
    module = compiled_rewards(tmp_path, [part(function, on_error=-1.0, **item)], code)
    if limit is not None:
        shorten(module, limit, tmp_path, function)
    started = time.monotonic()
    result = score(module, bad)
    assert time.monotonic() - started < 20
    assert result["score"] == -1.0
    assert result[f"{function}/errors"] == 1.0
    message = last_error(tmp_path, function, bad, item, limit)
    assert said in message, message
    assert message.startswith(f"orbiter-spec: reward '{function}' (code/rewards.py:{function}) failed on sample ?: ")
    if function != "leaves_async":
        assert score(module, "fine")["score"] == 1.0


def shorten(module: Any, seconds: float, folder: Path, function: str) -> None:
    """Load the part again with another time limit for calls in this process."""
    library = module._library()
    sys.modules[library.__name__ + ".function"].CALL_SECONDS = seconds
    sys.modules[library.__name__ + ".scoring"]._scorers.clear()


def last_error(folder: Path, function: str, bad: str, item: dict[str, Any], limit: float | None) -> str:
    """The message with which the same fault ends a run."""
    module = compiled_rewards(folder, [part(function, **item)], CODE)
    if limit is not None:
        shorten(module, limit, folder, function)
    with pytest.raises(RuntimeError) as caught:
        score(module, bad)
    return str(caught.value)


@pytest.mark.parametrize("item", [{}, {"timeout_seconds": 30}], ids=["thread", "process"])
def test_megabytes_of_output_are_cut_and_said(tmp_path: Path, item: dict[str, Any]) -> None:
    compiled_rewards(tmp_path, [part("talks", **item)], CODE)
    program = (
        "import importlib.util as u; s = u.spec_from_file_location('r', 'reward.py'); m = u.module_from_spec(s)\n"
        "s.loader.exec_module(m)\n"
        "for _ in range(3): assert m.compute_score('d', 'x', 'y', {})['score'] == 1.0\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    printed = done.stdout + done.stderr
    assert 60_000 < len(printed) < 80_000
    assert printed.count("reward 'talks' printed more than 64 KB; the rest is dropped") == 1


@pytest.mark.parametrize("item", [{}, {"timeout_seconds": 30}], ids=["thread", "process"])
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\nraise OSError('no disk')\n", "OSError: no disk (rewards.py:2)"),
        ("import sys\nsys.exit(5)\n", "called sys.exit(5) (rewards.py:2)"),
        ("def endless(:\n", "SyntaxError: invalid syntax"),
        ("import not_there_at_all\n", "ModuleNotFoundError: No module named 'not_there_at_all' (rewards.py:1)"),
    ],
)
def test_a_file_that_cannot_be_imported_is_named_with_its_line(
    tmp_path: Path, code: str, said: str, item: dict[str, Any]
) -> None:
    with pytest.raises(RuntimeError) as caught:
        compiled_rewards(tmp_path, [part("endless", **item)], code)
    assert f"orbiter-spec: reward 'endless' (code/rewards.py:endless) cannot be loaded: {said}" in str(caught.value)


def test_a_program_with_a_lost_thread_still_ends(tmp_path: Path) -> None:
    compiled_rewards(tmp_path, [part("sleeps_in_c", on_error=0.0)], CODE)
    program = (
        "import importlib.util as u; s = u.spec_from_file_location('r', 'reward.py'); m = u.module_from_spec(s)\n"
        "s.loader.exec_module(m)\n"
        "import threading as t; t.Thread(target=m.compute_score, args=('d', 'sleep', 'y', {}), daemon=True).start()\n"
        "import time; time.sleep(0.5); print('done')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert done.stdout == "done\n"


def test_streams_that_do_not_say_how_much_they_took_are_written_to(capfd: pytest.CaptureFixture[str]) -> None:
    class Silent:
        written: ClassVar[list[str]] = []

        def write(self, text: str) -> None:
            self.written.append(text)

    stream = Limited(Silent())
    assert stream.write("one") == 3
    with speaking_for("part of test"):
        assert stream.write("two") == 3
    assert Silent.written == ["one", "two"]
