"""Files by their names: the format and compression that suffixes say, and the files that a pattern or folder means."""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

FORMATS: Final = (".jsonl", ".ndjson", ".parquet", ".json", ".csv", ".arrow")
FORMAT_HELP: Final = (
    "use JSONL, Parquet, CSV, Arrow or a JSON array (.jsonl, .parquet, .csv, .arrow, .json; text also as .gz, .zst, "
    ".bz2, .xz)"
)
BROKEN: Final[tuple[type[Exception], ...]] = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What reading a damaged file raises."""
MOST_FILES = 10_000


def _open_zstd(path: Path) -> BinaryIO:
    import pyarrow

    stream: Any = pyarrow.CompressedInputStream(pyarrow.OSFile(str(path)), "zstd")
    return cast(BinaryIO, io.BufferedReader(stream, 1 << 20))


_OPENERS: Final[dict[str, Callable[[Path], BinaryIO]]] = {
    ".gz": lambda path: cast(BinaryIO, gzip.GzipFile(path, "rb")),
    ".bz2": lambda path: cast(BinaryIO, bz2.BZ2File(path)),
    ".xz": lambda path: cast(BinaryIO, lzma.LZMAFile(path)),  # noqa: SIM115
    ".zst": _open_zstd,
}


def is_compressed(path: Path) -> bool:
    """Whether the suffix says that the file has to be unpacked to be read."""
    return path.suffix.lower() in _OPENERS


def suffix_of(path: Path) -> str:
    """The suffix that decides the format, in lower case and without that of a compression."""
    return (Path(path.stem) if is_compressed(path) else path).suffix.lower()


def open_bytes(path: Path) -> BinaryIO:
    """The unpacked bytes of a file; what is raised while reading is in `BROKEN`."""
    opener = _OPENERS.get(path.suffix.lower())
    return opener(path) if opener is not None else path.open("rb")


def is_pattern(path: Path) -> bool:
    """Whether the name stands for several files, or none; a file of that very name comes first."""
    return any(mark in str(path) for mark in "*?[") and not path.exists()


def matching_files(path: Path) -> list[Path]:
    """The files that a pattern or a folder means, sorted by name; [path] for anything else.

    A folder means the files of known formats right in it, or the parts of a dataset that `save_to_disk` wrote there.
    """
    if is_pattern(path):
        found = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))[:MOST_FILES]]
        return [file for file in found if file.is_file() and not file.name.startswith(".")]
    if not path.is_dir():
        return [path]
    parts = _saved_parts(path)
    if parts is not None:
        return parts
    files = sorted(file for file in path.iterdir() if file.is_file() and suffix_of(file) in FORMATS)
    return [file for file in files if not file.name.startswith((".", "_"))][:MOST_FILES]


def _saved_parts(folder: Path) -> list[Path] | None:
    """The Arrow files of a Hugging Face dataset that was saved here, as its state.json lists them."""
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        names = [str(item["filename"]) for item in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return [folder / Path(name).name for name in names]
