"""What a server does wrong, against a real one: asked again, given up, or stopped; never an empty answer."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.data.chat_cache import ChatCache
from orbiter_spec.data.chat_client import ChatClient, ChatEndpoint, ChatError, retry_after
from tests.data.teacher_server import Exchange, Script, teacher_server

FAST: dict[str, Any] = {"first_pause_seconds": 0.01, "attempts": 3, "timeout_seconds": 5.0}


def ask(endpoint: ChatEndpoint, *questions: str) -> tuple[list[str | ChatError], ChatClient]:
    async def all_of_them() -> tuple[list[Any], ChatClient]:
        async with ChatClient(endpoint) as client:
            asked = [client.answer([{"role": "user", "content": question}]) for question in questions]
            return await asyncio.gather(*asked, return_exceptions=True), client

    return asyncio.run(all_of_them())


def twice_wrong(wrong: Script) -> Script:
    """Misbehave on the first two requests, then answer."""
    return lambda exchange: wrong(exchange) if exchange.number < 2 else exchange.say("fine")


PASSING: dict[str, Script] = {
    "status 500": lambda exchange: exchange.refuse(500, "overloaded"),
    "status 503": lambda exchange: exchange.send(503, b"<html>busy</html>"),
    "status 429": lambda exchange: exchange.refuse(429, "slow down", Retry_After="0"),
    "hangs up": lambda exchange: exchange.hang_up(),
    "malformed json": lambda exchange: exchange.send(200, b'{"choices": [{"mess'),
    "not json": lambda exchange: exchange.send(200, b"<html>welcome</html>"),
    "no choices": lambda exchange: exchange.send(200, b'{"choices": []}'),
    "a list": lambda exchange: exchange.send(200, b"[1, 2]"),
    "null content": lambda exchange: exchange.say(None),
    "empty content": lambda exchange: exchange.say("  \n"),
    "deep json": lambda exchange: exchange.send(200, b"[" * 200_000),
}


@pytest.mark.parametrize("wrong", PASSING)
def test_what_passes_is_asked_again(wrong: str) -> None:
    with teacher_server(twice_wrong(PASSING[wrong])) as server:
        (answer,), client = ask(ChatEndpoint(server.url, "m", **FAST), "q")
    assert answer == "fine"
    assert (server.requests, client.counts.retries) == (3, 2)


@pytest.mark.parametrize("wrong", PASSING)
def test_what_does_not_pass_is_an_error_and_no_answer(wrong: str) -> None:
    with teacher_server(PASSING[wrong]) as server:
        (error,), _ = ask(ChatEndpoint(server.url, "m", **FAST), "q")
    assert isinstance(error, ChatError)
    assert (error.attempts, error.stops, server.requests) == (3, False, 3)


@pytest.mark.parametrize(("status", "stops"), [(400, False), (422, False), (401, True), (403, True), (404, True)])
def test_a_final_refusal_is_not_repeated(status: int, stops: bool) -> None:
    with teacher_server(lambda exchange: exchange.refuse(status, "not like that")) as server:
        (error,), _ = ask(ChatEndpoint(server.url, "m", **FAST), "q")
    assert isinstance(error, ChatError)
    assert (error.stops, server.requests, str(error)) == (stops, 1, f"status {status}: not like that")


def test_a_slow_server_meets_the_time_limit() -> None:
    def slow(exchange: Exchange) -> None:
        time.sleep(3)

    began = time.monotonic()
    with teacher_server(slow) as server:
        (error,), _ = ask(ChatEndpoint(server.url, "m", timeout_seconds=0.2, attempts=2, first_pause_seconds=0.01), "q")
    assert isinstance(error, ChatError) and "no answer within 0.2 seconds" in str(error)
    assert time.monotonic() - began < 2.5


def test_a_server_that_dribbles_meets_the_same_limit() -> None:
    with teacher_server(lambda exchange: exchange.dribble(3)) as server:
        began = time.monotonic()
        (error,), _ = ask(ChatEndpoint(server.url, "m", timeout_seconds=0.3, attempts=1), "q")
        assert time.monotonic() - began < 2
    assert isinstance(error, ChatError) and "no answer within" in str(error)


def test_retry_after_is_waited_for() -> None:
    def busy_once(exchange: Exchange) -> None:
        exchange.say("fine") if exchange.number else exchange.refuse(429, Retry_After="1")

    with teacher_server(busy_once) as server:
        (answer,), _ = ask(ChatEndpoint(server.url, "m", **FAST), "q")
    assert answer == "fine"
    assert server.at[1] - server.at[0] >= 1


@pytest.mark.parametrize(("text", "seconds"), [("2", 2.0), ("-1", 0.0), (None, None), ("soon", None), ("", None)])
def test_retry_after_is_a_number(text: str | None, seconds: float | None) -> None:
    assert retry_after(text) == seconds


def test_retry_after_may_be_a_date() -> None:
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_nobody_listens() -> None:
    (error,), _ = ask(ChatEndpoint("http://127.0.0.1:9/v1", "m", **FAST), "q")
    assert isinstance(error, ChatError) and "connection failed" in str(error)


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://host/v1", "nonsense"])
def test_an_address_that_is_none_stops_everything(url: str) -> None:
    (error,), _ = ask(ChatEndpoint(url, "m", **FAST), "q")
    assert isinstance(error, ChatError) and error.stops


def test_no_more_at_once_than_allowed() -> None:
    def slowly(exchange: Exchange) -> None:
        time.sleep(0.05)
        exchange.say(exchange.question)

    with teacher_server(slowly) as server:
        answers, _ = ask(ChatEndpoint(server.url, "m", concurrency=3, **FAST), *(str(i) for i in range(12)))
    assert answers == [str(i) for i in range(12)]
    assert server.most_at_once == 3


def test_the_rate_limit_spaces_requests() -> None:
    with teacher_server(lambda exchange: exchange.say("a")) as server:
        ask(ChatEndpoint(server.url, "m", requests_per_minute=600, **FAST), *map(str, range(6)))
    assert server.at[-1] - server.at[0] >= 0.4


def test_an_answer_is_paid_once(tmp_path: Path) -> None:
    with teacher_server(lambda exchange: exchange.say(f"answer {exchange.number}")) as server:
        endpoint = ChatEndpoint(server.url, "m", cache=tmp_path / "deep" / "answers.sqlite", **FAST)
        first, _ = ask(endpoint, "q")
        second, client = ask(endpoint, "q")
    assert first == second
    assert (server.requests, client.counts.cached, client.counts.requests) == (1, 1, 0)


def test_what_decides_the_answer_decides_the_cache(tmp_path: Path) -> None:
    with teacher_server(lambda exchange: exchange.say("a")) as server:
        for changes in ({}, {"temperature": 0.5}, {"max_tokens": 9}, {"extra": {"seed": 1}}):
            ask(ChatEndpoint(server.url, "m", cache=tmp_path / "c", **FAST, **changes), "q")
        ask(ChatEndpoint(server.url, "other", cache=tmp_path / "c", **FAST), "q")
    assert server.requests == 5


def test_a_useless_answer_is_not_kept(tmp_path: Path) -> None:
    def refuse(text: str) -> None:
        raise ValueError("not a number")

    async def asking(endpoint: ChatEndpoint) -> None:
        async with ChatClient(endpoint) as client:
            await client.answer([{"role": "user", "content": "q"}], accept=refuse)

    with teacher_server(lambda exchange: exchange.say("nonsense")) as server:
        endpoint = ChatEndpoint(server.url, "m", cache=tmp_path / "c", **FAST)
        with pytest.raises(ChatError, match="of no use: not a number"):
            asyncio.run(asking(endpoint))
    assert server.requests == 3
    assert len(ChatCache(tmp_path / "c")) == 0


def test_the_key_comes_from_the_environment_and_shows_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TEACHER_KEY", "sk-very-secret")
    with teacher_server(lambda exchange: exchange.refuse(401, "bad key sk-very-secret")) as server:
        (error,), _ = ask(ChatEndpoint(server.url, "m", "TEACHER_KEY", cache=tmp_path / "c", **FAST), "q")
    assert server.exchanges[0].handler.headers["Authorization"] == "Bearer sk-very-secret"
    assert "secret" not in str(error)
    assert all(b"very-secret" not in path.read_bytes() for path in tmp_path.iterdir())


def test_without_the_key_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEACHER_KEY", raising=False)
    with teacher_server(lambda exchange: exchange.say("a")) as server, pytest.raises(ChatError, match="TEACHER_KEY"):
        ask(ChatEndpoint(server.url, "m", "TEACHER_KEY", **FAST), "q")
    assert server.requests == 0


def test_a_broken_cache_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("this is no database, " * 100, encoding="utf-8")
    with pytest.raises(OSError, match="cache of answers"):
        ask(ChatEndpoint("http://127.0.0.1:9/v1", "m", cache=tmp_path / "c"), "q")
