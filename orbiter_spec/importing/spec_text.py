"""The imported spec as a person would write it: sections in the order of the language, small mappings on one line.

A section becomes one line when it fits; quotes appear only where YAML 1.2 would read something else without them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from orbiter_spec.diagnostics import Diagnostic, Severity
from orbiter_spec.importing.settings import Settings

if TYPE_CHECKING:
    from orbiter_spec.importing.candidate import Candidate

WIDTH = 118
MODELINE = "# yaml-language-server: $schema=../schemas/experiment.schema.json"
ORDER = ("version", "name", "project", "seed", "agent", "dataset", "rewards", "algorithm", "hardware", "run", "verl")
PLAIN = re.compile(r"[A-Za-z_/~][\w./+-]*(?: [\w./+-]+)*\Z")
WORDS = {"true", "false", "null", "yes", "no", "on", "off", "~", ""}
FOLDED_KEYS = {
    "rewards": "scorer",
    "algorithm": "name",
    "agent.model": "path",
    "hardware.train": "engine",
    "hardware.rollout": "engine",
    "algorithm.kl": "apply",
    "algorithm.loss": "kind",
    "hardware.train.router_replay": "mode",
    "hardware.train.recompute": "granularity",
    "hardware.train.dist_checkpoint": "path",
}


def spec_text(
    candidate: Candidate, name: str, settled: Settings, off: Mapping[str, str], found: tuple[Diagnostic, ...]
) -> str:
    """The spec's text, with a comment wherever a person should look."""
    data = _fold(candidate.data(), "")
    lines = [MODELINE, *_header(name, settled, off, found)]
    for section in (*ORDER, *(key for key in data if key not in ORDER)):
        if section in data:
            lines += _section(section, data[section])
    return "\n".join(lines) + "\n"


def _header(name: str, settled: Settings, off: Mapping[str, str], found: tuple[Diagnostic, ...]) -> Iterator[str]:
    source = "standard input" if name == "-" else name.rpartition("/")[2]
    yield f"# Imported from {source}: {settled.count} settings, engine {settled.engine}."
    unused = sorted({role for prefix, role in off.items() if any(key.startswith(prefix) for key in settled.values)})
    if unused:
        yield f"# Settings of roles that this run does not have are left out: {', '.join(unused)}."
    for problem in found:
        if problem.severity is not Severity.NOTE:
            yield f"# Look here: {problem.message}"


def _fold(value: Any, route: str) -> Any:
    """Shorthands for sections that say one thing."""
    if not isinstance(value, dict):
        return value
    folded = {key: _fold(item, f"{route}.{key}" if route else key) for key, item in value.items()}
    word = FOLDED_KEYS.get(route)
    if word is not None and set(folded) == {word} and (route != "rewards" or folded[word] == "verl"):
        return folded[word]
    if route.endswith(".offload") and set(folded) == {"parameters", "optimizer"}:
        both = (folded["parameters"], folded["optimizer"])
        kinds = {(True, True): "all", (True, False): "parameters", (False, True): "optimizer", (False, False): "none"}
        return kinds.get(both, folded)
    return folded


def _section(key: str, value: Any, indent: int = 0, comment: str = "") -> Iterator[str]:
    pad = "  " * indent
    if key == "verl" and indent == 0:
        yield from _verl(value)
        return
    flat = f"{pad}{scalar(key)}: {inline(value)}"
    if not isinstance(value, dict) or not value or (indent and len(flat) <= WIDTH) or _is_small(flat, value):
        yield flat
        return
    yield f"{pad}{scalar(key)}:"
    for name, item in value.items():
        yield from _section(name, item, indent + 1)


def _is_small(line: str, value: dict[str, Any]) -> bool:
    return len(line) <= WIDTH and not any(isinstance(item, dict) for item in value.values())


def _verl(value: dict[str, Any]) -> Iterator[str]:
    yield "verl:"
    if value.get("version"):
        yield f"  version: {scalar(value['version'])}"
    if value.get("defaults"):
        yield "  defaults: true  # what is left out keeps verl's default, as in the script; without it, it is planned"
    overrides = value.get("overrides") or {}
    if overrides:
        yield "  overrides:  # what the language has no word for"
    for key, item in overrides.items():
        yield f"    {key}: {inline(item)}"


def inline(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    return scalar(value)


def scalar(value: Any) -> str:
    """A scalar of YAML 1.2."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if PLAIN.match(text) and text.lower() not in WORDS and not text.endswith(" "):
        return text
    return json.dumps(text, ensure_ascii=False)


def _number(value: float) -> str:
    text = repr(value)
    return text.replace("e-0", "e-").replace("e+0", "e+") if "e" in text else text
