"""Verdicts on disk: a file for each question, named by its hash, written whole or not at all.

Files and renames work on every file system and between any number of processes, which a database on a shared disk does
not. Nothing is ever changed, so a folder may be shared by runs and thrown away at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def default_folder() -> Path:
    """Where verdicts are kept when the spec names no folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orbiter-spec" / "judge"


class Cache:
    """`where` is a folder, True for the usual one, or False for none."""

    def __init__(self, where: str | bool) -> None:
        self._folder = default_folder() if where is True else Path(where).expanduser() if where else None

    def get(self, key: Any) -> str | None:
        """What is kept under `key`, or None; a file that cannot be read counts as none."""
        path = self._path(key)
        try:
            value = json.loads(path.read_text(encoding="utf-8"))["content"] if path is not None else None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return value if isinstance(value, str) else None

    def put(self, key: Any, content: str) -> None:
        """Keep `content`; a disk that is full or read-only costs the cache and nothing else."""
        path = self._path(key)
        if path is None:
            return
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"content": content}, file)
            os.replace(name, path)

    def _path(self, key: Any) -> Path | None:
        if self._folder is None:
            return None
        name = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()
        return self._folder / name[:2] / f"{name}.json"
