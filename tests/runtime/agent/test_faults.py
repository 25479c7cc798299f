"""Whatever the user's code does, the message names the file and the line, and nothing waits for ever."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orbiter_spec.runtime.agent.client import UserCodeError
from tests.runtime.agent.conftest import Arena

BEGIN = "class Game:\n"
RESET = "    def reset(self): return 'start'\n"
STEP = "    def step(self, action): return 'end', 1.0, True, {}\n"

FAULTS = {
    "at import": (
        "import json\nraise OSError('no disk')\n",
        r"environment cannot be imported: it raised OSError: no disk \(envs\.py line 2",
    ),
    "syntax": ("class Game\n", r"cannot be imported: it is not valid Python: .*\(envs\.py line 1\)"),
    "exit at import": ("import sys\nsys.exit(3)\n", r"cannot be imported: it called sys\.exit\(3\) \(envs\.py line 2"),
    "no such name": ("class Other: pass\n", r"cannot be imported: .*code/envs\.py has no Game"),
    "in the constructor": (
        BEGIN + "    def __init__(self):\n        self.door = doors\n" + RESET + STEP,
        r"environment Game reset raised NameError: name 'doors' is not defined \(envs\.py line 3 in __init__\)",
    ),
    "in reset": (
        BEGIN + "    def reset(self):\n        return {}['key']\n" + STEP,
        r"environment Game reset raised KeyError: 'key' \(envs\.py line 3 in reset\)",
    ),
    "in step": (
        BEGIN + RESET + "    def step(self, action):\n        return 1 / 0\n",
        r"environment Game step raised ZeroDivisionError: division by zero \(envs\.py line 4 in step\)",
    ),
    "below step": (
        BEGIN + RESET + "    def step(self, action):\n        import json\n        return json.loads('{')\n",
        r"environment Game step raised JSONDecodeError: .* \(envs\.py line 5 in step\)",
    ),
    "wrong return": (
        BEGIN + RESET + "    def step(self, action):\n        return 'only text'\n",
        r"step raised TypeError: step returned str, not \(observation, reward, done, info\)",
    ),
    "reward that is no number": (
        BEGIN + RESET + "    def step(self, action):\n        return 'x', float('nan'), True, {}\n",
        r"step returned the reward nan, which is not a finite number",
    ),
    "sys.exit": (
        BEGIN + RESET + "    def step(self, action):\n        import sys\n        sys.exit('bye')\n",
        r"environment Game step called sys\.exit\('bye'\) \(envs\.py line 5 in step\)",
    ),
    "os._exit": (
        BEGIN + RESET + "    def step(self, action):\n        import os\n        os._exit(7)\n",
        r"environment Game ended its process in step \(exit code 7\)",
    ),
    "crash": (
        BEGIN + RESET + "    def step(self, action):\n        import os\n        os.kill(os.getpid(), 11)\n",
        r"environment Game ended its process in step \(exit code -11\)",
    ),
    "endless loop": (
        BEGIN + RESET + "    def step(self, action):\n        while True:\n            pass\n",
        r"environment Game gave no answer to step within 1 s \(envs\.py line [45] in step\)",
    ),
    "endless sleep": (
        BEGIN + "    async def reset(self):\n        import asyncio\n        await asyncio.sleep(900)\n" + STEP,
        r"environment Game gave no answer to reset within 1 s",
    ),
    "memory": (
        BEGIN
        + RESET
        + "    def step(self, action):\n        hog = []\n        while True:\n"
        + "            hog.append(bytearray(2**24))\n",
        r"environment Game step ran out of the memory it may use \(envs\.py line 6 in step\)",
    ),
    "unreadable errors": (
        "class Strange(Exception):\n    def __str__(self): raise ValueError\n"
        + BEGIN
        + RESET
        + "    def step(self, action):\n        raise Strange\n",
        r"environment Game step raised Strange.*\(envs\.py line 6 in step\)",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_file_and_line(arena: Callable[..., Arena], fault: str) -> None:
    code, message = FAULTS[fault]
    game = arena()
    game.environment(code, timeout_seconds=limit(fault), memory_megabytes=256)
    began = time.monotonic()
    with pytest.raises(UserCodeError, match=message):
        game.play([game.ended("go")])
    assert time.monotonic() - began < 60


def limit(fault: str) -> float:
    """Seconds for one answer: few for what never answers."""
    return 1 if "endless" in fault else 30


@pytest.mark.parametrize("fault", ["in reset", "in step", "os._exit", "endless loop", "memory"])
def test_a_fault_is_a_return_where_the_spec_says_so(arena: Callable[..., Arena], fault: str) -> None:
    game = arena()
    seconds = limit(fault)
    game.environment(FAULTS[fault][0], timeout_seconds=seconds, memory_megabytes=256, on_error=-2.5, retries=1)
    output, _ = game.play([game.ended("go")])
    episode = output.extra_fields["episode"]
    assert (episode["environment_return"], episode["failed"], episode["retries"]) == (-2.5, 1, 1)
    assert episode["environment_failures"] == 2
    assert episode["environment_timeouts"] == (2 if fault == "endless loop" else 0)
    assert len(output.response_ids) == len(output.response_mask) == len(output.response_logprobs)
    assert sum(output.response_mask) == (0 if fault == "in reset" else 3)


def test_an_endless_import_is_killed(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment("while True: pass\n")
    game.settings["host"]["start_seconds"] = 1
    with pytest.raises(UserCodeError, match="was not imported within 1 s"):
        game.play([game.ended("go")])


def test_a_flood_of_text_is_cut_and_named(arena: Callable[..., Arena], capfd: pytest.CaptureFixture[str]) -> None:
    game = arena()
    game.environment(
        BEGIN + RESET + "    def step(self, action):\n        for _ in range(100):\n            print('x' * 10**6)\n"
        "        import os\n        os.write(1, b'y' * 10**6)\n        return 'end', 1.0, True, {}\n"
    )
    output, _ = game.play([game.ended("go")])
    assert output.extra_fields["episode"]["environment_return"] == 1.0
    printed = "".join(capfd.readouterr())
    assert "orbiter-spec: envs.py line 5 in step prints more than is kept" in printed
    assert len(printed) < 5000


def test_a_column_that_is_not_there(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment(BEGIN + RESET + STEP, columns={"rooms": "size"}, retries=3)
    with pytest.raises(UserCodeError, match="takes the column size, and the row has question"):
        game.play([game.ended("go")], row={"question": "?"})


def test_a_host_that_dies_is_started_again(arena: Callable[..., Arena], tmp_path: Path) -> None:
    game = arena()
    game.environment(
        BEGIN
        + RESET
        + "    def step(self, action):\n        import os, pathlib, signal\n"
        + f"        once = pathlib.Path({str(tmp_path / 'once')!r})\n"
        + "        if not once.exists():\n            once.touch()\n            os.kill(os.getppid(), signal.SIGKILL)\n"
        + "            signal.pause()\n"
        + "        return 'end', 1.0, True, {}\n",
        retries=1,
    )
    output, _ = game.play([game.ended("go")])
    episode = output.extra_fields["episode"]
    assert (episode["retries"], episode["environment_failures"], episode["environment_return"]) == (1, 1, 1.0)


def test_nothing_is_left_behind(arena: Callable[..., Arena], tmp_path: Path) -> None:
    game = arena()
    game.environment(
        BEGIN + "    def reset(self):\n        import os, subprocess\n"
        f"        child = subprocess.Popen(['sleep', '600'])\n"
        f"        open({str(tmp_path / 'pids')!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "        return 'start'\n" + STEP
    )
    game.play([game.ended("go")])
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    end = time.monotonic() + 5
    while any(alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [pid for pid in pids if alive(pid)]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, FileNotFoundError):
        return False
