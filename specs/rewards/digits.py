"""Rewards of the example specs: small, readable, deterministic."""

from __future__ import annotations


def digit_share(response: str) -> float:
    """Share of characters that are digits, 0 for an empty answer."""
    return sum(character.isdigit() for character in response) / len(response) if response else 0.0


def contains_answer(response: str, expected: str) -> float:
    """1 when the expected answer occurs in the response."""
    return float(bool(expected) and expected in response)
