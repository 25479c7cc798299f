"""A real HTTP server that answers like an OpenAI-compatible one, or misbehaves as it is told to."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[["Exchange"], None]


@dataclass
class Exchange:
    """One request: its number from zero, its question, its headers; and ways to reply."""

    number: int
    body: dict[str, Any]
    handler: BaseHTTPRequestHandler

    @property
    def question(self) -> str:
        return str(self.body["messages"][-1]["content"])

    def send(self, status: int, raw: bytes, **headers: str) -> None:
        self.handler.send_response(status)
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.send_header("Content-Length", str(len(raw)))
        self.handler.end_headers()
        self.handler.wfile.write(raw)

    def say(self, text: Any) -> None:
        self.send(200, json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode())

    def refuse(self, status: int, message: str = "no", **headers: str) -> None:
        self.send(status, json.dumps({"error": {"message": message}}).encode(), **headers)

    def hang_up(self) -> None:
        self.handler.close_connection = True
        self.handler.connection.shutdown(socket.SHUT_RDWR)

    def dribble(self, seconds: float) -> None:
        """A byte now and then: no single read ever waits long."""
        self.handler.send_response(200)
        self.handler.send_header("Content-Length", "100000")
        self.handler.end_headers()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.handler.wfile.write(b" ")
            self.handler.wfile.flush()
            time.sleep(0.05)


@dataclass
class TeacherServer:
    """Where it listens, and what it was asked."""

    url: str
    exchanges: list[Exchange] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    most_at_once: int = 0
    now: int = 0

    @property
    def requests(self) -> int:
        return len(self.exchanges)


@contextmanager
def teacher_server(script: Script) -> Iterator[TeacherServer]:
    """Serve `script` on a free port until the block ends."""
    lock = threading.Lock()
    state = TeacherServer("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                exchange = Exchange(len(state.exchanges), body, self)
                state.exchanges.append(exchange)
                state.at.append(time.monotonic())
                state.now += 1
                state.most_at_once = max(state.most_at_once, state.now)
            try:
                script(exchange)
            except OSError:
                pass
            finally:
                with lock:
                    state.now -= 1

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
