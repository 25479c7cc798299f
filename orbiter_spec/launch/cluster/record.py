"""`job.json` in the run folder: which cluster has the run, and under which ids it was submitted.

The id of a submission follows from the run and the attempt that it begins with, and is written down before anything is
sent. Whoever submits the same attempt again, from wherever, meets the job that is there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from orbiter_spec.launch.run_folder import RunFolder

RECORD_FILE = "job.json"


@dataclass(frozen=True, slots=True)
class Submission:
    """One job: its id, the attempt that it begins with, and where `logs/verl.log` ended before it."""

    id: str
    attempt: int
    log_bytes: int


@dataclass(frozen=True, slots=True)
class JobRecord:
    """The content of `job.json`. `folder` is where output goes on the cluster, once that is known."""

    address: str
    run: str
    submissions: tuple[Submission, ...] = ()
    folder: str | None = None
    shared: bool = False

    @property
    def last(self) -> Submission | None:
        """The newest submission."""
        return self.submissions[-1] if self.submissions else None


def read_record(folder: RunFolder) -> JobRecord | None:
    """The record of a run that was meant for a cluster; None for any other."""
    try:
        values: dict[str, Any] = json.loads((folder.path / RECORD_FILE).read_text(encoding="utf-8"))
        submissions = tuple(Submission(**one) for one in values.pop("submissions"))
        return JobRecord(**values, submissions=submissions)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_record(folder: RunFolder, record: JobRecord) -> None:
    """Replace the record in one move."""
    path = folder.path / RECORD_FILE
    stage = path.with_name(f".{RECORD_FILE}.{os.getpid()}")
    stage.write_text(json.dumps(asdict(record), indent=1) + "\n", encoding="utf-8")
    os.replace(stage, path)


def new_record(address: str) -> JobRecord:
    """The record of a run that has not been submitted."""
    return JobRecord(address, uuid.uuid4().hex)


def submission_id(name: str, run: str, attempt: int) -> str:
    """The id of the job that begins with `attempt`: readable, and the same whenever it is asked for."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:60].strip("-")
    return f"{stem}-{hashlib.sha256(run.encode()).hexdigest()[:8]}-{attempt}"


def with_submission(record: JobRecord, submission: Submission) -> JobRecord:
    """`record` with one more submission, or as it is when that one is there."""
    if any(one.id == submission.id for one in record.submissions):
        return record
    return replace(record, submissions=(*record.submissions, submission))


def log_size(path: Path) -> int:
    """Bytes of a file, 0 where there is none."""
    return path.stat().st_size if path.exists() else 0
