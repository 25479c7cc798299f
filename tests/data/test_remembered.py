"""Specs that share their rows have them looked at once, and a file that changed is looked at again."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

from orbiter_spec.data.build import check
from orbiter_spec.data.request import Columns, DatasetRequest, SourceRequest
from orbiter_spec.diagnostics import Place

ROW = '{"question": "2 + 3", "answer": "5"}\n'


def rows(folder: Path, text: str, age_seconds: float = 60.0) -> SourceRequest:
    path = folder / "rows.jsonl"
    path.write_text(text, encoding="utf-8")
    then = time.time() - age_seconds
    os.utime(path, (then, then))
    return SourceRequest(path, place=Place("a.yaml"))


def test_the_same_rows_are_looked_at_once(tmp_path: Path) -> None:
    request = DatasetRequest((rows(tmp_path, ROW * 3),), place=Place("a.yaml"))
    elsewhere = replace(request, train=(replace(request.train[0], place=None),), place=Place("b.yaml"))
    assert check(elsewhere) is check(request)
    assert check(replace(request, columns=Columns(input="answer"))) is not check(request)
    assert check(request, quick=False) is not check(request)


def test_other_rows_are_looked_at_again(tmp_path: Path) -> None:
    first = check(DatasetRequest((rows(tmp_path, ROW * 3),)))
    assert first.train_rows == 3
    assert check(DatasetRequest((rows(tmp_path, ROW * 4, 30.0),))).train_rows == 4


def test_a_file_of_just_now_is_read_each_time(tmp_path: Path) -> None:
    request = DatasetRequest((rows(tmp_path, ROW, 0.0),))
    assert check(request) is not check(request)


def test_what_finds_something_is_told_each_time(tmp_path: Path) -> None:
    request = DatasetRequest((rows(tmp_path, "{broken"),))
    first, second = check(request), check(request)
    assert first is not second and first.diagnostics == second.diagnostics != ()
