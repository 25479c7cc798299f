"""The table of runs, and metrics as columns."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq

from orbiter_spec.launch.metrics import read_records
from orbiter_spec.launch.metrics_parquet import write_parquet
from orbiter_spec.launch.run_table import TAIL_BYTES, as_text, last_records, rows
from tests.report.generate import make_run

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


def test_a_row_has_state_step_reward_and_age(tmp_path: Path) -> None:
    make_run(tmp_path / "one", steps=20)
    (row,) = rows(tmp_path, NOW)
    assert (row.name, row.state, row.step, row.total_steps) == ("one", "finished", 20, 20)
    assert (row.reward, row.validation) == (0.8125, 0.71875)
    assert (row.age_seconds, row.run_seconds) == (7200, 5400)


def test_the_newest_stands_first_and_evaluations_are_there(tmp_path: Path) -> None:
    make_run(tmp_path / "old", steps=2)
    make_run(tmp_path / "new", steps=2, started_at="2026-03-01T08:30:00+00:00")
    make_run(tmp_path / "evaluations" / "check", steps=1, started_at="2026-03-01T08:45:00+00:00")
    assert [row.name for row in rows(tmp_path, NOW)] == ["evaluations/check", "new", "old"]


def test_a_run_that_failed_says_why(tmp_path: Path) -> None:
    make_run(tmp_path / "bad", steps=3, state="failed", reason="the disk is full")
    text = as_text(rows(tmp_path, NOW))
    assert text.splitlines()[1].split()[:3] == ["bad", "failed", "3/3"]
    assert text.splitlines()[2].strip() == "the disk is full"


def test_a_run_that_goes_on_counts_to_now(tmp_path: Path) -> None:
    make_run(tmp_path / "on", steps=3, state="running", finished_at=None)
    (row,) = rows(tmp_path, NOW + timedelta(hours=1))
    assert row.run_seconds == row.age_seconds == 3 * 3600


def test_a_long_run_is_read_from_its_end(tmp_path: Path) -> None:
    run = make_run(tmp_path / "long", steps=400, metrics=60)
    assert (run / "metrics.jsonl").stat().st_size > 2 * TAIL_BYTES
    assert last_records(run / "metrics.jsonl")[-1]["step"] == 400
    assert rows(tmp_path, NOW)[0].reward == 0.8125


def test_the_command_for_programs(tmp_path: Path, cli) -> None:
    make_run(tmp_path / "runs" / "one", steps=4)
    content = json.loads(cli("runs", "--format", "json").stdout)
    assert content["runs"][0]["reward"] == 0.8125
    assert "0.8125" in cli("runs").stdout
    assert cli("runs", "nowhere").stdout == "no runs in nowhere\n"


def test_parquet_holds_the_same_numbers(tmp_path: Path) -> None:
    run = make_run(tmp_path / "one", steps=7, metrics=2)
    records = read_records(run / "metrics.jsonl")
    write_parquet(tmp_path / "metrics.parquet", records)
    table = pq.read_table(tmp_path / "metrics.parquet")
    assert table.column("step").to_pylist() == list(range(8))
    back = [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]
    assert back == records
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
