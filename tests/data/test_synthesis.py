"""A teacher over rows: in order, whatever the order of its answers; stops, drops or goes on from its cache."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.data.chat_client import ChatEndpoint
from orbiter_spec.data.synthesis import FAILURES_IN_A_ROW, SynthesisError, Teacher, Teaching, taught
from tests.data.teacher_server import Exchange, TeacherServer, teacher_server

ROWS = [{"question": str(number), "kept": [number]} for number in range(40)]


def teacher(server: TeacherServer, cache: Path | None = None, /, attempts: int = 2, **teaching: Any) -> Teacher:
    endpoint = ChatEndpoint(
        server.url, "m", cache=cache, attempts=attempts, first_pause_seconds=0.01, timeout_seconds=5
    )
    return Teacher(endpoint, Teaching(**{"prompt": "Solve {{ question }}", **teaching}))


def rows_of(made: Teacher, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (row for one in taught(made, rows) for row in one.rows)


def late(exchange: Exchange) -> None:
    """Answers come back in any order."""
    time.sleep(random.random() / 50)
    exchange.say(exchange.question.upper())


def test_rows_keep_their_order_and_their_fields() -> None:
    with teacher_server(late) as server:
        made = teacher(server)
        assert list(rows_of(made, ROWS)) == [{**row, "answer": f"SOLVE {row['question']}"} for row in ROWS]
    assert (made.report.rows_in, made.report.rows_out, made.report.dropped.total()) == (40, 40, 0)


def test_several_samples_and_the_row_itself() -> None:
    with teacher_server(late) as server:
        rows = list(rows_of(teacher(server, samples=2, keep=True, write="reply"), ROWS[:2]))
    assert [row.get("reply") for row in rows] == [None, "SOLVE 0", "SOLVE 0", None, "SOLVE 1", "SOLVE 1"]
    assert server.requests == 4


def test_instructions_are_a_system_prompt() -> None:
    with teacher_server(late) as server:
        list(rows_of(teacher(server, instructions="Level {{ kept[0] }}"), ROWS[3:4]))
    assert server.exchanges[0].body["messages"] == [
        {"role": "system", "content": "Level 3"},
        {"role": "user", "content": "Solve 3"},
    ]


@pytest.mark.parametrize("fence", ["{}", "```json\n{}\n```", "  \n{}"])
def test_json_becomes_fields(fence: str) -> None:
    reply = fence.replace("{}", '{"answer": 4, "why": "2+2"}')
    with teacher_server(lambda exchange: exchange.say(reply)) as server:
        (row,) = rows_of(teacher(server, format="json"), ROWS[:1])
    assert row == {**ROWS[0], "answer": 4, "why": "2+2"}


def test_a_json_list_becomes_rows() -> None:
    with teacher_server(lambda exchange: exchange.say('[{"question": "a"}, {"question": "b"}]')) as server:
        rows = list(rows_of(teacher(server, format="json", required=("question",)), ROWS[:1]))
    assert [row["question"] for row in rows] == ["a", "b"]


NONSENSE: dict[str, str] = {
    "text": "Certainly! Here it is.",
    "a number": "3",
    "an empty list": "[]",
    "a list of texts": '["a"]',
    "a missing field": '{"question": "q"}',
    "an empty field": '{"answer": ""}',
    "half": '{"answer": "4"',
}


@pytest.mark.parametrize("reply", NONSENSE)
def test_nonsense_for_json_stops_or_is_counted(reply: str) -> None:
    with teacher_server(lambda exchange: exchange.say(NONSENSE[reply])) as server:
        with pytest.raises(SynthesisError, match="no usable answer"):
            list(rows_of(teacher(server, format="json", required=("answer",)), ROWS[:1]))
        dropping = teacher(server, format="json", required=("answer",), on_error="drop")
        assert list(rows_of(dropping, ROWS[:3])) == []
    assert (dropping.report.rows_in, dropping.report.rows_out, dropping.report.dropped.total()) == (3, 0, 3)


def sometimes(exchange: Exchange) -> None:
    """Every third question is never answered well."""
    if int(exchange.question.split()[-1]) % 3:
        exchange.say("fine")
    else:
        exchange.hang_up()


def test_dropping_goes_on_and_counts() -> None:
    with teacher_server(sometimes) as server:
        made = teacher(server, on_error="drop")
        rows = list(rows_of(made, ROWS))
    assert [row["question"] for row in rows] == [row["question"] for row in ROWS if int(row["question"]) % 3]
    assert made.report.dropped.total() == 14


def test_stopping_stops_and_asks_no_more() -> None:
    with teacher_server(sometimes) as server:
        with pytest.raises(SynthesisError, match="no usable answer: connection failed"):
            list(rows_of(teacher(server), ROWS * 20))
        time.sleep(0.3)
        asked = server.requests
        time.sleep(0.3)
        assert server.requests == asked < 100


def test_a_teacher_that_died_stops_even_when_dropping() -> None:
    with teacher_server(lambda exchange: exchange.refuse(500)) as server:
        made = teacher(server, on_error="drop", attempts=1)
        with pytest.raises(SynthesisError, match=f"failed {FAILURES_IN_A_ROW} times in a row"):
            list(rows_of(made, ROWS * 5))
        assert server.requests < 80


def test_a_refused_key_stops_even_when_dropping() -> None:
    said = pytest.raises(SynthesisError, match="cannot be asked: status 401")
    with teacher_server(lambda exchange: exchange.refuse(401)) as server, said:
        list(rows_of(teacher(server, on_error="drop"), ROWS))


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("{{ questoin }}", "questoin"),
        ("{% for a in range(10**9) %}{% endfor %}", "not allowed"),
        ("{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}", "not allowed"),
        ("{{ question.__class__.__mro__ }}", "not allowed"),
    ],
)
def test_a_prompt_that_cannot_be_used_stops(prompt: str, said: str) -> None:
    began = time.monotonic()
    with teacher_server(late) as server, pytest.raises(SynthesisError, match=said):
        list(rows_of(teacher(server, prompt=prompt), ROWS))
    assert server.requests == 0
    assert time.monotonic() - began < 5


def test_a_rerun_costs_nothing_and_gives_the_same(tmp_path: Path) -> None:
    def changing(exchange: Exchange) -> None:
        exchange.say(f"answer {random.random()}")

    with teacher_server(changing) as server:
        first = list(rows_of(teacher(server, tmp_path / "c", samples=2), ROWS))
        asked = server.requests
        again = teacher(server, tmp_path / "c", samples=2)
        assert list(rows_of(again, ROWS)) == first
        assert (server.requests, again.report.chat.cached) == (asked, asked) == (80, 80)


def test_breaking_off_leaves_nothing_running(tmp_path: Path) -> None:
    import threading

    with teacher_server(late) as server:
        rows = taught(teacher(server, tmp_path / "c"), ROWS)
        next(rows)
        rows.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "teacher"]


def test_rows_are_read_only_as_far_as_needed() -> None:
    taken: list[int] = []

    def endless() -> Any:
        number = 0
        while True:
            taken.append(number)
            yield {"question": str(number)}
            number += 1

    with teacher_server(late) as server:
        made = teacher(server)
        rows = taught(made, endless())
        for _ in range(10):
            next(rows)
        rows.close()
    assert len(taken) <= 10 + made.rows_ahead


KILLED = """
import os, sys
from pathlib import Path
from orbiter_spec.data.chat_client import ChatEndpoint
from orbiter_spec.data.synthesis import Teacher, Teaching, taught

endpoint = ChatEndpoint(sys.argv[1], "m", cache=Path(sys.argv[2]), concurrency=2)
for number, row in enumerate(taught(Teacher(endpoint, Teaching("{{ q }}")), [{"q": str(i)} for i in range(60)])):
    if number == int(sys.argv[3]):
        os.kill(os.getpid(), 9)
    print(row.rows[0]["answer"])
"""


def test_a_killed_build_goes_on_where_it_was(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(KILLED), encoding="utf-8")

    def build(server: TeacherServer, stop_at: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(script), server.url, str(tmp_path / "c"), str(stop_at)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    with teacher_server(lambda exchange: exchange.say(f"answer {exchange.question}")) as server:
        assert build(server, 20).returncode == -9
        before = server.requests
        assert 20 < before < 40
        done = build(server, 1000)
        assert done.stdout.split("\n")[:-1] == [f"answer {i}" for i in range(60)]
        repeated = server.requests - 60
        assert repeated <= 2, "only what was under way when the build was killed is asked again"
