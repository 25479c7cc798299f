"""verl's dataclasses read from source, because importing them needs torch and the release itself installed."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_ARGUMENT = re.compile(r"^\s+`{0,2}(\w+)`{0,2}\s*\([^)]*\)\s*:\s*(.+)$", re.MULTILINE)
_MAPPINGS = {"dict", "Dict", "Mapping", "Any", "DictConfig"}


@dataclass(frozen=True)
class Field:
    """One field: its annotation as written, the text of its default ("" without one) and what the docstring says."""

    type: str
    default: str
    doc: str
    module: str


def takes_mapping(annotation: str) -> bool:
    """Whether the annotation admits a mapping with names of the user's."""
    found = re.findall(r"\w+", re.sub(r"(?:list|List|Sequence|tuple|Tuple)\[.*\]", "", annotation))
    return any(name in _MAPPINGS for name in found)


class Sources:
    """A package's source files, parsed when needed; `root` is the package's own folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.module = cache(self._module)
        self.find = cache(self._find)

    def fields(self, dotted: str) -> dict[str, Field]:
        """The fields of a class named `package.module.Class`, bases first; empty when there is no such class."""
        module, _, name = dotted.rpartition(".")
        found = self.find(module, name)
        if found is None:
            return {}
        home, node = found
        fields: dict[str, Field] = {}
        for base in node.bases:
            fields |= self.fields(f"{home}.{ast.unparse(base).split('[')[0]}")
        docs = dict(_ARGUMENT.findall(ast.get_docstring(node, clean=False) or ""))
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                name, kind = item.target.id, _annotation(item.annotation)
                default = ast.unparse(item.value) if item.value else ""
                if not name.startswith("_") and "ClassVar" not in kind and "init=False" not in default:
                    fields[name] = Field(kind, default, docs.get(name, "").strip(), home)
        return fields

    def nested(self, field: Field) -> str | None:
        """The dataclass that a field's annotation names, as `module.Class`."""
        for name in re.findall(r"[A-Z]\w+", re.sub(r"\w+\[str, *(\w+)\]", "", field.type)):
            if self.find(field.module, name) and self.fields(f"{field.module}.{name}"):
                return f"{field.module}.{name}"
        return None

    def _module(self, dotted: str) -> tuple[ast.Module, bool] | None:
        """The parsed module, and whether it is a package."""
        path = self.root.parent.joinpath(*dotted.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if dotted.split(".")[0] == self.root.name and file.is_file():
                return ast.parse(file.read_text(encoding="utf-8")), file.name == "__init__.py"
        return None

    def _find(self, module: str, name: str) -> tuple[str, ast.ClassDef] | None:
        """Where a class that `module` knows by `name` is defined."""
        parsed = self.module(module)
        if parsed is None:
            return None
        for node in parsed[0].body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                return module, node
        for node in parsed[0].body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if alias.name == "*" or (alias.asname or alias.name) == name:
                        wanted = name if alias.name == "*" else alias.name
                        if found := self.find(_absolute(module, parsed[1], node), wanted):
                            return found
        return None


def _annotation(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)


def _absolute(module: str, is_package: bool, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    base = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return ".".join([*base, *([node.module] if node.module else [])])
