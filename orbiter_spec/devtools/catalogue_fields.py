"""What verl takes for each key: types from the dataclasses behind `_target_`, and keys that its YAML leaves out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orbiter_spec.devtools.catalogue_classes import Field, Sources, takes_mapping

# Handed on whole to something that is not verl: ray.init, a user's function or class, several teachers by name.
_FREE = (
    "ray_kwargs.ray_init",
    "reward.custom_reward_function.reward_kwargs",
    "reward.reward_kwargs",
    "reward_model.reward_kwargs",
    "distillation.teacher_models",
)
_READ = re.compile(r"(?:config|cfg)\.((?:\w+\.)+)get\(\s*[\"'](\w+)[\"']")
# Files in which a section is called `config` alone.
_SECTION_FILES = {"utils/dataset/rl_dataset.py": "data"}
_SECTION_READ = re.compile(r"(?<![\w.])config\.get\(\s*[\"'](\w+)[\"']")
_DEPTH = 3


@dataclass
class Fields:
    """By key: the annotation, what the docstring says, the text of a default beyond the YAML; and the free mappings."""

    types: dict[str, str] = field(default_factory=dict)
    docs: dict[str, str] = field(default_factory=dict)
    beyond: dict[str, str] = field(default_factory=dict)
    free: set[str] = field(default_factory=set)


def read_fields(package: Path, tree: dict[str, Any]) -> Fields:
    """Everything about the keys of one engine's tree."""
    fields, sources = Fields(), Sources(package)
    _section(tree, "", None, sources, fields)
    for key in _read_in_source(package, tree):
        fields.beyond.setdefault(key, "")
    fields.free.update(key for key in _FREE if key.split(".")[0] in tree)
    return fields


def _section(node: dict[str, Any], prefix: str, dotted: str | None, sources: Sources, fields: Fields) -> None:
    known = sources.fields(str(node.get("_target_") or dotted or ""))
    for name, found in known.items():
        _note(prefix + name, found, fields)
        value = node.get(name)
        if isinstance(value, dict) and takes_mapping(found.type):
            fields.free.add(prefix + name)
        if not isinstance(value, dict):
            _beyond(prefix + name, found, sources, fields, present=name in node)
    for name, value in node.items():
        if value == {}:
            fields.free.add(prefix + name)
        elif isinstance(value, dict):
            nested = sources.nested(known[name]) if name in known else None
            _section(value, f"{prefix}{name}.", nested, sources, fields)


def _beyond(key: str, found: Field, sources: Sources, fields: Fields, *, present: bool, depth: int = 0) -> None:
    """A field that the YAML leaves out, or below which it says nothing, with what is below it."""
    if not present:
        fields.beyond[key] = found.default
    if takes_mapping(found.type):
        fields.free.add(key)
    nested = sources.nested(found)
    for name, inner in sources.fields(nested).items() if nested and depth < _DEPTH else ():
        _note(f"{key}.{name}", inner, fields)
        _beyond(f"{key}.{name}", inner, sources, fields, present=False, depth=depth + 1)


def _note(key: str, found: Field, fields: Fields) -> None:
    fields.types[key] = found.type
    if found.doc:
        fields.docs[key] = found.doc


def _read_in_source(package: Path, tree: dict[str, Any]) -> list[str]:
    """Keys that verl reads with `config.section.get("key")` and that its YAML does not have."""
    found: set[str] = set()
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found.update(f"{chain}{name}" for chain, name in _READ.findall(text))
        if section := _SECTION_FILES.get(path.relative_to(package).as_posix()):
            found.update(f"{section}.{name}" for name in _SECTION_READ.findall(text))
    return sorted(key for key in found if _missing_leaf(tree, key))


def _missing_leaf(tree: Any, key: str) -> bool:
    *parents, last = key.split(".")
    for part in parents:
        tree = tree.get(part) if isinstance(tree, dict) else None
    return isinstance(tree, dict) and last not in tree
