"""Answers of a model, kept on disk, so that asking the same again costs nothing.

One SQLite file: every answer is committed when it arrives, so a build that is killed goes on where it was, and two
builds may share the file. A key is the hash of everything that decides the answer (model, messages, sampling, number of
the sample) and not the address: the same model served elsewhere is the same teacher.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BUSY_SECONDS = 30.0


class ChatCache:
    """Answers by what was asked. Not for several threads; several processes are fine."""

    def __init__(self, path: Path) -> None:
        """Open or make the file at `path`. Raises OSError when there is no such place, or another kind of file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._file = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")
        except sqlite3.Error as error:
            raise OSError(f"{path} cannot be used as a cache of answers: {error}") from None

    def get(self, asked: Mapping[str, Any]) -> str | None:
        """The answer to `asked`, or None."""
        row = self._file.execute("SELECT answer FROM answers WHERE key = ?", (key_of(asked),)).fetchone()
        return None if row is None else str(row[0])

    def put(self, asked: Mapping[str, Any], answer: str) -> None:
        """Keep the answer; the first one stays when there is one already. Raises OSError when the disk refuses."""
        try:
            self._file.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (key_of(asked), answer))
        except sqlite3.Error as error:
            raise OSError(f"an answer cannot be kept: {error}") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __len__(self) -> int:
        return int(self._file.execute("SELECT count(*) FROM answers").fetchone()[0])


def key_of(asked: Mapping[str, Any]) -> str:
    """The hash of what decides an answer."""
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
