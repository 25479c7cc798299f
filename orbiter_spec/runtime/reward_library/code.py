"""`code_tests`: a program out of a response, run against the tests of its row.

Tests are one of: `{"inputs": [...], "outputs": [...]}`, with `fn_name` when a function is called instead of the program
being fed; a list of `{"input": ..., "output": ...}`; a list of lines such as `assert f(1) == 2`; or a text of them.
Each test is a run of its own, here in `sandbox` or at the service that `rewards.sandbox` names. What is printed is
compared word by word. A test text counts as passed only when it was run to its end: leaving early is no way round it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import sandbox
from .errors import CallError
from .settings import Settings
from .texts import choice
from .watch import THREAD_POOL
from .web import Server, UnusableError

FENCE = re.compile(r"```[ \t]*([\w+#-]*)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
CALL = """
import json as _json
_call = globals().get({name!r}) or getattr(Solution(), {name!r})
print(_json.dumps(_call(*[_json.loads(_line) for _line in {arguments!r}.splitlines() if _line.strip()])))
"""
_turns: list[asyncio.Semaphore] = []
_servers: dict[str, Server] = {}


class Test(NamedTuple):
    """One run: text behind the program, what it is fed, and what it has to print (None: it has to reach its end)."""

    code: str
    stdin: str
    output: str | None


async def code_tests(
    response: str,
    row: Mapping[str, Any],
    settings: Settings,
    *,
    tests: str = "tests",
    score: str = "share",
    language: str = "python",
    timeout_seconds: float = 10.0,
    memory_megabytes: int = 512,
    limit: int = 32,
) -> dict[str, Any]:
    """`score` is the share of tests passed, or with `score: all` 1.0 when all are; no program passes none."""
    choice("score", score, ("share", "all"))
    cases = read_tests(row.get(tests), tests)[:limit]
    program = extract(response, language)
    if not program.strip():
        return {"score": 0.0, "passed": 0.0, "tests": float(len(cases)), "timeouts": 0.0}
    if settings.sandbox is None and language != "python":
        raise CallError(f"can run Python only on this machine; {language} needs rewards.sandbox")
    ran = [_one(program, case, settings, language, timeout_seconds, memory_megabytes) for case in cases]
    states = await asyncio.gather(*ran)
    passed = states.count("passed")
    share = passed / len(cases)
    return {
        "score": share if score == "share" else float(share == 1.0),
        "passed": float(passed),
        "tests": float(len(cases)),
        "timeouts": float(states.count("timeout")),
    }


def extract(response: str, language: str = "python") -> str:
    """The last fenced block in that language, else the last fenced block, else the whole response."""
    blocks = [(tag.lower(), code) for tag, code in FENCE.findall(response)]
    names = {"python": {"python", "py", "python3"}}.get(language, {language})
    own = [code for tag, code in blocks if tag in names]
    return own[-1] if own else blocks[-1][1] if blocks else response


def read_tests(value: Any, column: str) -> list[Test]:
    """The tests of a row. Raises ValueError when there are none, or their form is none of those above."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        value = json.loads(value)
    if isinstance(value, Mapping) and "inputs" in value and "outputs" in value:
        name = value.get("fn_name")
        pairs = zip(value["inputs"], value["outputs"], strict=True)
        found = [_called(name, *pair) if name else Test("", str(pair[0]), str(pair[1])) for pair in pairs]
    elif isinstance(value, str) and value.strip():
        found = [Test(value, "", None)]
    elif isinstance(value, Sequence) and not isinstance(value, str):
        found = [
            Test("", str(item["input"]), str(item["output"]))
            if isinstance(item, Mapping)
            else Test(str(item), "", None)
            for item in value
        ]
    else:
        found = []
    if not found:
        raise ValueError(f"the row has no tests in {column!r}")
    return found


def _called(name: str, arguments: Any, result: Any) -> Test:
    lines = arguments if isinstance(arguments, str) else "\n".join(json.dumps(item) for item in arguments)
    expected = result if isinstance(result, str) else json.dumps(result)
    return Test(CALL.format(name=name, arguments=lines), "", expected)


async def _one(program: str, case: Test, settings: Settings, language: str, seconds: float, megabytes: int) -> str:
    whole = f"{program}\n{case.code}" if case.code else program
    if settings.sandbox is not None:
        return await _at_service(whole, case, settings.sandbox, language, seconds)
    if not _turns:
        _check_confinement()
        _turns.append(asyncio.Semaphore(max(1, len(os.sched_getaffinity(0)))))
    async with _turns[0]:
        ran = await asyncio.wrap_future(
            THREAD_POOL.submit(
                lambda: sandbox.run(whole, case.stdin, seconds=seconds, memory_megabytes=megabytes),
                float("inf"),
                settings.folder,
                "code_tests",
            )
        )
    if ran.state == "timeout":
        return "timeout"
    if case.output is None:
        return "passed" if ran.proof else "failed"
    return "passed" if ran.state == "finished" and same(ran.stdout, case.output) else "failed"


def same(printed: str, expected: str) -> bool:
    """Equal word by word; JSON that is equal as values counts as well."""
    if printed.split() == expected.split():
        return True
    try:
        return bool(json.loads(printed) == json.loads(expected))
    except ValueError:
        return False


def _check_confinement() -> None:
    found = sandbox.confinement()
    if not found["runs"]:
        raise CallError("cannot run programs on this machine; name a service in rewards.sandbox")
    open_ones = [name for name in ("network", "files") if not found[name]]
    if open_ones:
        print(
            f"orbiter-spec: programs of code_tests reach the {' and '.join(open_ones)} of this machine", file=sys.stderr
        )


async def _at_service(whole: str, case: Test, declared: Mapping[str, Any], language: str, seconds: float) -> str:
    """One run at Sandbox Fusion's run_code; a service that fails is an error, never a failed test."""
    url = declared["url"]
    if url not in _servers:
        _servers[url] = Server("code_tests", int(declared.get("concurrent") or 64), 2 * seconds + 30, tries=4)
    word = os.urandom(8).hex() if case.output is None else ""
    body = {
        "code": f"{whole}\nprint({word!r})" if word else whole,
        "stdin": case.stdin,
        "language": language,
        "compile_timeout": seconds,
        "run_timeout": seconds,
        "memory_limit_MB": int(declared.get("memory_megabytes") or 1024),
    }
    result = (await _servers[url].ask(url, body, _service_result)).value
    if result.get("status") == "TimeLimitExceeded":
        return "timeout"
    printed = str(result.get("stdout") or "")
    if result.get("status") != "Finished" or result.get("return_code") != 0:
        return "failed"
    return "passed" if (word in printed if word else same(printed, str(case.output))) else "failed"


def _service_result(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, Mapping) or answer.get("status") not in ("Success", "Failed"):
        raise UnusableError(f"the sandbox says {str(answer)[:120]}")
    result = answer.get("run_result") or answer.get("compile_result") or {}
    return dict(result)
