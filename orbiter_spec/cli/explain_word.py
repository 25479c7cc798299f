"""What a word means without a spec: a field of the language, or a verl key of the newest release."""

from __future__ import annotations

import json
from collections.abc import Iterator


def explain_word(word: str) -> list[str] | None:
    """The lines about `word`, which may be a field and a key; None where it is neither."""
    return [*(_field(word) or ()), *(_key(word) or ())] or None


def nearest_word(word: str) -> str | None:
    """The field or the key that `word` may have been meant as."""
    from orbiter_spec.diagnostics import nearest
    from orbiter_spec.lower.target import load_target
    from orbiter_spec.spec.reference import entries

    return nearest(word, entries()) or load_target().nearest("dp", word)


def _field(word: str) -> list[str] | None:
    from orbiter_spec.spec.reference import entries

    entry = entries().get(word)
    if entry is None:
        return None
    lines = [f"{word}: {entry.meaning}", f"  values   {entry.values}"]
    if entry.left_out:
        lines.append(f"  left out {entry.left_out}")
    if entry.is_section:
        inside = [below.route.rpartition(".")[2] for below in entries().values() if below.section == word]
        lines.append(f"  fields   {', '.join(dict.fromkeys(inside))}")
    return [*lines, *_sets(word)]


def _sets(field: str) -> Iterator[str]:
    from orbiter_spec.lower.lowering import TABLE

    for row in TABLE:
        for engine, keys in row.keys.items() if row.field == field else ():
            yield from (f"  sets     {key}{'' if engine == '*' else f' ({engine})'}" for key in keys)


def _key(word: str) -> list[str] | None:
    from orbiter_spec.lower.target import load_target

    target = load_target()
    engine = next((engine for engine in target.engines if target.has(engine, word)), None)
    if engine is None:
        return None
    info = target.describe(engine, word)
    lines = [f"{word}: a key of verl {target.version}", f"  default  {json.dumps(info.default, default=str)}"]
    if info.doc:
        lines.append(f"  meaning  {' '.join(info.doc.split())}")
    if len(info.engines) < len(target.engines):
        lines.append(f"  engines  {', '.join(info.engines)}")
    return [*lines, *_set_by(word)]


def _set_by(key: str) -> Iterator[str]:
    from orbiter_spec.lower.lowering import TABLE

    fields = [row.field for row in TABLE if any(key in keys for keys in row.keys.values())]
    yield from (f"  set by   {field}" for field in dict.fromkeys(fields))
