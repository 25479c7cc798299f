"""Ray's job server, asked over HTTP, with errors in words.

Questions go through the standard library: no Ray here, no version of it that has to match, and each call answers within
its own time limit or raises. Two things are left to Ray's own client and need Ray here: sending a folder with a job,
and following a log, which travels over a websocket.

Where a cluster wants Ray's token it is sent as Ray itself would find it: RAY_AUTH_TOKEN, the file of
RAY_AUTH_TOKEN_PATH, or ~/.ray/auth_token; it is never printed. A server that does not answer and one that refuses are
different errors: the first may pass, the second will not.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import logging
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

CALL_SECONDS = 20.0
BODY_BYTES = 1 << 30
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
TOKEN_WANTED = "it wants Ray's token: set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH, or write ~/.ray/auth_token"
STRANGER = "something answers there, and it is not Ray's job server"
REASON_CHARACTERS = 300


class ClusterError(Exception):
    """The job server gave no usable answer. `reason` says why in a few words, the text with the address before it."""

    def __init__(self, address: str, reason: str, code: int | None = None) -> None:
        super().__init__(f"{address}: {reason}")
        self.reason = reason
        self.code = code


class UnreachableError(ClusterError):
    """Nobody answers at the address; this may pass."""


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as the server knows it. `status` is Ray's word: PENDING, RUNNING, SUCCEEDED, FAILED or STOPPED."""

    id: str
    status: str
    message: str = ""
    exit_code: int | None = None

    @property
    def has_ended(self) -> bool:
        """True when nothing more will come."""
        return self.status in ENDED


@dataclass(frozen=True, slots=True)
class JobServer:
    """The job server at `address`, such as http://head:8265. `seconds` limit each call. Every call raises ClusterError.

    Nothing is held open between calls.
    """

    address: str
    seconds: float = CALL_SECONDS

    def version(self) -> str:
        """Ray's version on the cluster."""
        answer = self.get("/api/version")
        if not isinstance(answer, dict) or "ray_version" not in answer:
            raise ClusterError(self.address, STRANGER)
        return str(answer["ray_version"])

    def get(self, path: str) -> Any:
        """The JSON that the dashboard gives for `path`."""
        return self._call("GET", path)

    def submit(
        self,
        entrypoint: str,
        runtime_env: Mapping[str, Any] | None = None,
        *,
        id: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> str | None:
        """Start a job and return its id, or None when there is one of the wished `id` already.

        A `working_dir` of this machine in `runtime_env` is sent along.
        """
        wanted = {"entrypoint": entrypoint, "runtime_env": dict(runtime_env or {}), "metadata": dict(metadata or {})}
        try:
            if "working_dir" in wanted["runtime_env"]:
                with _in_words(self.address):
                    return str(self._ray_client().submit_job(**wanted, submission_id=id))
            answer = self._call("POST", "/api/jobs/", {**wanted, **({"submission_id": id} if id else {})})
        except ClusterError as error:
            if id is not None and not isinstance(error, UnreachableError) and self.job(id) is not None:
                return None
            raise
        return str(answer.get("submission_id") or answer["job_id"])

    def job(self, id: str) -> JobState | None:
        """The job `id`, or None when the server knows none."""
        try:
            return _state(self._call("GET", f"/api/jobs/{id}"), id)
        except ClusterError as error:
            if error.code == HTTPStatus.NOT_FOUND:
                return None
            raise

    def jobs(self) -> list[dict[str, Any]]:
        """Every job, with all that the server says of it."""
        return [dict(job) for job in self._call("GET", "/api/jobs/")]

    def running(self) -> list[JobState]:
        """Jobs that have not ended."""
        return [state for job in self.jobs() if not (state := _state(job)).has_ended]

    def logs(self, id: str) -> str:
        """Everything the job has printed, up to a gibibyte."""
        return str(self._call("GET", f"/api/jobs/{id}/logs").get("logs") or "")

    def tail(self, id: str) -> Iterator[str]:
        """What the job prints, from its first line to its end."""
        with _in_words(self.address), contextlib.closing(asyncio.new_event_loop()) as loop:
            lines = self._ray_client().tail_job_logs(id)
            try:
                while True:
                    try:
                        yield loop.run_until_complete(anext(lines))
                    except StopAsyncIteration:
                        return
            finally:
                loop.run_until_complete(lines.aclose())

    def stop(self, id: str) -> None:
        """Ask the job to stop; returns at once."""
        self._call("POST", f"/api/jobs/{id}/stop")

    def delete(self, id: str) -> None:
        """Forget a job that has ended."""
        self._call("DELETE", f"/api/jobs/{id}")

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with _in_words(self.address):
            request = urllib.request.Request(self.address.rstrip("/") + path, data, method=method)
            request.add_header("Content-Type", "application/json")
            for name, value in _headers().items():
                request.add_header(name, value)
            with urllib.request.urlopen(request, timeout=self.seconds) as answer:
                return json.loads(answer.read(BODY_BYTES) or b"null")

    def _ray_client(self) -> Any:
        """Ray's own client, which asks for the server's version first."""
        try:
            from ray.job_submission import JobSubmissionClient
        except ImportError:
            raise ClusterError(self.address, "Ray is not installed here: pip install 'ray[default]'") from None
        for name in ("ray.dashboard.modules.job.sdk", "ray.dashboard.modules.dashboard_sdk"):
            logging.getLogger(name).setLevel(logging.ERROR)
        return JobSubmissionClient(self.address, headers=_headers())


def _state(job: Mapping[str, Any], id: str | None = None) -> JobState:
    name = id or job.get("submission_id") or job.get("job_id") or ""
    return JobState(str(name), str(job["status"]), job.get("message") or "", job.get("driver_exit_code"))


def _headers() -> dict[str, str]:
    token = _token()
    return {"Authorization": f"Bearer {token}"} if token else {}


def _token() -> str | None:
    if os.environ.get("RAY_AUTH_MODE", "token") != "token":
        return None
    path = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token").expanduser()
    with contextlib.suppress(OSError):
        return os.environ.get("RAY_AUTH_TOKEN") or path.read_text(encoding="utf-8").strip()
    return None


@contextlib.contextmanager
def _in_words(address: str) -> Iterator[None]:
    """Errors of HTTP, of websockets and of Ray's client as ours, in one line."""
    try:
        yield
    except ClusterError:
        raise
    except urllib.error.HTTPError as error:
        raise _refusal(address, error) from None
    except json.JSONDecodeError:
        raise ClusterError(address, STRANGER) from None
    except urllib.error.URLError as error:
        raise UnreachableError(address, _silence(error.reason)) from None
    except (OSError, http.client.HTTPException) as error:
        raise UnreachableError(address, _silence(error)) from None
    except Exception as error:
        raise _of_ray(address, error) from error


def _refusal(address: str, error: urllib.error.HTTPError) -> ClusterError:
    """An HTTP error, with what the server says of it: the first line of a text, the last of a traceback."""
    if error.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return ClusterError(address, TOKEN_WANTED, error.code)
    with error:
        lines = [line.strip() for line in error.read(1 << 16).decode(errors="replace").splitlines() if line.strip()]
    said = (lines[-1] if lines[0].startswith("Traceback") else lines[0]) if lines else error.reason
    return ClusterError(address, f"it answers {error.code}: {said}"[:REASON_CHARACTERS], error.code)


def _silence(error: object) -> str:
    """Why there is no answer."""
    if isinstance(error, TimeoutError):
        return "it gives no answer"
    if type(error).__module__.startswith("requests"):
        return "the connection failed"
    text = str(getattr(error, "strerror", None) or error).splitlines() or [type(error).__name__]
    return text[0].lower()


def _of_ray(address: str, error: Exception) -> ClusterError:
    """An error of Ray's client or of its websocket, known by name so that neither has to be imported."""
    kind, text = type(error), str(error).strip()
    first = text.splitlines()[0][:REASON_CHARACTERS] if text else kind.__name__
    if kind.__name__ == "AuthenticationError":
        return ClusterError(address, TOKEN_WANTED)
    if getattr(error, "status", None) == HTTPStatus.NOT_FOUND:
        return ClusterError(address, "it does not know the job", HTTPStatus.NOT_FOUND)
    if kind.__module__.startswith("aiohttp") or "WebSocket" in first:
        return UnreachableError(address, "the connection broke")
    if isinstance(error, RuntimeError):
        return ClusterError(address, f"it refuses: {first}")
    raise error
