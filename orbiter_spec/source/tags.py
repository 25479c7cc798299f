"""Tags: the three that change nothing a spec could not say are read, every other is refused.

`!!python/object` and its kin ask a reader to build objects; a spec holds values only.
"""

from __future__ import annotations

from ruamel.yaml.events import CollectionStartEvent, MappingStartEvent, ScalarEvent

from orbiter_spec.diagnostics import Diagnostic
from orbiter_spec.source.text import Source

_CORE = "tag:yaml.org,2002:"


def check_tag(event: ScalarEvent | CollectionStartEvent, source: Source) -> Diagnostic | None:
    """The refusal of the tag that `event` carries, if it carries one that is refused."""
    if not event.ctag:
        return None
    tag = str(event.ctag)
    if tag == "!" or tag == _CORE + _allowed(event):
        return None
    shown = "!!" + tag.removeprefix(_CORE) if tag.startswith(_CORE) else tag
    start = event.start_mark.index
    written = source.text[start:].split(maxsplit=1)[0] if start < len(source.text) else ""
    place = source.place(start, start + max(1, len(written)))
    return Diagnostic("ORB008", f"tag {shown} is not allowed", place, help="write the value without a tag")


def _allowed(event: ScalarEvent | CollectionStartEvent) -> str:
    if isinstance(event, ScalarEvent):
        return "str"
    return "map" if isinstance(event, MappingStartEvent) else "seq"
