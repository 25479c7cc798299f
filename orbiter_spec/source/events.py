"""ruamel's reader, scanner and parser, joined as one stream of events.

The tree is built here from events, not by ruamel's composer, because the composer recurses: a deeply nested file would end
in RecursionError, and limits could be checked only after the work is done. Joining the three classes directly also
skips the plug-in search of `ruamel.yaml.YAML`. YAML 1.2 is fixed, whatever a `%YAML` line says.
"""

from __future__ import annotations

from collections.abc import Iterator

from ruamel.yaml.events import Event, StreamEndEvent
from ruamel.yaml.parser import Parser
from ruamel.yaml.reader import Reader
from ruamel.yaml.scanner import Scanner


class _Stream(Reader, Scanner, Parser):
    """The three stages look for each other as `loader` attributes; this object is all of them."""

    comment_handling = None
    processing_version = (1, 2)

    def __init__(self, text: str) -> None:
        self._resolver = self
        Reader.__init__(self, text, loader=self)
        Scanner.__init__(self, loader=self)
        Parser.__init__(self, loader=self)


def parse_events(text: str) -> Iterator[Event]:
    """The events of one YAML stream, in order, the end of the stream left out.

    Raises whatever ruamel raises: `MarkedYAMLError` for most mistakes, and other exceptions for texts that trip it.
    """
    stream = _Stream(text)
    while True:
        event = stream.get_event()
        if event is None or isinstance(event, StreamEndEvent):
            return
        yield event
