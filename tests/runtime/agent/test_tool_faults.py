"""Whatever a tool does, the model is shown it in a line, the log names file and line, and nothing waits for ever."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from orbiter_spec.runtime.agent.client import UserCodeError
from tests.runtime.agent.conftest import Arena

TOOL = '''
def work(how: str) -> str:
    """Work.

    Args:
        how: Which way.
    """
    import os, sys, json
BODY
'''
CALL = '<tool_call>{"name": "work", "arguments": {"how": "well"}}</tool_call>'
FAULTS = {
    "an exception": ("    raise ConnectionError('no line')", "raised ConnectionError: no line", "line 9 in work"),
    "below the call": ("    return json.loads('{')", "raised JSONDecodeError", "line 9 in work"),
    "an endless loop": ("    while True:\n        pass", "gave no answer within 1 s", r"line (9|10) in work"),
    "sys.exit": ("    sys.exit(3)", "called sys.exit(3)", "line 9 in work"),
    "os._exit": ("    os._exit(7)", "ended its process (exit code 7)", ""),
    "a crash": ("    os.kill(os.getpid(), 11)", "ended its process (exit code -11)", ""),
    "a memory hog": (
        "    hog = []\n    while True:\n        hog.append(bytearray(2**24))",
        "ran out of the memory it may use",
        "line 11 in work",
    ),
}


def limit(fault: str) -> float:
    return 1 if "loop" in fault else 15


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_shown_to_the_model_and_named_in_the_log(
    arena: Callable[..., Arena], fault: str, capfd: pytest.CaptureFixture[str]
) -> None:
    body, said, where = FAULTS[fault]
    game = arena()
    game.tool("work", TOOL.replace("BODY", body), timeout_seconds=limit(fault), memory_megabytes=256)
    began = time.monotonic()
    output, _ = game.play([game.ended(CALL), game.ended("sorry")])
    assert time.monotonic() - began < 40
    assert said in str(game.tokenizer.decode(output.response_ids))
    assert output.extra_fields["episode"]["tool_failures"] == 1
    printed = capfd.readouterr().err
    assert f"tool work {said}" in printed
    assert not where or re.search(rf"\(tools\.py {where}\)", printed), printed


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_the_run_where_the_spec_says_so(arena: Callable[..., Arena], fault: str) -> None:
    body, said, where = FAULTS[fault]
    game = arena()
    game.tool("work", TOOL.replace("BODY", body), timeout_seconds=limit(fault), memory_megabytes=256, on_error="stop")
    place = rf".*\(tools\.py {where}\)" if where else ""
    with pytest.raises(UserCodeError, match=f"tool work {re.escape(said)}{place}"):
        game.play([game.ended(CALL)])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import json\nraise OSError('no disk')\n", r"work cannot be imported: it raised OSError.*tools\.py line 2"),
        ("import sys\nsys.exit(3)\n", r"work cannot be imported: it called sys\.exit\(3\) \(tools\.py line 2"),
        ("def work(:\n", r"work cannot be imported: it is not valid Python: .*\(tools\.py line 1\)"),
        ("def other(): ...\n", r"work cannot be imported: .*code/tools\.py has no work"),
        ("while True: pass\n", "was not imported within 1 s"),
    ],
)
def test_a_file_that_cannot_be_imported_is_named_with_its_line(
    arena: Callable[..., Arena], code: str, message: str
) -> None:
    game = arena()
    game.tool("work", code)
    game.settings["host"]["start_seconds"] = 1 if "while" in code else 60
    with pytest.raises(UserCodeError, match=message):
        game.loop(None)


def test_a_flood_of_text_is_cut_and_named(arena: Callable[..., Arena], capfd: pytest.CaptureFixture[str]) -> None:
    game = arena()
    game.tool(
        "work", TOOL.replace("BODY", "    for _ in range(100):\n        print('x' * 10**6)\n    return 'y' * 10**7")
    )
    output, _ = game.play([game.ended(CALL), game.ended("done")])
    printed = "".join(capfd.readouterr())
    assert "orbiter-spec: tools.py line 10 in work prints more than is kept" in printed
    assert len(printed) < 5000
    assert "...(truncated)..." in str(game.tokenizer.decode(output.response_ids))
    assert output.extra_fields["episode"]["tool_failures"] == 0
