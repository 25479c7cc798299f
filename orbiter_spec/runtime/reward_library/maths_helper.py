"""The process behind `numeric_match`: a program that alone loads math-verify and answers one JSON line a question.

Nothing of the library is imported here: it is started with this file's path.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
from typing import Any


def main() -> None:
    """Answer questions from standard input until it is closed."""
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


if __name__ == "__main__":
    main()
