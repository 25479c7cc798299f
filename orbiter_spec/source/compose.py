"""Events become nodes, in one loop without recursion.

Aliases are followed by sharing the node. Every finished collection knows how large and how high it is with aliases
followed, so that an alias bomb is refused at the first collection that grows too big, without ever being unfolded.
What makes the rest of the text unreadable stops the loop (`Unreadable`); everything else is collected.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from orbiter_spec.diagnostics import Diagnostic, nearest
from orbiter_spec.source.events import StumbleError, TooDeepError, parse_events
from orbiter_spec.source.limits import MAX_DEPTH, MAX_EXPANDED, MAX_FINDINGS, MAX_NODES
from orbiter_spec.source.mappings import close_mapping
from orbiter_spec.source.nodes import Mapping, Node, Scalar, Sequence
from orbiter_spec.source.scalars import fault, resolve, stand_in
from orbiter_spec.source.syntax import explain
from orbiter_spec.source.tags import check_tag
from orbiter_spec.source.text import Source


class UnreadableError(Exception):
    """The rest of the text cannot be read; carries the one reason. Never leaves `compose`."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


@dataclass(slots=True)
class _Open:
    """A collection that has started and not ended."""

    event: CollectionStartEvent
    children: list[Node] = field(default_factory=list)
    faulty: bool = False


class _Composer:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Diagnostic] = []
        self.stack: list[_Open] = []
        self.anchors: dict[str, Node | None] = {}
        self.documents = 0
        self.nodes = 0
        self.root: Node | None = None

    def take(self, event: Event) -> None:
        """Go one event further."""
        if isinstance(event, ScalarEvent):
            self.add(self.scalar(event), event.anchor)
        elif isinstance(event, AliasEvent):
            self.add(self.alias(event), None)
        elif isinstance(event, CollectionStartEvent):
            self.open(event)
        elif isinstance(event, CollectionEndEvent):
            opened = self.stack.pop()
            self.add(self.close(opened, event), opened.event.anchor)
        elif isinstance(event, DocumentStartEvent):
            self.start_document(event)

    def start_document(self, event: DocumentStartEvent) -> None:
        self.documents += 1
        if event.version not in (None, (1, 2)):
            version = ".".join(str(part) for part in event.version)
            note = f"%YAML {version} is declared for this document"
            self.stop("ORB005", "only YAML 1.2 is read", event, note, "remove the %YAML line")
        if self.documents > 1:
            self.stop("ORB005", "file holds more than one document", event, "", "keep one; remove this `---`")

    def scalar(self, event: ScalarEvent) -> Scalar:
        self.count(event)
        start, end = event.start_mark.index, event.end_mark.index
        plain, _ = event.implicit
        tag = check_tag(event, self.source)
        value = resolve(event.value) if plain and not event.ctag else event.value
        node = Scalar(self.source, start, end, value, plain=plain and not event.ctag)
        wrong = tag or self.value_fault(node)
        if wrong:
            node.faulty = True
            node.value = stand_in(node.value)
            self.found.append(wrong)
        return node

    def value_fault(self, node: Scalar) -> Diagnostic | None:
        reason = fault(node.value)
        if reason is None:
            return None
        id, message, cure = reason
        return Diagnostic(id, message, node.place(), help=cure)

    def alias(self, event: AliasEvent) -> Node:
        self.count(event)
        name = event.anchor
        if name not in self.anchors:
            guess = nearest(name, self.anchors)
            cure = f"did you mean *{guess}?" if guess else f'quote it if the star is meant: "*{name}"'
            self.stop("ORB007", f"no anchor named {name} comes before this alias", event, "", cure)
        target = self.anchors[name]
        if target is None:
            self.stop("ORB007", f"alias *{name} contains itself", event, "", "write the value out")
        assert target is not None
        return target

    def open(self, event: CollectionStartEvent) -> None:
        self.count(event)
        if len(self.stack) >= MAX_DEPTH:
            raise UnreadableError(_too_deep(self.source, event.start_mark.index))
        opened = _Open(event)
        wrong = check_tag(event, self.source)
        if wrong:
            opened.faulty = True
            self.found.append(wrong)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.stack.append(opened)

    def close(self, opened: _Open, event: Event) -> Node:
        start, end = self.span(opened, event)
        node: Mapping | Sequence
        if isinstance(opened.event, MappingStartEvent):
            node = Mapping(self.source, start, end)
            self.found.extend(close_mapping(node, opened.children))
        else:
            node = Sequence(self.source, start, end, opened.children)
        node.faulty = node.faulty or opened.faulty
        self.measure(node, opened)
        return node

    def span(self, opened: _Open, event: Event) -> tuple[int, int]:
        """Brackets from end to end; of a block mapping its first key, of a block list its first dash."""
        start = opened.event.start_mark.index
        if opened.event.flow_style:
            return start, event.end_mark.index
        if isinstance(opened.event, MappingStartEvent) and opened.children:
            first = opened.children[0]
            if first.source is self.source and first.start >= start:
                return first.start, first.end
        return start, start + 1

    def measure(self, node: Mapping | Sequence, opened: _Open) -> None:
        node.size = 1 + sum(child.size for child in opened.children)
        node.height = 1 + max((child.height for child in opened.children), default=0)
        if node.size > MAX_EXPANDED:
            message = f"aliases unfold to more than {MAX_EXPANDED} values"
            self.stop("ORB007", message, opened.event, f"{node.size} values here", "write fewer aliases of aliases")
        if node.height > MAX_DEPTH:
            message = f"aliases nest deeper than {MAX_DEPTH} levels"
            self.stop("ORB007", message, opened.event, "", "write fewer aliases of aliases")

    def add(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = node
        if self.stack:
            self.stack[-1].children.append(node)
        else:
            self.root = node

    def count(self, event: NodeEvent) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            cure = "a spec has a few hundred; keep data in files that it names"
            self.stop("ORB004", f"file holds more than {MAX_NODES} values", event, "", cure)

    def stop(self, id: str, message: str, event: Event, note: str, cure: str) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        raise UnreadableError(Diagnostic(id, message, self.source.place(start, max(end, start + 1)), note, cure))


def _too_deep(source: Source, offset: int) -> Diagnostic:
    message = f"nested deeper than {MAX_DEPTH} levels"
    return Diagnostic("ORB007", message, source.place(offset, offset + 1), help="a spec needs fewer than ten")


def compose(source: Source, text: str | None = None) -> tuple[Node | None, list[Diagnostic]]:
    """The tree of `source`, or None with at least one diagnostic when there is none to be had.

    `text` is read in place of the source's own text when given; offsets in it are offsets in the source.
    An empty stream gives None without a diagnostic: the caller knows what that means.
    """
    composer = _Composer(source)
    try:
        for event in parse_events(source.text if text is None else text):
            composer.take(event)
            if len(composer.found) >= MAX_FINDINGS:
                return None, composer.found
    except TooDeepError as error:
        return None, [*composer.found, _too_deep(source, error.offset)]
    except UnreadableError as error:
        return None, [*composer.found, error.diagnostic]
    except (MarkedYAMLError, StumbleError) as error:
        broken = explain(error, source)
        return None, [*(found for found in composer.found if found.place != broken.place), broken]
    return composer.root, composer.found
