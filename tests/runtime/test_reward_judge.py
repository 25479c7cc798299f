"""A judge that grades, and one whose server is slow, busy, broken or gone: nothing of that becomes a zero."""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from orbiter_spec.runtime.reward_library.judge import Form
from orbiter_spec.runtime.reward_library.web import UnusableError, place, retry_after
from tests.runtime.compiled_rewards import builtin, compiled_rewards, judge, part, score
from tests.runtime.judge_server import (
    Behaviour,
    Judge,
    drip,
    grade,
    half,
    hang_up,
    judging,
    raw,
    says,
    slow,
    status,
)

pytest.importorskip("aiohttp")
Serve = Callable[..., Judge]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Serve]:
    """Start a judge; its answers are kept in a cache folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    open_ones = []

    def start(*behaviours: Behaviour) -> Judge:
        context = judging(*behaviours)
        open_ones.append(context)
        return context.__enter__()

    yield start
    for context in open_ones:
        context.__exit__(None, None, None)


def load(folder: Path, server: Judge, item: dict[str, Any] | None = None, **declared: Any) -> ModuleType:
    declared = {"address": server.address, "model": "grader", "timeout_seconds": 1.5, "retries": 2, **declared}
    return compiled_rewards(folder, [judge(judge=declared, **(item or {}))])


def asked(server: Judge) -> dict[str, Any]:
    found: dict[str, Any] = server.requests[-1]["body"]
    return found


def test_a_grade_is_brought_to_the_scale_and_reported(tmp_path: Path, serve: Serve) -> None:
    server = serve(grade(7))
    module = load(tmp_path, server)
    result = score(module, "it is 2", "2", prompt="1+1?")
    assert result.pop("judge/seconds") > 0
    assert result == {
        "score": 0.7,
        "judge": 0.7,
        "judge/grade": 7.0,
        "judge/reason": "as told",
        "judge/tries": 1.0,
        "judge/cached": 0.0,
    }
    body = asked(server)
    assert body["model"] == "grader"
    assert body["temperature"] == 0.0
    system, user = (message["content"] for message in body["messages"])
    assert "number from 0 to 10" in system
    assert "it is 2" in user and "1+1?" in user and "\n2\n" in user
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["score"] == {"type": "number"}
    assert list(schema["properties"]) == ["reason", "score"]


def test_rubric_sees_the_row_and_cannot_reach_the_machine(tmp_path: Path, serve: Serve) -> None:
    server = serve(grade(1))
    row = {"fields": json.dumps({"topic": "sums"}), "source": "a.jsonl", "row": 3, "split": "train", "index": 0}
    module = load(tmp_path, server, rubric="{{ topic }}: {{ response }} from {{ low }} to {{ high }}", scale=[1, 5])
    assert score(module, "x", "y", **row)["score"] == 0.0
    assert asked(server)["messages"][1]["content"] == "sums: x from 1 to 5"
    module = load(tmp_path, server, rubric="{{ response.__class__.__mro__ }} {{ response }}")
    with pytest.raises(
        RuntimeError, match=r"sample 0 \(a.jsonl row 3, split train\): has a rubric that cannot be filled"
    ):
        score(module, "x", "y", **row)
    module = load(tmp_path, server, rubric="{{ colour }} {{ response }}")
    with pytest.raises(RuntimeError, match="'colour' is undefined"):
        score(module)


@pytest.mark.parametrize(
    "bad",
    [
        status(500),
        status(503),
        status(408),
        raw(b"<html>busy</html>"),
        raw(b'{"choices": []}'),
        says("I would give it a good grade."),
        says('{"reason": "no grade"}'),
        grade(11),
        grade("seven"),
        grade(True),
        grade(None),
        says('{"score": NaN}'),
        hang_up,
        half,
        drip,
        slow(4.0, grade(1)),
    ],
    ids=lambda bad: getattr(bad, "__name__", ""),
)
def test_one_bad_answer_is_asked_again(tmp_path: Path, serve: Serve, bad: Behaviour) -> None:
    server = serve(bad, grade(10))
    result = score(load(tmp_path, server))
    assert result["score"] == 1.0
    assert result["judge/tries"] == 2.0
    assert len(server.requests) == 2


ALWAYS: list[tuple[Behaviour, str]] = [
    (status(500), 'status 500: {"error": "as told"}'),
    (status(429, Retry_After="0"), 'status 429: {"error": "as told"}'),
    (raw(b"not json"), "answered what is not JSON: not json"),
    (says("fine"), "gave no JSON object with 'score': fine"),
    (grade(11), "gave 11, which is no number from 0 to 10"),
    (hang_up, "ServerDisconnectedError"),
    (half, "ClientPayloadError"),
    (drip, "took longer than 1.5 s"),
    (slow(4.0, grade(1)), "took longer than 1.5 s"),
]


@pytest.mark.parametrize(("bad", "said"), ALWAYS)
def test_a_judge_that_stays_broken_stops_the_run_and_says_how(
    tmp_path: Path, serve: Serve, bad: Behaviour, said: str
) -> None:
    server = serve(bad)
    with pytest.raises(RuntimeError) as caught:
        score(load(tmp_path, server, retries=1))
    assert str(caught.value).startswith(
        "orbiter-spec: reward 'judge' (judge) failed on sample ?: got no answer from http://"
    )
    assert "after 2 tries" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(("on_error", "total", "counted"), [(0.25, 1.25, None), ("skip", 1.0, 0.0)])
def test_a_judge_that_stays_broken_counts_as_the_spec_says_and_is_counted(
    tmp_path: Path, serve: Serve, on_error: Any, total: float, counted: float | None
) -> None:
    server = serve(status(500))
    declared = {"address": server.address, "model": "grader", "retries": 0}
    parts = [judge(judge=declared, on_error=on_error), builtin("exact_match")]
    result = score(compiled_rewards(tmp_path, parts))
    assert result["score"] == total
    assert result["judge/errors"] == 1.0
    assert result.get("judge/counted") == counted


def test_retry_after_is_obeyed(tmp_path: Path, serve: Serve) -> None:
    server = serve(status(429, Retry_After="1"), grade(5))
    assert score(load(tmp_path, server))["score"] == 0.5
    first, second = (request["time"] for request in server.requests)
    assert 1.0 <= second - first < 5.0


def test_retry_after_as_a_date_and_its_limits() -> None:
    now = 1_800_000_000.0
    assert retry_after(email.utils.formatdate(now + 7, usegmt=True), now) == 7.0
    assert retry_after("100000") == 60.0
    assert retry_after("-5") == 0.0
    assert [retry_after(text) for text in (None, "", "soon", "nan")] == [None] * 4


@pytest.mark.parametrize("code", [400, 401, 404])
def test_a_refusal_is_not_asked_again(tmp_path: Path, serve: Serve, code: int) -> None:
    server = serve(status(code))
    with pytest.raises(RuntimeError, match=f"was refused by http://.*: status {code}"):
        score(load(tmp_path, server))
    assert len(server.requests) == 1


def test_nobody_listens(tmp_path: Path, serve: Serve) -> None:
    server = serve(grade(1))
    server.shutdown()
    server.server_close()
    with pytest.raises(RuntimeError, match="after 2 tries: ClientConnectorError"):
        score(load(tmp_path, server, retries=1))


def test_the_key_goes_to_the_server_and_nowhere_else(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JUDGE_KEY_OF_TEST", "sk-secret")
    server = serve(grade(1), status(401))
    module = load(tmp_path, server, api_key_env="JUDGE_KEY_OF_TEST")
    score(module)
    assert server.requests[0]["headers"]["Authorization"] == "Bearer sk-secret"
    with pytest.raises(RuntimeError) as caught:
        score(module, "another")
    assert "sk-secret" not in str(caught.value) + "".join(capfd.readouterr())
    assert all(b"sk-secret" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_key_that_is_not_set_stops_before_the_first_sample(tmp_path: Path, serve: Serve) -> None:
    with pytest.raises(RuntimeError, match="environment variable NO_SUCH_KEY_OF_TEST, which is not set"):
        load(tmp_path, serve(grade(1)), api_key_env="NO_SUCH_KEY_OF_TEST")


def test_an_address_is_shown_without_what_may_be_secret() -> None:
    assert place("https://user:pass@host:8/v1/x?key=1") == "https://host:8/v1/x"


def test_the_same_answer_is_judged_once(tmp_path: Path, serve: Serve) -> None:
    server = serve(grade(4), grade(9))
    first = score(load(tmp_path, server))
    again = score(load(tmp_path, server))
    assert (first["score"], again["score"]) == (0.4, 0.4)
    assert (first["judge/cached"], again["judge/cached"], again["judge/tries"]) == (0.0, 1.0, 0.0)
    assert len(server.requests) == 1
    assert score(load(tmp_path, server), "other")["score"] == 0.9
    assert score(load(tmp_path, server, cache=False))["judge/cached"] == 0.0
    for path in (tmp_path / "cache").rglob("*.json"):
        path.write_text("{broken", encoding="utf-8")
    assert score(load(tmp_path, server))["judge/cached"] == 0.0


def test_bad_answers_are_not_kept(tmp_path: Path, serve: Serve) -> None:
    server = serve(grade(99), grade(3))
    assert score(load(tmp_path, server))["score"] == 0.3
    assert score(load(tmp_path, server))["judge/cached"] == 1.0


def test_several_verdicts_are_averaged(tmp_path: Path, serve: Serve) -> None:
    server = serve(grade(0), grade(5), grade(10))
    result = score(load(tmp_path, server, samples=3, concurrency=1))
    assert result["score"] == pytest.approx(0.5)
    assert result["judge/tries"] == 3.0


def test_labels_and_a_schema_of_ones_own(tmp_path: Path, serve: Serve) -> None:
    server = serve(says('{"reason": "r", "label": "partly"}'))
    module = load(tmp_path, server, labels={"right": 1.0, "partly": 0.5, "wrong": 0.0})
    assert score(module)["score"] == 0.5
    assert asked(server)["response_format"]["json_schema"]["schema"]["properties"]["label"]["enum"] == [
        "right",
        "partly",
        "wrong",
    ]
    schema = {"type": "object", "properties": {"mark": {"type": "integer"}}, "required": ["mark"]}
    server = serve(says('{"mark": 2.5}'), says('{"mark": 2}'))
    result = score(load(tmp_path, server, verdict=schema, grade="mark", scale=[0, 4]))
    assert (result["score"], result["judge/tries"]) == (0.5, 2.0)


@pytest.mark.parametrize(
    "content",
    [
        '{"score": 4, "reason": "r"}',
        '```json\n{"score": 4}\n```',
        'First {"score": 1}, no: {"score": 4}',
        '<think>{"score": 9}</think>{"score": 4}',
        'Here {is} my {"verdict"}: {"score": 4.0}',
    ],
)
def test_verdicts_are_found_in_what_models_write(content: str) -> None:
    assert Form({}).read(content).score == 0.4


def test_a_reply_made_of_braces_ends() -> None:
    started = time.monotonic()
    with pytest.raises(UnusableError):
        Form({}).read("{" * 20_000)
    assert time.monotonic() - started < 10


def test_a_judge_in_the_runs_own_pool_is_asked_at_verls_router(tmp_path: Path, serve: Serve) -> None:
    server = serve(grade(6))
    module = compiled_rewards(tmp_path, [judge(judge={})], model={"path": "org/judge", "engine": "vllm"})
    router = f"127.0.0.1:{server.server_port}"
    result = module.compute_score("d", "x", "y", {}, reward_router_address=router, reward_model_tokenizer=object())
    assert result["score"] == 0.6
    assert asked(server)["model"] == "org/judge"
    with pytest.raises(RuntimeError, match="names no address, and no reward model runs beside it"):
        score(module, "z")


def test_a_slow_judge_keeps_no_other_score_waiting(tmp_path: Path, serve: Serve) -> None:
    server = serve(slow(0.4, grade(10)))
    declared = {"address": server.address, "model": "grader", "concurrency": 32, "timeout_seconds": 10, "cache": False}
    module = compiled_rewards(tmp_path, [judge(judge=declared), part("quick")], "def quick(response): return 1.0\n")

    async def all_at_once() -> tuple[float, list[dict[str, Any]]]:
        started = time.perf_counter()
        results = await asyncio.gather(*(module.compute_score_async("d", str(i), "y", {}) for i in range(24)))
        return time.perf_counter() - started, results

    seconds, results = asyncio.run(all_at_once())
    assert seconds < 24 * 0.4 / 3
    assert {result["score"] for result in results} == {2.0}


def test_questions_in_flight_are_limited(tmp_path: Path, serve: Serve) -> None:
    now, most = [0], [0]

    def counting(handler: Any) -> None:
        with handler.server.lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05)
        with handler.server.lock:
            now[0] -= 1
        grade(1)(handler)

    server = serve(counting)
    module = load(tmp_path, server, concurrency=3, timeout_seconds=10.0)

    async def all_at_once() -> None:
        await asyncio.gather(*(module.compute_score_async("d", str(i), "y", {}) for i in range(30)))

    asyncio.run(all_at_once())
    assert most[0] <= 3
    assert len(server.requests) == 30
