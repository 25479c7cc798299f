"""YAML with places: from text to plain data in which every key and value knows its file, line and column.

This room knows YAML, `extends`, `${env:..}`, `--set` and ignore comments. It knows no field name: callers pass in the
routes at which a string is a shorthand.
"""

from orbiter_spec.source.comments import Ignore
from orbiter_spec.source.document import Document
from orbiter_spec.source.reading import read
from orbiter_spec.source.routes import Route, format_route, parse_route

__all__ = ["Document", "Ignore", "Route", "format_route", "parse_route", "read"]
