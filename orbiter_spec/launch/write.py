"""Writing a folder so that nobody ever sees half of it.

Everything is written to a hidden folder beside the goal and moved there in one rename. A folder that holds a run, or
anything this program did not write, is left alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from orbiter_spec.diagnostics import Diagnostic, Place

MARK = "manifest.json"


def refuse_folder(folder: Path) -> Diagnostic | None:
    """Why `folder` cannot take a compilation, or None when it can."""
    place = Place(str(folder))
    if folder.exists() and not folder.is_dir():
        return Diagnostic("ORB501", "output is a file", place, help="name a folder that does not exist yet")
    if (folder / "status.json").exists():
        return Diagnostic("ORB502", "output folder holds a run", place, help="name another folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).is_file():
        return Diagnostic(
            "ORB502", "output folder holds files that no compilation wrote", place, help="name an empty or new folder"
        )
    parent = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not os.access(parent, os.W_OK | os.X_OK):
        return Diagnostic("ORB501", "output folder is not writable", place, help=f"choose another, or chmod {parent}")
    return None


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A hidden folder beside `folder` that takes its place when the block ends well, and vanishes when not.

    Raises:
        OSError: when the disk refuses; `folder` is then as it was.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield stage
        stage.chmod(0o755)
        _replace(stage, folder)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _replace(stage: Path, folder: Path) -> None:
    if not folder.exists():
        stage.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
    folder.rename(old / folder.name)
    stage.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write each text below `folder`, in UTF-8 with line feeds."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
