"""The job's log becomes the run folder's files, the same ones however often it is told."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from orbiter_spec.launch.cluster.follow import cluster_status, ending, job_reason, make_story
from orbiter_spec.launch.cluster.on_cluster import Driver, tell_saved
from orbiter_spec.launch.cluster.record import JobRecord, Submission, read_record, submission_id, write_record
from orbiter_spec.launch.cluster.task import event_line
from orbiter_spec.launch.job_server import JobState
from orbiter_spec.launch.metrics import read_records
from orbiter_spec.launch.progress import Silent
from orbiter_spec.launch.run_folder import RunFolder, create_run_folder
from orbiter_spec.launch.status import State
from tests.launch.cluster.test_parcel import TASK
from tests.launch.test_checkpoints import checkpoint

JOB = Submission("small-1", 1, len(b"earlier\n"))
RECORD = JobRecord("http://head:8265", "abc", (JOB,))
LOG = "".join(
    [
        event_line("placed", folder="/shared/small", host="head", shared=False),
        event_line("attempt", number=1, from_step=0),
        "ray init kwargs\n",
        *(event_line("metrics", record={"step": step, "critic/score/mean": step / 10}) for step in (1, 2, 3)),
        "ValueError: no\n",
        event_line("failed", state="failed", reason="ValueError: no", step=3, resumable_step=2, code=1),
        event_line("attempt", number=2, from_step=2),
        *(event_line("metrics", record={"step": step, "critic/score/mean": step / 20}) for step in (3, 4)),
        event_line("ended", state="finished", reason=None, step=4, resumable_step=4, code=0),
    ]
)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = create_run_folder(tmp_path, "small", datetime(2026, 1, 2, 3, 4, 5))
    folder.log.write_text("earlier\n", encoding="utf-8")
    folder.write_status(cluster_status(RECORD.address, total_steps=4))
    return folder


def tell(folder: RunFolder, *pieces: str):
    story = make_story(folder, RECORD, JOB, folder.read_status(), Silent())
    for piece in pieces:
        story.hear(piece)
    return story


def files(folder: RunFolder) -> dict[str, str]:
    wanted = [folder.log, folder.metrics, *folder.logs.glob("metrics-*")]
    return {path.name: path.read_text(encoding="utf-8") for path in wanted}


def test_a_log_becomes_log_metrics_and_status(folder: RunFolder) -> None:
    story = tell(folder, LOG)
    assert folder.log.read_text(encoding="utf-8") == "earlier\nray init kwargs\nValueError: no\n"
    records = read_records(folder.metrics)
    assert [(record["step"], record["critic/score/mean"]) for record in records] == [
        (1, 0.1),
        (2, 0.2),
        (3, 0.15),
        (4, 0.2),
    ]
    end = ending(story, JobState(JOB.id, "SUCCEEDED", exit_code=0))
    assert (end.state, end.step, end.resumable_step, end.told) == (State.FINISHED, 4, 4, True)
    assert (story.status.attempt, story.status.step) == (2, 4)
    assert read_record(folder).folder == "/shared/small"


@pytest.mark.parametrize("size", [1, 7, 100])
def test_pieces_cuts_and_second_tellings_change_nothing(folder: RunFolder, size: int) -> None:
    tell(folder, LOG)
    once = files(folder)
    story = tell(folder)
    for start in range(0, len(LOG) // 2, size):
        story.hear(LOG[start : min(start + size, len(LOG) // 2)])
    story.reconnect()
    for start in range(0, len(LOG), size):
        story.hear(LOG[start : start + size])
    assert files(folder) == once


def test_a_job_stopped_without_a_last_word_can_be_gone_on_with(folder: RunFolder) -> None:
    log = LOG.splitlines(keepends=True)
    story = tell(folder, *log[:5], event_line("saved", step=2), log[5])
    end = ending(story, JobState(JOB.id, "STOPPED"))
    assert (end.state, end.step, end.resumable_step) == (State.INTERRUPTED, 3, 2)
    assert folder.read_status().resumable_step == 2
    assert "@orbiter" not in folder.log.read_text(encoding="utf-8")


def test_the_program_on_the_cluster_tells_each_whole_checkpoint_once(tmp_path: Path, capfdbinary) -> None:
    driver = Driver(TASK, tmp_path, tmp_path)
    tell_saved(driver)
    for step in (2, 4):
        checkpoint(tmp_path / "checkpoints", step)
        tell_saved(driver)
        tell_saved(driver)
    (checkpoint(tmp_path / "checkpoints", 6) / "data.pt").unlink()
    tell_saved(driver)
    said = capfdbinary.readouterr().out.decode()
    assert said == event_line("saved", step=2) + event_line("saved", step=4)


def test_a_line_that_only_looks_like_an_event_is_output(folder: RunFolder) -> None:
    tell(folder, "@orbiter not json\n@orbiter [1]\n")
    assert folder.log.read_text(encoding="utf-8") == "earlier\n@orbiter not json\n@orbiter [1]\n"


@pytest.mark.parametrize(
    ("message", "code", "reason"),
    [
        ("Job entrypoint command failed with exit code -9, last logs", None, "killed by SIGKILL"),
        ("", -15, "killed by SIGTERM"),
        ("Unexpected error occurred: actor died\nmore", None, "Ray ended the job: Unexpected error occurred"),
        ("", None, "Ray gives no reason"),
    ],
)
def test_a_driver_that_could_not_speak_is_spoken_for(message: str, code: int | None, reason: str) -> None:
    assert reason in job_reason(JobState("id", "FAILED", message, code))


def test_ids_follow_from_the_run_and_the_attempt() -> None:
    assert submission_id("my run!", "abc", 2) == submission_id("my run!", "abc", 2)
    assert submission_id("my run!", "abc", 2) != submission_id("my run!", "abc", 3)
    assert submission_id("my run!", "abd", 2) != submission_id("my run!", "abc", 2)


def test_a_record_is_written_whole_or_read_as_none(folder: RunFolder) -> None:
    assert read_record(folder) is None
    write_record(folder, RECORD)
    assert read_record(folder) == RECORD
    (folder.path / "job.json").write_text(json.dumps({"address": 1}), encoding="utf-8")
    assert read_record(folder) is None
    assert replace(RECORD, submissions=()).last is None
