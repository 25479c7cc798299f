"""A verl release as data: what `orbiter_spec.devtools.catalogue` read from the package, loaded when asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from orbiter_spec.diagnostics import nearest
from orbiter_spec.lower.interpolation import Resolver
from orbiter_spec.lower.tree import Tree, copy_tree

FOLDER = Path(__file__).parent / "targets"
TARGET_VERSIONS = ("0.8.0", "0.9.0", "0.9.1")


@cache
def load_target(version: str = "0.9.1") -> Target:
    """The catalogue of one release; KeyError when there is none."""
    if version not in TARGET_VERSIONS:
        raise KeyError(version)
    return Target(version)


@dataclass(frozen=True)
class KeyInfo:
    """What is known about one key under one engine; `type` is verl's annotation, where a dataclass has the key."""

    default: Any
    doc: str = ""
    type: str = ""
    engines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """One verl release. Keys are dotted; an engine is a value of verl's root key `model_engine`."""

    version: str

    def tree(self, engine: str) -> Tree:
        """The composed configuration before any setting, interpolations as strings: a fresh copy."""
        copied: Tree = copy_tree(self.shared_tree(engine))
        return copied

    def shared_tree(self, engine: str) -> Tree:
        """The same without the copy: not to be changed."""
        return _tree(self.version, engine)

    def has(self, engine: str, key: str) -> bool:
        """Whether verl's YAML has `key`, be it a section or a leaf."""
        node: Any = self.shared_tree(engine)
        for part in key.split("."):
            if type(node) is not dict or part not in node:
                return False
            node = node[part]
        return True

    def accepts(self, engine: str, key: str) -> bool:
        """Whether verl takes `key`, in its YAML or beyond it."""
        return key.split(".")[0] in self.shared_tree(engine)

    def _resolved(self, engine: str) -> Tree:
        return _defaults(self.version, engine)

    def default(self, engine: str, key: str) -> Any:
        """The resolved default of `key`; KeyError when verl's YAML has no such key."""
        return copy_tree(_at(self._resolved(engine), key))

    def keys(self, engine: str) -> tuple[str, ...]:
        """Every leaf in the YAML's order; an empty section is a leaf."""
        return _leaves(self.version, engine)


def _at(tree: Tree, key: str) -> Any:
    node: Any = tree
    for part in key.split("."):
        if type(node) is not dict or part not in node:
            raise KeyError(key)
        node = node[part]
    return node


@cache
def _tree(version: str, engine: str) -> Tree:
    path = FOLDER / version / f"{engine}.json"
    if not path.is_file():
        raise KeyError(engine)
    tree: Tree = json.loads(path.read_text(encoding="utf-8"))
    return tree


@cache
def _defaults(version: str, engine: str) -> Tree:
    return Resolver(_tree(version, engine)).whole()


@cache
def _leaves(version: str, engine: str) -> tuple[str, ...]:
    def walk(node: Tree, prefix: str) -> Iterator[str]:
        for key, value in node.items():
            if type(value) is dict and value:
                yield from walk(value, f"{prefix}{key}.")
            else:
                yield prefix + key

    return tuple(walk(_tree(version, engine), ""))
