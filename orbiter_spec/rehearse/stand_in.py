"""A local server in the place of the judges, teachers and sandboxes of a spec, for as long as a rehearsal lasts.

A rehearsal proves wiring: that a rubric can be filled, a request sent and a reply read. It needs no judgement, and
nobody wants two steps of a random model on the bill of a service, or rows on a machine that is not theirs. So the real
clients ask this server, on this machine and without a key. A grade is drawn from the declared scale by the hash of the
request: the same question gets the same grade.

    POST /chat/NAME/chat/completions   one choice, with the JSON object that was registered under NAME
    POST /sandbox                      the program printed nothing
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Answer = Callable[[random.Random], str]
"""Makes the text of a reply with a source of chance."""
REQUEST_BYTES = 16 * 1024 * 1024
RAN = {"status": "Finished", "execution_time": 0.0, "return_code": 0, "stdout": "", "stderr": ""}


class StandIn:
    """The server: `answers` by name, and how often each was asked (`sandbox` counts programs).

    `folder` is where its clients may keep what it answered, apart from real answers.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers: dict[str, Answer] = {}
        self.asked: Counter[str] = Counter()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def chat(self, name: str, answer: Answer) -> str:
        """The address, up to where `/chat/completions` follows, that replies with `answer`."""
        self.answers[name] = answer
        return f"{self.url}/chat/{name}"

    @property
    def counts(self) -> dict[str, int]:
        """How often each was asked, also those that never were."""
        return {**dict.fromkeys(self.answers, 0), **self.asked}

    @property
    def sandbox(self) -> str:
        """The address that takes programs."""
        return f"{self.url}/sandbox"

    def reply(self, path: str, body: bytes) -> dict[str, Any] | None:
        """What is answered to `body` at `path`; None for an address that is not here."""
        parts = path.strip("/").split("/")
        if parts == ["sandbox"]:
            self.asked["sandbox"] += 1
            return {"status": "Success", "message": "", "compile_result": None, "run_result": RAN}
        answer = self.answers.get(parts[1]) if len(parts) > 1 and parts[0] == "chat" else None
        if answer is None:
            return None
        self.asked[parts[1]] += 1
        content = answer(random.Random(hashlib.sha256(body).digest()))
        message = {"role": "assistant", "content": content}
        return {
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }

    @contextmanager
    def running(self) -> Iterator[StandIn]:
        """Serve until the block ends."""
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()


def _handler(stand_in: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            if size > REQUEST_BYTES:
                self.close_connection = True
                return self._send(413, {"error": "the request is too large"})
            found = stand_in.reply(self.path, self.rfile.read(size))
            self._send(200 if found else 404, found or {"error": f"nothing is at {self.path}"})

        def _send(self, status: int, content: Mapping[str, Any]) -> None:
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """The rehearsal's own report says how often was asked."""

    return Handler


def drawn(schema: Mapping[str, Any], draw: random.Random) -> Any:
    """A value that fits a JSON schema of types, enums, ranges and required properties."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return draw.choice(list(schema["enum"]))
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: drawn(inner, draw) for name, inner in (schema.get("properties") or {}).items()}
    if kind == "array":
        return [drawn(schema.get("items") or {}, draw) for _ in range(max(1, int(schema.get("minItems", 1))))]
    if kind in ("integer", "number"):
        low = float(schema.get("minimum", schema.get("exclusiveMinimum", 0)))
        high = float(schema.get("maximum", schema.get("exclusiveMaximum", low + 1)))
        return draw.randint(int(low), int(high)) if kind == "integer" else round(draw.uniform(low, high), 3)
    return {"boolean": draw.random() < 0.5, "null": None}.get(kind, "a stand-in of the rehearsal")
