"""The files that travel to the cluster: what verl reads, the modules that run there, the task, and nothing else.

Everything is listed before it is sent. A file that holds the value of a secret stops the run, and so does a parcel that
is too large for the job server, with the largest files named.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from orbiter_spec.launch.cluster.task import CARRIED_PACKAGE, Task
from orbiter_spec.launch.secrets import Scrubber

STAYS_HERE = ("launch.json", "manifest.json", "origins.json", "overrides.txt", "plan.json", "resource_pools.yaml")
CARRIED = (
    "checkpoints",
    "failure",
    "metrics",
    "processes",
    "run_folder",
    "secrets",
    "status",
    "verl_config",
    "watchdog",
    "cluster/gather",
    "cluster/inside",
    "cluster/on_cluster",
    "cluster/sees",
    "cluster/task",
)
MAX_BYTES = 400 << 20
SHOWN = 3


class ParcelError(Exception):
    """Something must not be sent; the message names the file."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """A folder ready to be sent, with its files and their sizes in bytes."""

    path: Path
    files: tuple[tuple[str, int], ...]

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(size for _, size in self.files)

    @property
    def listing(self) -> str:
        """One line a file."""
        return "".join(f"{size:>12} {name}\n" for name, size in self.files)


@contextmanager
def packed(compiled: Path, task: Task, scrubber: Scrubber) -> Iterator[Parcel]:
    """Lay out the parcel of `compiled` in a temporary folder.

    Raises:
        ParcelError: when a file holds a secret, or all are too large together. OSError: when the disk refuses.
    """
    with TemporaryDirectory(prefix="orbiter-parcel-") as folder:
        path = Path(folder)
        for source in sorted(compiled.rglob("*")):
            name = source.relative_to(compiled)
            if source.is_file() and name.as_posix() not in STAYS_HERE:
                _take(source, path / name)
        carry(path)
        task.write(path)
        files = tuple(
            (file.relative_to(path).as_posix(), file.stat().st_size)
            for file in sorted(path.rglob("*"))
            if file.is_file()
        )
        parcel = Parcel(path, files)
        _refuse(parcel, scrubber)
        yield parcel


def _take(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def carry(folder: Path) -> None:
    """Write the modules that run on the cluster below `folder`, as a package under a name of its own."""
    launch = Path(__file__).resolve().parent.parent
    for name in CARRIED:
        text = (launch / f"{name}.py").read_text(encoding="utf-8").replace("orbiter_spec.launch", CARRIED_PACKAGE)
        target = folder / CARRIED_PACKAGE / f"{name}.py"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        (target.parent / "__init__.py").touch()


def _refuse(parcel: Parcel, scrubber: Scrubber) -> None:
    if parcel.bytes > MAX_BYTES:
        largest = sorted(parcel.files, key=lambda file: -file[1])[:SHOWN]
        named = ", ".join(f"{name} ({size >> 20} MiB)" for name, size in largest)
        raise ParcelError(
            f"the run's files are {parcel.bytes >> 20} MiB, above {MAX_BYTES >> 20} MiB; the largest: {named}"
        )
    for name, _ in parcel.files:
        secret = scrubber.finds((parcel.path / name).read_bytes())
        if secret:
            raise ParcelError(f"{name} holds the value of the secret {secret}")
