"""A verl release as data: what `orbiter_spec.devtools.catalogue` read from the package.

Three kinds of file, each loaded when first asked for: the composed tree of an engine (1 ms), the facts beyond it (1 ms,
for keys that verl's YAML does not have), and comments and types (4 ms, for `explain`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any

from orbiter_spec.diagnostics import nearest
from orbiter_spec.lower.interpolation import Resolver
from orbiter_spec.lower.tree import Tree, copy_tree

EVERYWHERE = {"enable", "enabled", "name", "path", "mode", "type", "backend", "strategy"}
FOLDER = Path(__file__).parent / "targets"
TARGET_VERSIONS = ("0.8.0", "0.9.0", "0.9.1")


@cache
def load_target(version: str = "0.9.1") -> Target:
    """The catalogue of one release; KeyError when there is none."""
    if version not in TARGET_VERSIONS:
        raise KeyError(version)
    return Target(version)


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """What is known about a key under one engine.

    `default` is resolved, and None for a key beyond verl's YAML; `code_default` is then the text of the dataclass's
    default. `doc` is verl's comment, `type` its annotation; both are empty where verl has none. `engines` are those
    that take the key.
    """

    default: Any
    doc: str
    type: str
    engines: tuple[str, ...]
    in_yaml: bool
    code_default: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """One verl release. Keys are dotted; an engine is a value of verl's root key `model_engine`.

    `folder` holds the catalogues, one folder a release.
    Every method raises KeyError for an engine that the release does not have.
    """

    version: str
    folder: Path = FOLDER

    @property
    def engines(self) -> tuple[str, ...]:
        """The values of `model_engine`, sorted."""
        return tuple(_facts(self)["engines"])

    def tree(self, engine: str) -> Tree:
        """The composed configuration before any setting, interpolations as strings: a fresh copy."""
        copied: Tree = copy_tree(self.shared_tree(engine))
        return copied

    def shared_tree(self, engine: str) -> Tree:
        """The same without the copy: not to be changed."""
        return _tree(self, engine)

    def has(self, engine: str, key: str) -> bool:
        """Whether verl's YAML has `key`, be it a section or a leaf."""
        node: Any = self.shared_tree(engine)
        for part in key.split("."):
            if type(node) is not dict or part not in node:
                return False
            node = node[part]
        return True

    def accepts(self, engine: str, key: str) -> bool:
        """Whether verl takes `key`: in its YAML, a field of a dataclass, read by its code, or handed on whole."""
        return self.has(engine, key) or _beyond(self, engine, key) is not None or self._is_free(engine, key)

    def default(self, engine: str, key: str) -> Any:
        """The resolved default of `key`; KeyError when verl's YAML has no such key."""
        node: Any = _defaults(self, engine)
        for part in key.split("."):
            if type(node) is not dict or part not in node:
                raise KeyError(key)
            node = node[part]
        return copy_tree(node)

    def describe(self, engine: str, key: str) -> KeyInfo:
        """Everything about `key`; KeyError when verl does not take it under `engine`."""
        if not self.accepts(engine, key):
            raise KeyError(key)
        in_yaml = self.has(engine, key)
        described = _keys(self)
        return KeyInfo(
            default=self.default(engine, key) if in_yaml else None,
            doc=_said(described["docs"], engine, key),
            type=_said(described["types"], engine, key),
            engines=tuple(other for other in self.engines if self.accepts(other, key)),
            in_yaml=in_yaml,
            code_default="" if in_yaml else _beyond(self, engine, key) or "",
        )

    def keys(self, engine: str) -> tuple[str, ...]:
        """Every leaf in the YAML's order; an empty section is a leaf."""
        return _leaves(self, engine)

    def registry(self, name: str) -> tuple[str, ...]:
        """The names in one of verl's registries, such as `policy_losses`; KeyError lists the registries."""
        registries = _facts(self)["registries"]
        if name not in registries:
            raise KeyError(f"{name}: not one of {', '.join(registries)}")
        return tuple(registries[name])

    def registries(self) -> tuple[str, ...]:
        """The names of verl's registries."""
        return tuple(_facts(self)["registries"])

    def nearest(self, engine: str, key: str) -> str | None:
        """The known key that `key` was most likely meant as, or None.

        A misspelt name beside its siblings comes first, then the same name elsewhere, nearest in the tree; last a key
        whose parts are all spelt alike. Names such as `enable` stand everywhere and say nothing by themselves.
        """
        section, _, last = key.rpartition(".")
        known = [*self.keys(engine), *_beyond_keys(self, engine)]
        siblings = {other.rpartition(".")[2]: other for other in known if other.rpartition(".")[0] == section}
        if (spelt := nearest(last, siblings)) is not None:
            return siblings[spelt]
        moved = [other for other in known if other.rpartition(".")[2] == last and last not in EVERYWHERE]
        if moved:
            close = max(moved, key=lambda other: _shared_parts(other, key))
            if _shared_parts(close, key)[0] or not section:
                return close
        alike = [other for other in known if other.count(".") == key.count(".")]
        return nearest(key, [other for other in alike if all(map(_alike, other.split("."), key.split(".")))])

    def _is_free(self, engine: str, key: str) -> bool:
        """Whether `key` is a mapping whose names are the user's, or stands below one."""
        free = _free(self, engine)
        parts = key.split(".")
        return any(".".join(parts[:end]) in free for end in range(1, len(parts) + 1))


def _shared_parts(one: str, other: str) -> tuple[int, float]:
    """How many leading names two keys share, and how alike their texts are."""
    pairs = list(zip(one.split("."), other.split("."), strict=False))
    same = next((index for index, (left, right) in enumerate(pairs) if left != right), len(pairs))
    return same, SequenceMatcher(None, one, other).ratio()


def _alike(one: str, other: str) -> bool:
    return one == other or nearest(one, [other]) is not None


def _load(target: Target, name: str) -> Any:
    path = target.folder / target.version / f"{name}.json"
    if not path.is_file():
        raise KeyError(name)
    return json.loads(path.read_text(encoding="utf-8"))


@cache
def _facts(target: Target) -> dict[str, Any]:
    facts: dict[str, Any] = _load(target, "facts")
    return facts


@cache
def _keys(target: Target) -> dict[str, Any]:
    keys: dict[str, Any] = _load(target, "keys")
    return keys


@cache
def _tree(target: Target, engine: str) -> Tree:
    if not engine.isidentifier() or engine in ("facts", "keys"):
        raise KeyError(engine)
    tree: Tree = _load(target, engine)
    return tree


@cache
def _defaults(target: Target, engine: str) -> Tree:
    return Resolver(_tree(target, engine)).whole()


@cache
def _free(target: Target, engine: str) -> frozenset[str]:
    return frozenset(_facts(target)["free"][engine])


def _beyond(target: Target, engine: str, key: str) -> str | None:
    """The text of the default of a key beyond the YAML, or None when it is no such key."""
    said = _facts(target)["beyond"].get(key)
    found: str | None = said.get(engine) if isinstance(said, dict) else said
    return found


@cache
def _beyond_keys(target: Target, engine: str) -> tuple[str, ...]:
    return tuple(key for key in _facts(target)["beyond"] if _beyond(target, engine, key) is not None)


def _said(table: dict[str, Any], engine: str, key: str) -> str:
    """What a table of texts, some by engine, says about `key`."""
    said = table.get(key, "")
    return str(said.get(engine, "") if isinstance(said, dict) else said)


@cache
def _leaves(target: Target, engine: str) -> tuple[str, ...]:
    def walk(node: Tree, prefix: str) -> Iterator[str]:
        for key, value in node.items():
            if type(value) is dict and value:
                yield from walk(value, f"{prefix}{key}.")
            else:
                yield prefix + key

    return tuple(walk(_tree(target, engine), ""))
