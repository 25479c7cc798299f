"""The rewards that come with orbiter-spec, copied beside `reward.py` into the compiled folder.

Standard library only. `numeric_match` wants math-verify, which is loaded in a helper process and nowhere else: a model
in training writes formulas such as 9**9**9**9, no thread can be stopped inside such a computation, and the alarm of
math-verify works in a main thread only. The helper is this file run as a program; it answers one JSON line per question
and is killed when an answer takes too long.

Each function takes the response and, where it compares, the expected value; its keyword arguments are those of the
table in `spec/builtin_rewards.py`. A function raises ValueError when it was asked for something that cannot be scored.
"""

from __future__ import annotations

import importlib.util
import json
import re
import string
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

HELPER_FLAG = "--math-helper"
START_SECONDS = 120.0

_PLAIN_NUMBER = re.compile(r"[-+]?(\d[\d,]*(\.\d*)?|\.\d+)")


def exact_match(response: str, expected: Any, *, marker: str = "", ignore_case: bool = False) -> float:
    """1.0 when the texts are equal after stripping white space."""
    ours, wanted = _after(marker, response), _after(marker, _text(expected))
    return float(ours.casefold() == wanted.casefold() if ignore_case else ours == wanted)


def numeric_match(
    response: str, expected: Any, *, tolerance: float = 0.0, marker: str = "", timeout_seconds: float = 5.0
) -> dict[str, float]:
    """`score` 1.0 when the final number or formula is the expected one; `timeout` 1.0 when it took too long to tell."""
    _require_math_verify()
    ours, wanted = _after(marker, response), _after(marker, _text(expected))
    if not wanted:
        raise ValueError("the expected value is empty")
    if not ours:
        return {"score": 0.0, "timeout": 0.0}
    first, second = _plain_number(ours), _plain_number(wanted)
    if first is not None and second is not None:
        return {"score": float(abs(first - second) <= tolerance), "timeout": 0.0}
    equal = _HELPER.equal(ours, wanted, tolerance, timeout_seconds)
    return {"score": float(bool(equal)), "timeout": float(equal is None)}


def regex(
    response: str, expected: Any, *, pattern: str, compare: bool = False, group: int = 0, ignore_case: bool = False
) -> float:
    """1.0 when the pattern is found, and with `compare` when the last match's group is the expected text."""
    expression = _compiled(pattern, ignore_case)
    if not 0 <= group <= expression.groups:
        raise ValueError(f"group is {group}, and the pattern has {expression.groups}")
    matches = list(expression.finditer(response))
    if not matches or not compare:
        return float(bool(matches))
    found, wanted = (matches[-1].group(group) or "").strip(), _text(expected).strip()
    return float(found.casefold() == wanted.casefold() if ignore_case else found == wanted)


def length_penalty(response: str, *, target: int, unit: str = "characters") -> float:
    """0.0 up to `target`, then linear to -1.0 at twice the target."""
    if target < 1:
        raise ValueError(f"target is {target}, and must be at least 1")
    length = len(response.split()) if _choice("unit", unit, ("characters", "words")) == "words" else len(response)
    return -min(1.0, max(0.0, (length - target) / target))


_KINDS: dict[str, Callable[[str], bool]] = {
    "digits": lambda character: "0" <= character <= "9",
    "letters": str.isalpha,
    "lowercase": str.islower,
    "uppercase": str.isupper,
    "punctuation": lambda character: character in string.punctuation,
    "whitespace": str.isspace,
}


def character_share(response: str, *, kind: str = "digits", custom: str = "") -> float:
    """Share of characters of one kind, from 0.0 to 1.0."""
    if _choice("kind", kind, (*_KINDS, "custom")) == "custom":
        if not custom:
            raise ValueError("kind is custom, and custom names no character")
        count = sum(character in custom for character in response)
    else:
        count = sum(map(_KINDS[kind], response))
    return count / len(response) if response else 0.0


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (exact_match, numeric_match, regex, length_penalty, character_share)
}


def _text(expected: Any) -> str:
    if expected is None:
        raise ValueError("the row has no expected value")
    return expected if isinstance(expected, str) else json.dumps(expected, ensure_ascii=False)


def _after(marker: str, text: str) -> str:
    return text.rpartition(marker)[2].strip() if marker else text.strip()


def _choice(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ValueError(f"{name} is {value!r}, and must be one of {', '.join(known)}")
    return value


@lru_cache(maxsize=1)
def _require_math_verify() -> None:
    if importlib.util.find_spec("math_verify") is None:
        raise ValueError("numeric_match needs math-verify, which is not installed: pip install math-verify")


@lru_cache(maxsize=64)
def _compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise ValueError(f"pattern {pattern!r} is no regular expression: {error}") from None


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
        command = [sys.executable, "-P", str(Path(__file__).resolve()), HELPER_FLAG]  # -P: no neighbour hides a module
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


def _help_with_math() -> None:
    """The helper process: answer questions from standard input until it is closed."""
    import logging
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers, sys.stdout = sys.stdout, sys.stderr
    logging.disable(logging.WARNING)
    import math_verify  # noqa: F401

    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer: dict[str, bool | str] = {"equal": True} if "ping" in question else {"equal": _equal(**question)}
        except Exception as error:  # the parent names the sample
            answer = {"error": f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _equal(response: str, expected: str, tolerance: float) -> bool:
    from math_verify import parse, verify

    bare_latex = "\\" in expected and "$" not in expected and "\\boxed" not in expected
    wanted = parse(f"${expected}$" if bare_latex else expected, parsing_timeout=None)
    if not wanted:
        raise ValueError(f"the expected value {expected[:80]!r} holds no number or formula")
    found = parse(response, parsing_timeout=None)
    if verify(wanted, found, timeout_seconds=None):
        return True
    return tolerance > 0 and any(_close(one, other, tolerance) for one in wanted for other in found)


def _close(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return False
    try:
        return abs(float(one) - float(other)) <= tolerance
    except (TypeError, ValueError, OverflowError):
        return False


if __name__ == "__main__" and HELPER_FLAG in sys.argv:
    _help_with_math()
