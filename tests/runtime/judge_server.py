"""An OpenAI-compatible server on this machine that misbehaves as a test tells it to."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """One request: `body` is what was asked; a behaviour answers, or does not."""

    protocol_version = "HTTP/1.1"
    body: dict[str, Any]

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        assert isinstance(server, Judge)
        with server.lock:
            index = len(server.requests)
            server.requests.append({"body": self.body, "headers": dict(self.headers), "time": time.monotonic()})
        server.behaviours[min(index, len(server.behaviours) - 1)](self)

    def reply(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def say(self, content: str) -> None:
        self.reply(200, json.dumps({"choices": [{"message": {"content": content}}]}).encode())

    def log_message(self, *_: object) -> None:
        pass


class Judge(ThreadingHTTPServer):
    """The server; each request in turn meets the next behaviour, and the last one stays."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *behaviours: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours = behaviours
        self.requests: list[dict[str, Any]] = []
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_: object) -> None:
        """Clients that give up are what is tested."""


@contextmanager
def judging(*behaviours: Behaviour) -> Iterator[Judge]:
    server = Judge(*behaviours)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def grade(score: Any, **more: Any) -> Behaviour:
    return lambda handler: handler.say(json.dumps({"reason": "as told", "score": score, **more}))


def says(content: str) -> Behaviour:
    return lambda handler: handler.say(content)


def status(code: int, **headers: str) -> Behaviour:
    return lambda handler: handler.reply(code, b'{"error": "as told"}', **headers)


def raw(data: bytes) -> Behaviour:
    return lambda handler: handler.reply(200, data)


def slow(seconds: float, then: Behaviour) -> Behaviour:
    def behave(handler: Handler) -> None:
        time.sleep(seconds)
        then(handler)

    return behave


def hang_up(handler: Handler) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def half(handler: Handler) -> None:
    """Promise more than is sent, then hang up."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    hang_up(handler)


def drip(handler: Handler) -> None:
    """One byte now and then, for ever: every read is in time and the answer never is."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)
