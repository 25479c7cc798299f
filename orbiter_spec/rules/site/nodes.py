"""Findings about nodes, told once for all nodes that are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from orbiter_spec.rules.site.protocol import Node, Site

SHOWN = 4
T = TypeVar("T")


def alike(site: Site, ask: Callable[[Node], tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each answer that is not empty, with the nodes that gave it."""
    yield from _grouped((ask(node), node.address) for node in site.nodes if ask(node))


def each(site: Site, ask: Callable[[Node], Sequence[tuple[str, str]]]) -> Iterator[tuple[tuple[str, str], str]]:
    """Each pair of all the answers, with the nodes that gave it."""
    yield from _grouped((pair, node.address) for node in site.nodes for pair in ask(node))


def _grouped(pairs: Iterator[tuple[T, str]]) -> Iterator[tuple[T, str]]:
    found: dict[T, list[str]] = {}
    for answer, address in pairs:
        found.setdefault(answer, []).append(address)
    for answer, addresses in found.items():
        more = len(addresses) - SHOWN
        yield answer, ", ".join(addresses[:SHOWN]) + (f" and {more} more" if more > 0 else "")
