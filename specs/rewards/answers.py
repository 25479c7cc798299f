"""Rewards of the example specs for answers between tags."""

from __future__ import annotations

import re


def tagged_answer(response: str, expected: str) -> float:
    """1 when the last <answer> holds the expected text and nothing else."""
    found = re.findall(r"<answer>(.*?)</answer>", response, re.DOTALL)
    return float(bool(found) and found[-1].strip() == expected.strip())


def says_something(response: str) -> float:
    """1 for a step with a number or three words, else 0.5; it is called for each line of the response."""
    return 1.0 if re.search(r"\d", response) or len(response.split()) >= 3 else 0.5
