"""Secrets by reference: where a value comes from is written down, the value itself never is.

A reference names a variable of the environment or a file, and is resolved by the process that starts verl, where it
runs. Output passes a scrubber before it is written, so that a value that user code prints becomes `***NAME***`.
What a scrubber cannot know are values that were changed before they were printed, and values below four characters.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

MIN_CHARACTERS = 4
MIN_LINE_CHARACTERS = 8
MAX_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Scrubber:
    """Replaces secret values in bytes; `parts` are (value, stand-in), the longest value first."""

    parts: tuple[tuple[bytes, bytes], ...] = ()

    @classmethod
    def of(cls, secrets: Mapping[str, str]) -> Scrubber:
        """A scrubber for values by name, in the spellings that text takes on its way into a log."""
        found = {form.encode(): f"***{name}***".encode() for name, value in secrets.items() for form in _forms(value)}
        return cls(tuple(sorted(found.items(), key=lambda part: -len(part[0]))))

    def clean(self, data: bytes) -> bytes:
        """`data` without any value."""
        for value, stand_in in self.parts:
            if value in data:
                data = data.replace(value, stand_in)
        return data

    def finds(self, data: bytes) -> str | None:
        """The stand-in of a value that `data` holds, or None."""
        return next((stand_in.decode().strip("*") for value, stand_in in self.parts if value in data), None)


def _forms(value: str) -> Iterable[str]:
    """The value itself, escaped as in JSON and in URLs, and its longer lines where it has several."""
    lines = [line.strip() for line in value.splitlines()] if "\n" in value else []
    texts = [value.strip(), *(line for line in lines if len(line) >= MIN_LINE_CHARACTERS)]
    for text in texts:
        if len(text) >= MIN_CHARACTERS:
            yield from {text, json.dumps(text)[1:-1], quote(text, safe="")}


class SecretMissingError(Exception):
    """A reference that leads nowhere; the message names it and the cure."""


def resolve_secrets(
    references: Mapping[str, Mapping[str, str]], environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Values by name, of references `{"environment": VARIABLE}` or `{"file": PATH}`; neither means the name itself.

    Raises:
        SecretMissingError: when a variable is not set, or a file cannot be read.
    """
    given = os.environ if environment is None else environment
    return {name: _resolve(name, reference, given) for name, reference in references.items()}


def _resolve(name: str, reference: Mapping[str, str], environment: Mapping[str, str]) -> str:
    if reference.get("file"):
        return _read(name, Path(reference["file"]).expanduser())
    variable = reference.get("environment") or name
    if not environment.get(variable):
        raise SecretMissingError(f"the secret {name} is read from the variable {variable}, which is not set")
    return environment[variable]


def _read(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise SecretMissingError(f"the secret {name} is read from {path}, which cannot be read: {reason}") from None
    if len(data) > MAX_BYTES or not text:
        raise SecretMissingError(
            f"the secret {name} is read from {path}, which is empty or above {MAX_BYTES >> 10} KiB"
        )
    return text


def passed_environment(entries: Iterable[str], environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables of `run.env`: `NAME=VALUE` as it stands, `NAME` from `environment` where it is set there."""
    found: dict[str, str] = {}
    given = os.environ if environment is None else environment
    for entry in entries:
        name, mark, value = entry.partition("=")
        if mark or name in given:
            found[name] = value if mark else given[name]
    return found
