"""The comments above verl's YAML keys, put together along Hydra's defaults list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

_NOISE = re.compile(r"Required when using verl\.utils|TODO|Target (?:data)?class for this|@package", re.IGNORECASE)
_TRAILING = re.compile(r"\s#\s*(.+)$")


def comments(files: Iterable[tuple[Path, str]]) -> dict[str, str]:
    """Dotted key to comment for composed `files`, each with the package it goes to; a later file's comment wins."""
    found: dict[str, str] = {}
    for path, package in files:
        text = path.read_text(encoding="utf-8")
        node = YAML(typ="rt", pure=True).compose(text)
        prefix = "" if package in ("", "_global_") else f"{package}."
        for key, comment in _walk(node, text.split("\n"), prefix):
            if comment or key not in found:
                found[key] = comment
    return {key: comment for key, comment in sorted(found.items()) if comment}


def _walk(node: Any, lines: list[str], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in node.value if hasattr(node, "value") and isinstance(node.value, list) else ():
        if not isinstance(key, tuple) and key.value not in ("defaults", "_target_"):
            yield prefix + key.value, _comment(lines, key.start_mark.line)
            if value.id == "mapping":
                yield from _walk(value, lines, f"{prefix}{key.value}.")


def _comment(lines: list[str], line: int) -> str:
    above: list[str] = []
    while line - len(above) > 0 and lines[line - len(above) - 1].lstrip().startswith("#"):
        above.insert(0, lines[line - len(above) - 1])
    beside = _TRAILING.search(lines[line])
    words = [re.sub(r"^\s*#+ ?", "", text).rstrip() for text in above] + ([beside[1].strip()] if beside else [])
    return "\n".join(word for word in words if word.strip() and not _NOISE.search(word))
