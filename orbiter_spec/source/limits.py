"""How much a spec may ask of the reader.

An experiment is a page or two of YAML. The bounds sit far above that and far below what would make a person wait:
ruamel takes one to three seconds for half a megabyte, its cost for one line can grow with the square of the line, and
recursion over the finished tree stays well inside Python's own limit.
"""

from __future__ import annotations

MAX_BYTES = 512 * 1024
"""Size of one file in bytes, looked up before it is read."""

MAX_LINE = 100_000
"""Length of one line in characters."""

MAX_DEPTH = 64
"""Mappings and lists inside each other, aliases followed."""

MAX_NODES = 20_000
"""Keys and values written in one file."""

MAX_EXPANDED = 100_000
"""Keys and values of one file after every alias has been followed."""

MAX_FINDINGS = 200
"""Mistakes reported in one file before reading stops; nobody reads further."""

MAX_EXTENDS = 16
"""Length of a chain of files that extend each other."""

MAX_FILES = 32
"""Files read for one spec; a file that is reached twice counts twice."""

MAX_INTEGER = (1 << 63) - 1
"""Largest whole number; what follows writes JSON and 64-bit integers."""
