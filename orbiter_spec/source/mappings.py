"""The rules of one mapping: keys are strings, each is given once, and `<<` brings in other mappings.

Merge keys are not part of YAML 1.2 but of the way people write it, beside anchors; refusing them would only make specs
longer. The mapping's own keys win, then the merged mappings in their order.
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Diagnostic, Related
from orbiter_spec.source.nodes import Entry, Mapping, Node, Scalar, Sequence, kind

_MERGE = "<<"


def close_mapping(node: Mapping, children: list[Node]) -> list[Diagnostic]:
    """Fill `node` from alternating keys and values. Bad entries are reported and left out; the first of two stays."""
    found: list[Diagnostic] = []
    merged: Entry | None = None
    for key, value in zip(children[::2], children[1::2], strict=True):
        wrong = _check_key(node, key, value, merged)
        if wrong:
            found.append(wrong)
            node.faulty = node.faulty or _is_template(key)
        elif _is_merge(key):
            assert isinstance(key, Scalar)
            merged = Entry(key, value)
        elif isinstance(key, Scalar) and isinstance(key.value, str):
            node.entries[key.value] = Entry(key, value)
    if merged:
        found.extend(_merge_in(node, merged))
    return found


def _is_merge(key: Node) -> bool:
    return isinstance(key, Scalar) and key.plain and key.value == _MERGE


def _check_key(node: Mapping, key: Node, value: Node, merged: Entry | None) -> Diagnostic | None:
    if not isinstance(key, Scalar) or not isinstance(key.value, str):
        return None if getattr(key, "faulty", False) else _not_a_string(key, value)
    first = merged if _is_merge(key) else node.entries.get(key.value)
    if first is None:
        return None
    message = f"key {key.value} is given twice"
    related = (Related(first.key.place(), "first given here"),)
    return Diagnostic("ORB006", message, key.place(), help="remove one of the two", related=related)


def _not_a_string(key: Node, value: Node) -> Diagnostic:
    if _is_template(key):
        return _bare_template(key)
    if isinstance(key, Scalar):
        written = key.source.text[key.start : key.end]
        cure = f'quote it: "{written}"' if written else "write a key before the colon"
        message = "key is empty" if not written else f"key is {kind(key)}, not a string"
        return Diagnostic("ORB021", message, key.place(), help=cure)
    return Diagnostic("ORB021", f"key is {kind(key)}, not a string", key.place(), help="write a plain word as the key")


def _is_template(key: Node) -> bool:
    """True for `{ name }` directly inside another brace: what is left of `{{ name }}` written without quotes."""
    text = key.source.text
    return isinstance(key, Mapping) and text[max(0, key.start - 1) : key.start + 1] == "{{"


def _bare_template(key: Node) -> Diagnostic:
    text = key.source.text
    end = key.end + 1 if text[key.end : key.end + 1] == "}" else key.end
    place = key.source.place(key.start - 1, end)
    written = text[key.start - 1 : end]
    cure = f'quote it: "{written}"' if "\n" not in written and '"' not in written else "put it in quotes"
    return Diagnostic("ORB005", "template is not quoted", place, "YAML reads { as a mapping", cure)


def _merge_in(node: Mapping, merged: Entry) -> Iterator[Diagnostic]:
    sources = merged.value.items if isinstance(merged.value, Sequence) else [merged.value]
    for source in sources:
        if not isinstance(source, Mapping):
            cure = "write << with an alias of a mapping, or a list of them"
            yield Diagnostic("ORB021", f"<< merges mappings, and this is {kind(source)}", source.place(), help=cure)
            continue
        for name, entry in source.entries.items():
            node.entries.setdefault(name, entry)
