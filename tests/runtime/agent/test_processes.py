"""Processes of the user's code are used again, as long as nothing but the modules' globals is left in them."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from typing import Any

import pytest

from orbiter_spec.runtime.agent import client
from tests.runtime.agent.conftest import Arena

GAME = """
import os, random

class Game:
    closed = 0
    def reset(self):
        return f"process {os.getpid()} draw {random.random()}"
    def step(self, action):
        return "", 1.0, True, {"closed": Game.closed}
    def close(self):
        Game.closed += 1
BEHAVIOUR
"""
TOOL = '''
import os, threading

def process() -> str:
    """The process."""
    BEHAVIOUR
    return str(os.getpid())
'''


def prompts(game: Arena, episodes: int) -> list[str]:
    return [str(game.tokenizer.decode(game.play([game.ended("go")])[0].prompt_ids)) for _ in range(episodes)]


def processes(game: Arena, episodes: int) -> list[str]:
    return [text.partition("process ")[2].split()[0] for text in prompts(game, episodes)]


def test_a_process_plays_episodes_until_its_number_is_reached(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment(GAME.replace("BEHAVIOUR", ""), episodes_per_process=3)
    first, second, third, fourth = prompts(game, 4)
    assert first == second == third, "one process, and the same random numbers in each episode of a row"
    assert fourth != first
    assert fourth.partition("draw")[2] == first.partition("draw")[2]


def test_a_fresh_process_for_each_episode_where_the_spec_asks_for_it(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment(GAME.replace("BEHAVIOUR", ""), episodes_per_process=1)
    assert len(set(processes(game, 3))) == 3


LEFT = {
    "a thread": "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "a child": "import subprocess; subprocess.Popen(['sleep', '60'])",
    "an ended child": "import subprocess; self.child = Game.child = subprocess.Popen(['true'])",
    "a timer": "import signal; signal.setitimer(signal.ITIMER_REAL, 60)",
    "a folder": "os.chdir('/')",
    "a variable": "os.environ['LEFT'] = '1'",
    "memory": "Game.kept = bytearray(200 * 2**20)",
    "an error while closing": "raise OSError",
}


@pytest.mark.parametrize("left", LEFT)
def test_a_process_in_which_something_was_left_ends(arena: Callable[..., Arena], left: str) -> None:
    game = arena()
    game.environment(GAME.replace("BEHAVIOUR", f"        {LEFT[left]}"))
    assert len(set(processes(game, 2))) == 2


BAD = {
    "an exception": "raise OSError('no disk')",
    "sys.exit": "sys.exit(3)",
    "sys.exit beside a thread": "threading.Thread(target=time.sleep, args=(60,)).start(); sys.exit(3)",
    "os._exit": "os._exit(3)",
    "a crash": "os.kill(os.getpid(), 11)",
    "an endless loop": "exec('while True: pass')",
    "a memory hog": "KEPT.extend(bytearray(2**24) for _ in range(1000))",
    "a generator of threads": "[threading.Thread(target=time.sleep, args=(60,)).start() for _ in range(20)]; 1 / 0",
}
PARTIAL = {
    "megabytes of text": ("[print('x' * 10**6) for _ in range(20)]", True),
    "a hog that is not told": ("KEPT.append(bytearray(200 * 2**20))", False),
    "open files": ("KEPT.extend(open(__file__) for _ in range(40))", False),
    "a thread": ("threading.Thread(target=time.sleep, args=(60,)).start()", False),
}
MODULE = """
import os, sys, threading, time
KEPT = []

class Game:
    def reset(self):
        return f"process {os.getpid()} has {len(KEPT)} kept and {threading.active_count()} threads"
    def step(self, action):
        if "bad" in action:
            BEHAVIOUR
        return "", 1.0, True, {}
"""
CALLED = '''
import os, sys, threading, time
KEPT = []

def work(how: str) -> str:
    """Work.

    Args:
        how: Which way.
    """
    if how == "bad":
        BEHAVIOUR
    return f"process {os.getpid()} has {len(KEPT)} kept and {threading.active_count()} threads"
'''


def limit_seconds(behaviour: str) -> float:
    return 1 if "while" in behaviour else 30


@pytest.mark.parametrize("fault", BAD)
def test_the_episode_after_a_fault_begins_clean(arena: Callable[..., Arena], fault: str) -> None:
    game = arena()
    code = MODULE.replace("BEHAVIOUR", BAD[fault])
    game.environment(code, timeout_seconds=limit_seconds(BAD[fault]), memory_megabytes=256, on_error=-1.0)
    bad, good, again = (game.play([game.ended(word)])[0] for word in ("bad", "go", "go"))
    assert [one.extra_fields["episode"]["failed"] for one in (bad, good, again)] == [1, 0, 0]
    assert [one.extra_fields["episode"]["environment_return"] for one in (bad, good, again)] == [-1.0, 1.0, 1.0]
    first, second, third = (opening(game, one) for one in (bad, good, again))
    assert first != second == third
    assert second.endswith("has 0 kept and 1 threads")


@pytest.mark.parametrize("fault", PARTIAL)
def test_the_episode_after_one_that_left_something_begins_clean(arena: Callable[..., Arena], fault: str) -> None:
    behaviour, stays = PARTIAL[fault]
    game = arena()
    game.environment(MODULE.replace("BEHAVIOUR", behaviour), memory_megabytes=512)
    outputs = [game.play([game.ended(word)])[0] for word in ("bad", "go", "go")]
    assert [one.extra_fields["episode"]["environment_return"] for one in outputs] == [1.0, 1.0, 1.0]
    first, second, third = (opening(game, one) for one in outputs)
    assert (first == second) is stays
    assert second == third
    assert second.endswith("has 0 kept and 1 threads")


def opening(game: Arena, output: Any) -> str:
    """What the environment began with."""
    return (
        "process " + str(game.tokenizer.decode(output.prompt_ids)).partition("process ")[2].partition("<|im_end|>")[0]
    )


@pytest.mark.parametrize("fault", [*BAD, *PARTIAL])
def test_the_call_after_a_fault_begins_clean(arena: Callable[..., Arena], fault: str) -> None:
    behaviour = BAD.get(fault) or PARTIAL[fault][0]
    game = arena()
    code = CALLED.replace("BEHAVIOUR", behaviour)
    game.tool("work", code, timeout_seconds=limit_seconds(behaviour), memory_megabytes=512)
    call = '<tool_call>{"name": "work", "arguments": {"how": "HOW"}}</tool_call>'
    calls = [game.ended(call.replace("HOW", how)) for how in ("bad", "go", "go")]
    output, _ = game.play([*calls, game.ended("done")])
    assert output.extra_fields["episode"]["tool_failures"] == (1 if fault in BAD else 0)
    text = str(game.tokenizer.decode(output.response_ids))
    first, second, third = (part.partition("<|im_end|>")[0] for part in text.split("<|im_start|>t\n")[1:])
    assert second == third
    assert "has 0 kept and 1 threads" in second
    stays = fault in PARTIAL and PARTIAL[fault][1]
    assert (first == second) is stays


def test_coroutines_and_their_idle_threads_are_no_reason_to_end_it(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment(
        "import asyncio, os\nclass Game:\n"
        "    async def reset(self): return await asyncio.to_thread(lambda: f'process {os.getpid()} here')\n"
        "    async def step(self, action): return '', 1.0, True, {}\n",
        memory_megabytes=2048,
    )
    assert len(set(processes(game, 3))) == 1


def test_a_coroutine_that_goes_on_is(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment(
        "import asyncio, os\nclass Game:\n"
        "    async def reset(self):\n        self.other = asyncio.ensure_future(asyncio.sleep(60))\n"
        "        return f'process {os.getpid()} here'\n"
        "    async def step(self, action): return '', 1.0, True, {}\n"
    )
    assert len(set(processes(game, 2))) == 2


def test_a_process_that_ended_while_idle_is_not_used(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.environment(GAME.replace("BEHAVIOUR", ""))
    (first,) = processes(game, 1)
    (host,) = client._hosts.values()
    ((session,),) = host._idle.values()
    os.kill(int(first), signal.SIGKILL)
    assert select.select([session._socket], [], [], 5)[0], "its end is seen on the socket"
    (second,) = processes(game, 1)
    assert second != first


def test_calls_of_a_tool_share_a_process(arena: Callable[..., Arena]) -> None:
    call = '<tool_call>{"name": "process", "arguments": {}}</tool_call>'
    for behaviour, limit, expected in (("pass", 64, 1), ("pass", 1, 3), ("threading.Event(); os.chdir('/')", 64, 3)):
        game = arena()
        game.tool("process", TOOL.replace("BEHAVIOUR", behaviour), calls_per_process=limit)
        output, _ = game.play([game.ended(call)] * 3 + [game.ended("done")])
        text = str(game.tokenizer.decode(output.response_ids))
        pids = [part.partition("<|im_end|>")[0].strip() for part in text.split("<|im_start|>t\n")[1:]]
        assert len(pids) == 3
        assert len(set(pids)) == expected, behaviour
        for host in client._hosts.values():
            host.close()
        client._hosts.clear()
