"""The columns that a template prints, whatever they hold: those that it does not ask about first."""

from __future__ import annotations

from jinja2 import TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from orbiter_spec.data.request import TemplateRequest


def printed_columns(template: TemplateRequest) -> list[str]:
    """Columns that a template prints whatever they hold, as names that reach into mappings by dots."""
    try:
        tree = ImmutableSandboxedEnvironment().parse(template.text)
    except TemplateError:  # a finding of its own
        return []
    outputs = (node for node in tree.body if isinstance(node, nodes.Output))
    names = [_column(part) for node in outputs for part in node.nodes]
    asked = {
        found.name
        for kind in (nodes.If, nodes.CondExpr, nodes.Test)
        for node in tree.find_all(kind)
        for found in node.find_all(nodes.Name)
    }
    return list(dict.fromkeys(name for name in names if name and name.split(".")[0] not in asked))


def _column(node: nodes.Node) -> str:
    """The column that an expression is, or is made of by filters; nothing for others."""
    while isinstance(node, nodes.Filter) and node.name not in ("default", "d") and node.node is not None:
        node = node.node
    path: list[str] = []
    while isinstance(node, (nodes.Getattr, nodes.Getitem)):
        key = node.attr if isinstance(node, nodes.Getattr) else getattr(node.arg, "value", None)
        if not isinstance(key, str):
            return ""
        path.append(key)
        node = node.node
    if not isinstance(node, nodes.Name):
        return ""
    path.append(node.name)
    return ".".join(reversed(path[:-1] if node.name == "row" and path[:-1] else path))
