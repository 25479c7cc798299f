"""`numeric_match`: numbers and formulas compared by math-verify.

math-verify is loaded in a helper process and nowhere else: a model in training writes formulas such as 9**9**9**9, no
thread can be stopped inside such a computation, and the alarm of math-verify works in a main thread only. The helper is
`maths_helper.py` run as a program; it answers one JSON line per question and is killed when an answer takes too long.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from .texts import after, text

HELPER = Path(__file__).resolve().with_name("maths_helper.py")
START_SECONDS = 120.0

_PLAIN_NUMBER = re.compile(r"[-+]?(\d[\d,]*(\.\d*)?|\.\d+)")


def numeric_match(
    response: str, expected: Any, *, tolerance: float = 0.0, marker: str = "", timeout_seconds: float = 5.0
) -> dict[str, float]:
    """`score` 1.0 when the final number or formula is the expected one; `timeout` 1.0 when it took too long to tell."""
    _require_math_verify()
    ours, wanted = after(marker, response), after(marker, text(expected))
    if not wanted:
        raise ValueError("the expected value is empty")
    if not ours:
        return {"score": 0.0, "timeout": 0.0}
    first, second = _plain_number(ours), _plain_number(wanted)
    if first is not None and second is not None:
        return {"score": float(abs(first - second) <= tolerance), "timeout": 0.0}
    equal = _HELPER.equal(ours, wanted, tolerance, timeout_seconds)
    return {"score": float(bool(equal)), "timeout": float(equal is None)}


@lru_cache(maxsize=1)
def _require_math_verify() -> None:
    if importlib.util.find_spec("math_verify") is None:
        raise ValueError("numeric_match needs math-verify, which is not installed: pip install math-verify")


def _plain_number(text: str) -> float | None:
    return float(text.replace(",", "")) if _PLAIN_NUMBER.fullmatch(text) else None


class _MathHelper:
    """The process that holds math-verify; started by the first question, one question at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def equal(self, response: str, expected: str, tolerance: float, timeout_seconds: float) -> bool | None:
        """Whether the two are equal; None when the helper was stopped because it took too long."""
        question = {"response": response, "expected": expected, "tolerance": tolerance}
        with self._lock:
            process = self._process = self._process or self._start()
            answer = self._ask(process, json.dumps(question), timeout_seconds)
            if answer is None:
                self._process = None
                return None
        if "error" in answer:
            raise ValueError(answer["error"])
        return bool(answer["equal"])

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-P", str(HELPER)]  # -P: no neighbour hides a module
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8", errors="replace")
        if self._ask(process, json.dumps({"ping": True}), START_SECONDS) is None:
            raise RuntimeError("the helper process of numeric_match did not start; its error is above")
        return process

    @staticmethod
    def _ask(process: subprocess.Popen[str], question: str, timeout_seconds: float) -> dict[str, Any] | None:
        """One line each way. Killing the process is what ends the wait, so a lost helper reads as no answer."""
        assert process.stdin is not None
        assert process.stdout is not None
        alarm = threading.Timer(timeout_seconds, process.kill)
        alarm.start()
        try:
            process.stdin.write(question + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        finally:
            alarm.cancel()
        if not line.endswith("\n"):
            process.kill()
            process.wait()
            return None
        answer: dict[str, Any] = json.loads(line)
        return answer


_HELPER = _MathHelper()
