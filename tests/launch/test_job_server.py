"""What a job server can answer that is no answer, over real sockets; real clusters are asked in the training tests."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from orbiter_spec.launch.job_server import ClusterError, JobServer, JobState, UnreachableError

ANSWERS = {
    "/api/version": (200, '{"ray_version": "9.9"}'),
    "/api/jobs/": (200, '[{"submission_id": "one", "status": "RUNNING"}, {"job_id": "2", "status": "FAILED"}]'),
    "/api/jobs/one": (200, '{"status": "FAILED", "message": "gone", "driver_exit_code": -9}'),
    "/api/jobs/two": (404, "Job two does not exist"),
    "/api/jobs/three": (500, "Traceback (most recent call last):\n  File\nValueError: no such node"),
    "/api/jobs/four": (403, "who are you"),
    "/page": (200, "<html>"),
}  # fmt: skip


class Answering(BaseHTTPRequestHandler):
    """Says what ANSWERS hold, and remembers the token."""

    tokens: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.tokens.append(self.headers["Authorization"])
        code, text = ANSWERS[self.path]
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path) -> Iterator[JobServer]:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "none"))
    listening = HTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield JobServer(f"http://127.0.0.1:{listening.server_port}/")
    listening.shutdown()
    listening.server_close()


def test_jobs_are_states_and_an_unknown_one_is_none(server: JobServer) -> None:
    assert server.version() == "9.9"
    assert server.job("one") == JobState("one", "FAILED", "gone", -9)
    assert server.job("two") is None
    assert [job.id for job in server.running()] == ["one"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/api/jobs/three", "it answers 500: ValueError: no such node"),
        ("/api/jobs/four", "it wants Ray's token"),
        ("/page", "it is not Ray's job server"),
    ],
)
def test_a_refusal_is_one_line_and_will_not_pass(server: JobServer, path: str, reason: str) -> None:
    with pytest.raises(ClusterError) as caught:
        server.get(path)
    assert reason in caught.value.reason
    assert not isinstance(caught.value, UnreachableError)


def test_the_token_is_found_where_ray_finds_it(server: JobServer, monkeypatch, tmp_path) -> None:
    Answering.tokens.clear()
    server.version()
    (tmp_path / "token").write_text("from a file\n", encoding="utf-8")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))
    server.version()
    monkeypatch.setenv("RAY_AUTH_TOKEN", "from here")
    server.version()
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    server.version()
    assert Answering.tokens == [None, "Bearer from a file", "Bearer from here", None]


def test_silence_and_a_dead_port_may_pass() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(UnreachableError, match="it gives no answer"):
            JobServer(f"http://127.0.0.1:{port}", seconds=0.3).version()
    with pytest.raises(UnreachableError, match=f"http://127.0.0.1:{port}: connection refused"):
        JobServer(f"http://127.0.0.1:{port}").submit("true")


def test_questions_need_no_ray() -> None:
    look = "from orbiter_spec.launch.job_server import JobServer; import sys; assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", look], check=True)
