"""Processes of the user's code are used again, as long as nothing but the modules' globals is left in them."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable

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
