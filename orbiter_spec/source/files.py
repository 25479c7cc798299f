"""From a path to text: everything that can be wrong with a file before its YAML is looked at.

The size is asked of the file system first, so that a huge file is refused without reading it. Only UTF-8 is accepted:
guessing an encoding would turn a damaged file into a damaged prompt.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from itertools import pairwise
from pathlib import Path

from orbiter_spec.diagnostics import Diagnostic, Place, nearest
from orbiter_spec.source.limits import MAX_BYTES, MAX_LINE
from orbiter_spec.source.text import Source, readable

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = "\ufeff"


def open_source(path: Path | None, text: str | None = None) -> tuple[Source | None, list[Diagnostic]]:
    """The text at `path`, or on standard input when `path` is None; `text` stands in for reading when given.

    Returns no source and the reasons when the text cannot be had.
    """
    name = "<stdin>" if path is None else str(path)
    if text is None:
        content = _read_stdin() if path is None else _read_file(path)
        if isinstance(content, Diagnostic):
            return None, [content]
        decoded = _decode(content, name)
        if isinstance(decoded, Diagnostic):
            return None, [decoded]
        text = decoded
    source = Source(name, text.removeprefix(_BOM), path, Path() if path is None else path.parent)
    found = check_text(source)
    return (None if found else source), found


def _read_file(path: Path) -> bytes | Diagnostic:
    place = Place(readable(str(path)))
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            return Diagnostic("ORB002", "this is a folder, not a file", place, help="name the YAML file inside it")
        if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode) or stat.S_ISSOCK(status.st_mode):
            return Diagnostic("ORB002", "this is a device, not a file", place, help="name a YAML file")
        if status.st_size > MAX_BYTES:
            return _too_large(place, status.st_size)
        with open(path, "rb") as file:
            return _bounded(file.read(MAX_BYTES + 1), place)
    except FileNotFoundError:
        return Diagnostic("ORB001", "file does not exist", place, help=_look_beside(path))
    except NotADirectoryError:
        return Diagnostic("ORB001", "file does not exist", place, help="a part of this path is a file, not a folder")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Diagnostic("ORB002", f"file cannot be read: {readable(reason).lower()}", place)


def _read_stdin() -> bytes | Diagnostic:
    place = Place("<stdin>")
    if sys.stdin is None:
        return Diagnostic("ORB001", "there is no standard input", place, help="name a YAML file")
    return _bounded(sys.stdin.buffer.read(MAX_BYTES + 1), place)


def _bounded(content: bytes, place: Place) -> bytes | Diagnostic:
    return content if len(content) <= MAX_BYTES else _too_large(place, len(content))


def _too_large(place: Place, size: int) -> Diagnostic:
    message = f"file is larger than {MAX_BYTES >> 10} KiB"
    return Diagnostic(
        "ORB004", message, place, f"{size} bytes or more", "a spec is a few kilobytes; keep data in files that it names"
    )


def _look_beside(path: Path) -> str:
    """A name close to a missing one in the same folder, as a help line."""
    try:
        names = sorted(entry for entry in os.listdir(path.parent) if entry.endswith((".yaml", ".yml")))
    except OSError:
        return f"the folder {readable(str(path.parent))} does not exist"
    stems = {os.path.splitext(name)[0]: name for name in names[:1000]}
    guess = nearest(path.stem, stems)
    return f"did you mean {readable(str(path.parent / stems[guess]))}?" if guess else "check the path"


def _decode(content: bytes, name: str) -> str | Diagnostic:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        rest = content[error.start : error.start + 200].decode("utf-8", "replace").splitlines()
        draft = Source(name, before + (rest[0] if rest else ""))
        place = draft.place(len(before), len(before) + 1)
        cure = "save the file as UTF-8"
        if content.startswith(_UTF16):
            return Diagnostic("ORB003", "file is UTF-16, not UTF-8", _printable(place), help=cure)
        if b"\0" in content:
            cure = "name a YAML file; this looks like a binary one"
        note = f"byte 0x{content[error.start]:02x} is not UTF-8"
        return Diagnostic("ORB003", "file is not UTF-8 text", _printable(place), note, cure)


def _printable(place: Place) -> Place:
    """The same place with a line that a terminal can show."""
    text = _UNPRINTABLE.sub("\ufffd", place.text)
    return Place(place.file, place.line, place.column, place.width, text)


def check_text(source: Source) -> list[Diagnostic]:
    """What decodes but is no YAML: control characters, and lines no person wrote."""
    odd = _UNPRINTABLE.search(source.text)
    if odd:
        place = _printable(source.place(odd.start(), odd.end()))
        cure = "name a YAML file; this looks like a binary one" if odd.group() == "\0" else "remove the character"
        return [Diagnostic("ORB003", "file is not plain text", place, f"U+{ord(odd.group()):04X} is not allowed", cure)]
    if len(source.text.encode("utf-8")) > MAX_BYTES:
        return [_too_large(Place(readable(source.name)), len(source.text))]
    return _check_lines(source)


def _check_lines(source: Source) -> list[Diagnostic]:
    if len(source.text) <= MAX_LINE:
        return []
    bounds = [*source.starts, len(source.text)]
    for start, end in pairwise(bounds):
        if end - start > MAX_LINE:
            message = f"line is longer than {MAX_LINE} characters"
            return [
                Diagnostic("ORB004", message, source.place(start, start + 1), help="keep data in a file of its own")
            ]
    return []
