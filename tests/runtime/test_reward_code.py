"""Programs of a model: run, confined, and counted as passed only when they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.runtime.reward_library import sandbox
from orbiter_spec.runtime.reward_library.code import extract, read_tests, same
from tests.runtime.compiled_rewards import builtin, compiled_rewards, score
from tests.runtime.judge_server import Handler, judging

STDIN = {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7"]}
ADD = "Sure:\n```python\na, b = map(int, input().split())\nprint(a + b)\n```\n"
DEFINES = "```python\ndef add(a, b):\n    return a + b\n```"


def row(tests: Any) -> dict[str, Any]:
    return {"fields": json.dumps({"tests": tests}), "source": "a.jsonl", "row": 1, "split": "train", "index": 0}


@pytest.mark.parametrize(
    ("response", "tests", "value", "passed"),
    [
        (ADD, STDIN, 1.0, 2.0),
        (ADD, json.dumps(STDIN), 1.0, 2.0),
        (ADD, [{"input": "1 2", "output": "3"}, {"input": "1 2", "output": "4"}], 0.5, 1.0),
        (DEFINES, ["assert add(1, 2) == 3", "assert add(1, 2) == 4"], 0.5, 1.0),
        (DEFINES, "assert add(2, 2) == 4\nassert add(0, 0) == 0\n", 1.0, 1.0),
        (DEFINES, {"inputs": [[1, 2], "3\n4"], "outputs": [3, "7"], "fn_name": "add"}, 1.0, 2.0),
        (
            "```python\nclass Solution:\n    def add(self, a, b): return a + b\n```",
            {"inputs": [[1, 2]], "outputs": [3], "fn_name": "add"},
            1.0,
            1.0,
        ),
        ("import sys\nsys.exit(0)", ["assert False"], 0.0, 0.0),
        ("import os\nos._exit(0)", ["assert False"], 0.0, 0.0),
        ("import atexit\natexit.register(lambda: None)\nraise SystemExit", ["assert False"], 0.0, 0.0),
        ("print(3)\nraise ValueError", [{"input": "", "output": "3"}], 0.0, 0.0),
        ("no program at all, sorry!", STDIN, 0.0, 0.0),
        ("", STDIN, 0.0, 0.0),
    ],
)
def test_programs_are_scored_by_their_tests(
    tmp_path: Path, response: str, tests: Any, value: float, passed: float
) -> None:
    module = compiled_rewards(tmp_path, [builtin("code_tests")])
    result = score(module, response, None, **row(tests))
    assert (result["code_tests"], result["code_tests/passed"]) == (value, passed)


def test_all_or_nothing_and_a_time_limit(tmp_path: Path) -> None:
    args = {"score": "all", "timeout_seconds": 1.0}
    module = compiled_rewards(tmp_path, [builtin("code_tests", args=args)])
    tests = [{"input": "0", "output": "0"}, {"input": "1", "output": "1"}]
    result = score(module, "n = int(input())\nwhile n: pass\nprint(n)", None, **row(tests))
    assert (result["code_tests"], result["code_tests/passed"], result["code_tests/timeouts"]) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("tests", [None, [], "", {"inputs": []}])
def test_a_row_without_tests_is_an_error(tmp_path: Path, tests: Any) -> None:
    module = compiled_rewards(tmp_path, [builtin("code_tests")])
    with pytest.raises(RuntimeError, match="the row has no tests in 'tests'"):
        score(module, ADD, None, **row(tests))


CONFINED: list[tuple[str, str]] = [
    ("import socket; socket.create_connection(('127.0.0.1', 1), 1)", "network"),
    ("open('/etc/passwd')", "files"),
    ("open('/tmp/orbiter-escape-of-test', 'w')", "files"),
    ("import os; os.kill(os.getppid(), 0) if os.getppid() > 1 else 1 / 0", "network"),
]


@pytest.mark.parametrize(("program", "need"), CONFINED)
def test_programs_are_confined(program: str, need: str) -> None:
    if not sandbox.confinement()[need]:
        pytest.skip(f"this machine does not let a program close its {need}")
    ran = sandbox.run(program)
    assert ran.state == "failed"
    assert not ran.proof


@pytest.mark.parametrize(
    ("program", "state"),
    [
        ("x = bytearray(2 * 10**9)", "failed"),
        ("open('big', 'wb').write(bytes(10**8))", "failed"),
        ("print('x' * 10**8)", "failed"),
        ("import time; time.sleep(60)", "timeout"),
        ("while True: pass", "timeout"),
        ("import ctypes; ctypes.string_at(0)", "killed"),
        ("import os\nif os.fork() == 0:\n    os.setsid()\n    while True: pass\n", "finished"),
    ],
)
def test_programs_are_limited(program: str, state: str) -> None:
    ran = sandbox.run(program, seconds=2.0, memory_megabytes=256)
    assert ran.state == state
    assert len(ran.stdout) <= sandbox.OUTPUT_BYTES
    assert ran.seconds < 20


def test_the_environment_of_the_run_is_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY_OF_TEST", "sk-secret")
    ran = sandbox.run("import os; print(dict(os.environ))")
    assert ran.proof
    assert "sk-secret" not in ran.stdout


@pytest.mark.parametrize(
    ("response", "program"),
    [
        ("a\n```python\nx\n```\nb\n```bash\nls\n```", "x\n"),
        ("```\ny\n```", "y\n"),
        ("```python\nfirst\n```\n```py\nsecond\n```", "second\n"),
        ("```python\ncut off", "cut off"),
        ("plain", "plain"),
    ],
)
def test_the_program_is_the_last_fenced_block(response: str, program: str) -> None:
    assert extract(response) == program


def test_outputs_are_compared_word_by_word_and_as_json() -> None:
    assert same("1  2\n3\n", "1 2 3")
    assert same("[1,2]", "[1, 2]")
    assert not same("1 2", "1 3")
    assert len(read_tests("assert True", "tests")) == 1


def service(result: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[BaseHTTPRequestHandler], None]:
    def behave(handler: Handler) -> None:
        handler.reply(200, json.dumps(result(handler.body)).encode())

    return behave  # type: ignore[return-value]


def test_a_sandbox_service_runs_the_tests_and_its_failure_is_no_zero(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")

    def finished(body: dict[str, Any]) -> dict[str, Any]:
        a, b = map(int, body["stdin"].split())
        result = {"status": "Finished", "return_code": 0, "stdout": f"{a + b}\n", "stderr": ""}
        return {"status": "Success", "run_result": result}

    with judging(service(finished)) as server:
        url = f"http://127.0.0.1:{server.server_port}/run_code"
        module = compiled_rewards(tmp_path, [builtin("code_tests")], sandbox={"url": url, "memory_megabytes": 99})
        assert score(module, ADD, None, **row(STDIN))["code_tests"] == 1.0
        sent = server.requests[0]["body"]
        assert (sent["language"], sent["memory_limit_MB"]) == ("python", 99)
        assert "print(a + b)" in sent["code"]
    with judging(service(lambda body: {"status": "SandboxError", "message": "no room"})) as server:
        url = f"http://127.0.0.1:{server.server_port}/run_code"
        module = compiled_rewards(tmp_path, [builtin("code_tests")], sandbox={"url": url})
        with pytest.raises(RuntimeError, match=r"after 4 tries: the sandbox says .*no room"):
            score(module, ADD, None, **row(STDIN))
