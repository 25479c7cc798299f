"""Builds that are kept: the same inputs and settings are built once, and a build that was killed goes on.

A build is named by the hash of everything that decides its bytes: the content of the files, the settings, the user's
code, the libraries' versions. Its folder appears under that name when it is whole, by a rename; until then it is a work
folder, which the next build of the same name takes over, with what its steps have already done. A lock keeps two
processes from building the same at once. What cannot be named is not kept: rows with images, whose files are found only
while building, datasets on the hub, and steps from installed packages. The `KEPT` builds that were used last stay.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from orbiter_spec import __version__
from orbiter_spec.data.build import build, step_context
from orbiter_spec.data.building import Progress
from orbiter_spec.data.functions import check_function, code_files
from orbiter_spec.data.report import read_report, write_report
from orbiter_spec.data.request import BuildResult, DatasetRequest
from orbiter_spec.data.source_files import source_files

ENGINE = 2
"""Raised when the same request gives other bytes than before."""
KEPT = 16
LIBRARIES = ("pyarrow", "numpy", "rensa", "tokenizers", "transformers", "datasets", "pillow")
PLACES = frozenset(("place", "places", "path", "written", "folder"))
"""Fields of a request that say where things are, not what they are."""


def cache_folder() -> Path:
    """`$ORBITER_CACHE`, else `orbiter-spec` in the user's cache folder."""
    named = os.environ.get("ORBITER_CACHE")
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else (Path(base) if base else Path.home() / ".cache") / "orbiter-spec"


def cached_build(
    request: DatasetRequest,
    *,
    folder: Path | None = None,
    workers: int | None = None,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> BuildResult:
    """Build `request`, or find it built; its files lie in the cache and are not to be changed.

    `folder` is the cache (left out: `cache_folder()`), `workers` the processes (left out: one for each core where the
    data is large enough to need them). `offline` asks no teacher. Raises OSError when the disk refuses.
    """
    home = (folder or cache_folder()) / "data"
    home.mkdir(parents=True, exist_ok=True)
    key = build_key(request)
    done = home / key
    with _locked(home / f"{key}.lock"):
        if not (done / "report.json").is_file():
            result = _build(request, home, key, workers, offline, progress)
            if not result.files:
                return result
        with suppress(OSError):
            os.utime(done)
        found = read_report(done, request)
    _forget_old(home, keep=key)
    return found


def _build(
    request: DatasetRequest,
    home: Path,
    key: str,
    workers: int | None,
    offline: bool,
    progress: Callable[[Progress], None] | None,
) -> BuildResult:
    work = home / f"{key}.work"
    for name in ("rows", "scratch"):
        shutil.rmtree(work / name, ignore_errors=True)
    (work / "scratch").mkdir(parents=True)
    scratch = work / "scratch"
    context = dataclasses.replace(step_context(request), scratch=scratch, offline=offline)
    result = build(
        request,
        work / "rows",
        context=context,
        workers=workers or suitable_workers(request),
        checkpoints=work / "steps",
        progress=progress,
    )
    if result.files:
        write_report(work / "rows", result)
        shutil.rmtree(home / key, ignore_errors=True)
        os.replace(work / "rows", home / key)
    shutil.rmtree(work, ignore_errors=True)
    return result


def can_keep(request: DatasetRequest) -> bool:
    """Whether everything that decides the bytes of a build can be named."""
    own = all(":" not in call or ".py:" in call for call in _calls(request))
    sources = (*request.train, *request.validation)
    return own and request.columns.images is None and not any(source.hub for source in sources)


def suitable_workers(request: DatasetRequest) -> int:
    """Processes that pay for their start: one for each 16 MB of input, up to the cores."""
    size = sum(path.stat().st_size for source in request.train for path in source_files(source) if path.is_file())
    return max(1, min(os.cpu_count() or 1, size // 16_000_000)) if request.pipeline else 1


def build_key(request: DatasetRequest) -> str:
    """32 hexadecimal digits that name the build. Raises OSError when a file cannot be read."""
    measured = any(step.name == "length" for step in request.pipeline)
    asked = request if measured else dataclasses.replace(request, tokenizer=None, prompt_tokens=None)
    named = {
        "engine": ENGINE,
        "orbiter_spec": __version__,
        "libraries": _versions(),
        "request": _plain(asked),
        "tokenizer": _tokenizer_files(asked),
        "files": [_content(path) for source in (*request.train, *request.validation) for path in source_files(source)],
        "code": _code(request),
        "keep": None if can_keep(request) else os.urandom(16).hex(),
    }
    text = json.dumps(named, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.name not in PLACES]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _content(path: Path) -> str:
    if not path.is_file():
        return "absent"
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _tokenizer_files(request: DatasetRequest) -> dict[str, str]:
    """Small files of the tokenizer's folder; one that is not here is known by its name."""
    folder = Path(request.tokenizer.name) if request.tokenizer is not None else None
    if folder is None or not folder.is_dir():
        return {}
    kept = (path for path in sorted(folder.iterdir()) if path.suffix in (".json", ".jinja", ".txt", ".model"))
    return {path.name: _content(path) for path in kept}


def _calls(request: DatasetRequest) -> list[str]:
    return [str(step.settings["call"]) for step in request.pipeline if "call" in step.settings]


def _code(request: DatasetRequest) -> dict[str, str]:
    files: dict[str, str] = {}
    for call in _calls(request):
        found, _ = check_function(call, request.folder)
        if found is not None and found.path is not None:
            files |= {name: _content(path) for name, path in code_files(found.path).items()}
    return files


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Held by one process at a time; the lock ends with the process, however it ends."""
    import fcntl

    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _forget_old(home: Path, keep: str) -> None:
    """Remove the builds used longest ago, work that nobody goes on with among them, while nobody holds their lock."""
    import fcntl

    builds = sorted((path for path in home.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for path in builds[:-KEPT]:
        key = path.name.removesuffix(".work")
        if key == keep:
            continue
        with suppress(OSError), (home / f"{key}.lock").open("a") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
            (home / f"{key}.lock").unlink(missing_ok=True)
