"""`lock.json`: what a run depended on beside its compiled files, and what of it is otherwise now.

Versions of what trains, the files that the spec names with their hashes, the commit and the uncommitted changes of the
folder they lie in, the names of the variables that were passed on. The values of variables are not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import socket
import subprocess
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

LOCK_FILE = "lock.json"
DIFF_FILE = "code.diff"
PACKAGES = (
    "orbiter-spec",
    "verl",
    "ray",
    "torch",
    "transformers",
    "TransferQueue",
    "vllm",
    "sglang",
    "numpy",
    "pyarrow",
)
GIT_SECONDS = 20
DIFF_BYTES = 4 << 20


def write_lock(run: Path, home: Path) -> None:
    """Write `lock.json`, and `code.diff` where the files of `home` differ from their commit."""
    commit, diff = _git(home)
    if diff:
        (run / DIFF_FILE).write_bytes(diff[:DIFF_BYTES])
    content = {
        "home": str(home),
        "host": socket.gethostname(),
        "python": platform.python_version(),
        "versions": versions(),
        "commit": commit,
        "changed_files": bool(diff),
        "environment": sorted(
            name for name in os.environ if name.startswith(("RAY_", "VERL_", "NCCL_", "CUDA_", "HF_"))
        ),
    }
    (run / LOCK_FILE).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def versions() -> dict[str, str]:
    """Installed versions of what a run depends on."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _git(home: Path) -> tuple[str | None, bytes]:
    """The commit that `home` is at and its uncommitted changes; nothing where there is no repository."""
    try:
        commit = _run_git(home, "rev-parse", "HEAD").decode().strip()
        return commit, _run_git(home, "diff", "HEAD", "--relative")
    except (OSError, subprocess.SubprocessError):
        return None, b""


def _run_git(home: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(home), *arguments], capture_output=True, timeout=GIT_SECONDS, check=True
    ).stdout


def drift(run: Path) -> list[str]:
    """What is otherwise now than when `run` was made, one line each; compiled files are those of `run` in any case."""
    manifest = _read(run / "compiled" / "manifest.json")
    return [*_versions_drift(_read(run / LOCK_FILE)), *_files_drift(home_of(run), manifest)]


def home_of(run: Path) -> Path:
    """The folder that the run's spec came from; its own copy where that is not known."""
    return Path(str(_read(run / LOCK_FILE).get("home", run / "spec")))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _versions_drift(lock: Mapping[str, Any]) -> Iterator[str]:
    before = {"python": lock.get("python"), **(lock.get("versions") or {})}
    now: dict[str, str | None] = {"python": platform.python_version(), **versions()}
    for name, version in before.items():
        if version is not None and now.get(name) != version:
            yield f"{name} was {version}, is {now.get(name) or 'not installed'}"


def _files_drift(home: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    for name, digest in (manifest.get("sources") or {}).items():
        path = home / name
        if not path.is_file():
            yield f"{name} is gone; the run uses its compiled copy"
            continue
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                yield f"{name} has changed; the run uses its compiled copy"
