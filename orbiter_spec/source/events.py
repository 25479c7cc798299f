"""ruamel's reader, scanner and parser, joined as one stream of events.

The tree is built here from events, not by ruamel's composer, because the composer recurses: a deeply nested file would
end in RecursionError, and limits could be checked only after the work is done. Joining the three classes directly also
skips the plug-in search of `ruamel.yaml.YAML`. YAML 1.2 is fixed, whatever a `%YAML` line says.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from ruamel.yaml.error import FileMark, MarkedYAMLError
from ruamel.yaml.events import Event, StreamEndEvent
from ruamel.yaml.parser import Parser
from ruamel.yaml.reader import Reader
from ruamel.yaml.scanner import Scanner

from orbiter_spec.source.limits import MAX_DEPTH


class TooDeepError(Exception):
    """Brackets inside brackets beyond the limit, found while looking ahead; `offset` is that of the first too many."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class StumbleError(Exception):
    """ruamel raised something that is no YAML error; `offset` is how far it had read."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class _Stream(Reader, Scanner, Parser):
    """The three stages look for each other through properties, thousands of times; this object is all of them."""

    comment_handling = None
    processing_version = (1, 2)
    scanner: Any = None
    reader: Any = None
    resolver: Any = None

    def __init__(self, text: str) -> None:
        self.scanner = self.reader = self.resolver = self
        self.doc_infos = [SimpleNamespace()]  # where the scanner notes the version of a %YAML line
        Reader.__init__(self, text, loader=self)
        Scanner.__init__(self, loader=self)
        Parser.__init__(self, loader=self)

    def get_mark(self) -> FileMark:
        """A mark without the text around it, which only ruamel's own messages would show."""
        return FileMark(self.name, self.index, self.line, self.column)

    def save_possible_simple_key(self) -> None:
        """Every opening bracket passes here; up to 1024 of them are looked through before the first is an event."""
        if len(self.flow_context) > MAX_DEPTH:
            raise TooDeepError(self.index)
        super().save_possible_simple_key()


def parse_events(text: str) -> Iterator[Event]:
    """The events of one YAML stream, in order, the end of the stream left out.

    Raises ruamel's `MarkedYAMLError` for mistakes, TooDeepError, and StumbleError for texts that trip ruamel itself,
    such as an escape beyond the last character of Unicode.
    """
    stream = _Stream(text)
    while True:
        try:
            event = stream.get_event()
        except (MarkedYAMLError, TooDeepError):
            raise
        except Exception as error:
            raise StumbleError(stream.index) from error
        if event is None or isinstance(event, StreamEndEvent):
            return
        yield event
