"""Ray's job server over HTTP, with the standard library: no Ray here, and no version of it that has to match.

Every call answers within its own time limit or raises; bodies are read up to a limit. Where a cluster wants Ray's token
it is sent as Ray's own client would: from RAY_AUTH_TOKEN, the file of RAY_AUTH_TOKEN_PATH, or ~/.ray/auth_token.
"""

from __future__ import annotations

import contextlib
import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

CALL_SECONDS = 5.0
BODY_BYTES = 32 << 20
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


class JobServerError(Exception):
    """The job server gave no usable answer; the message says why in a few words."""


@dataclass(frozen=True, slots=True)
class JobServer:
    """The job server at `address`, such as http://head:8265. `seconds` limit each call."""

    address: str
    seconds: float = CALL_SECONDS

    def version(self) -> str:
        """Ray's version on the cluster."""
        answer = self._call("GET", "/api/version")
        if not isinstance(answer, dict) or "ray_version" not in answer:
            raise JobServerError("something answers there, and it is not Ray's job server")
        return str(answer["ray_version"])

    def submit(self, entrypoint: str, runtime_env: dict[str, Any] | None = None) -> str:
        """Start a job and return its id."""
        answer = self._call("POST", "/api/jobs/", {"entrypoint": entrypoint, "runtime_env": runtime_env or {}})
        return str(answer.get("submission_id") or answer["job_id"])

    def job(self, name: str) -> dict[str, Any]:
        """What the server says of a job: `status`, `message` and more."""
        return dict(self._call("GET", f"/api/jobs/{name}"))

    def logs(self, name: str) -> str:
        """Everything a job has printed."""
        return str(self._call("GET", f"/api/jobs/{name}/logs").get("logs", ""))

    def stop(self, name: str) -> None:
        """Ask a job to end."""
        self._call("POST", f"/api/jobs/{name}/stop")

    def delete(self, name: str) -> None:
        """Forget a job that has ended."""
        self._call("DELETE", f"/api/jobs/{name}")

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        try:
            request = urllib.request.Request(self.address.rstrip("/") + path, data, method=method)
            request.add_header("Content-Type", "application/json")
            if token := _token():
                request.add_header("Authorization", f"Bearer {token}")
            with urllib.request.urlopen(request, timeout=self.seconds) as answer:
                return json.loads(answer.read(BODY_BYTES) or b"null")
        except urllib.error.HTTPError as error:
            if error.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
                raise JobServerError("it wants Ray's token: set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH") from None
            raise JobServerError(f"it answers {error.code} {error.reason}") from None
        except urllib.error.URLError as error:
            raise JobServerError(_reason(error.reason)) from None
        except (OSError, ValueError) as error:
            raise JobServerError(_reason(error)) from None


def _token() -> str | None:
    if os.environ.get("RAY_AUTH_MODE", "token") != "token":
        return None
    path = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token").expanduser()
    with contextlib.suppress(OSError):
        return os.environ.get("RAY_AUTH_TOKEN") or path.read_text(encoding="utf-8").strip()
    return None


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return "it gives no answer"
    if isinstance(error, json.JSONDecodeError):
        return "something answers there, and it is not Ray's job server"
    return str(getattr(error, "strerror", None) or error).lower()
