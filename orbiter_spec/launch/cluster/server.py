"""Ray's job server, asked over HTTP, with errors in words.

Ray signs requests with a token where it finds one (`RAY_AUTH_TOKEN`, `RAY_AUTH_TOKEN_PATH`, `~/.ray/auth_token`), as
`ray start` does; it is never printed. A server that does not answer and one that refuses are different errors: the
first may pass, the second will not.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


class ClusterError(Exception):
    """The job server refused, or is not what its address promised."""


class UnreachableError(ClusterError):
    """Nobody answers at the address; this may pass."""


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as the server knows it. `status` is Ray's word: PENDING, RUNNING, SUCCEEDED, FAILED or STOPPED."""

    id: str
    status: str
    message: str = ""
    exit_code: int | None = None
    node: str | None = None

    @property
    def has_ended(self) -> bool:
        """True when nothing more will come."""
        return self.status in ENDED


@dataclass(slots=True)
class JobServer:
    """An open connection to `address`."""

    address: str
    client: Any

    def get(self, path: str) -> Any:
        """The JSON that the dashboard gives for `path`. Raises ClusterError."""
        with _in_words(self.address):
            answer = self.client._do_request("GET", path)
            if answer.status_code != 200:
                raise ClusterError(f"{self.address} answers {answer.status_code} to {path.partition('?')[0]}")
            return answer.json()

    def submit(self, id: str, entrypoint: str, runtime_env: Mapping[str, Any], metadata: Mapping[str, str]) -> bool:
        """Start a job under `id`; False when there is one of that id already. Raises ClusterError."""
        with _in_words(self.address):
            try:
                self.client.submit_job(
                    entrypoint=entrypoint, submission_id=id, runtime_env=dict(runtime_env), metadata=dict(metadata)
                )
            except RuntimeError as error:
                if "already exists" in str(error):
                    return False
                raise
        return True

    def job(self, id: str) -> JobState | None:
        """The job `id`, or None when the server knows none. Raises ClusterError."""
        with _in_words(self.address):
            try:
                info = self.client.get_job_info(id)
            except RuntimeError as error:
                if "404" in str(error) or "does not exist" in str(error):
                    return None
                raise
        return _state(id, info)

    def running(self) -> list[JobState]:
        """Jobs that have not ended. Raises ClusterError."""
        with _in_words(self.address):
            jobs = [_state(info.submission_id or info.job_id or "", info) for info in self.client.list_jobs()]
        return [job for job in jobs if not job.has_ended]

    def logs(self, id: str) -> str:
        """Everything the job has printed. Raises ClusterError."""
        with _in_words(self.address):
            return str(self.client.get_job_logs(id))

    def tail(self, id: str) -> Iterator[str]:
        """What the job prints, from its first line to its end. Raises ClusterError."""
        with _in_words(self.address), contextlib.closing(asyncio.new_event_loop()) as loop:
            lines = self.client.tail_job_logs(id)
            try:
                while True:
                    try:
                        yield loop.run_until_complete(anext(lines))
                    except StopAsyncIteration:
                        return
            finally:
                loop.run_until_complete(lines.aclose())

    def stop(self, id: str) -> None:
        """Ask the job to stop; returns at once. Raises ClusterError."""
        with _in_words(self.address):
            self.client.stop_job(id)


def _state(id: str, info: Any) -> JobState:
    status = getattr(info.status, "value", str(info.status))
    return JobState(id, status, info.message or "", info.driver_exit_code, info.driver_node_id)


def open_server(address: str) -> JobServer:
    """Connect to the job server at `address`, `http://HOST:PORT`.

    Raises:
        UnreachableError: when nobody answers. ClusterError: when it refuses, or Ray is not installed here.
    """
    token = _token()
    if token:
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    try:
        from ray.job_submission import JobSubmissionClient
    except ImportError as error:
        raise ClusterError("Ray is not installed here: pip install 'ray[default]'") from error
    import logging

    for name in ("ray.dashboard.modules.job.sdk", "ray.dashboard.modules.dashboard_sdk"):
        logging.getLogger(name).setLevel(logging.ERROR)
    headers = {"Authorization": f"Bearer {token}"} if token else None
    with _in_words(address):
        return JobServer(address, JobSubmissionClient(address, headers=headers))


def _token() -> str | None:
    if os.environ.get("RAY_AUTH_MODE", "token") != "token":
        return None
    path = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token").expanduser()
    with contextlib.suppress(OSError):
        return os.environ.get("RAY_AUTH_TOKEN") or path.read_text(encoding="utf-8").strip()
    return None


@contextlib.contextmanager
def _in_words(address: str) -> Iterator[None]:
    """Errors of Ray's client, of HTTP and of websockets as ours, in one line."""
    import aiohttp
    import requests

    try:
        yield
    except ClusterError:
        raise
    except (ConnectionError, requests.exceptions.RequestException, aiohttp.ClientError, TimeoutError) as error:
        text = str(error)
        if isinstance(error, aiohttp.WSServerHandshakeError) and error.status == 404:
            raise ClusterError(f"{address} does not know the job") from None
        raise UnreachableError(f"no Ray job server answers at {address}") from error if not text else None
    except RuntimeError as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if "WebSocket" in first:
            raise UnreachableError(f"the connection to {address} broke") from None
        raise ClusterError(f"the job server at {address} refuses: {first[:300]}") from None
    except Exception as error:
        if type(error).__name__ == "AuthenticationError":
            raise ClusterError(
                f"{address} wants Ray's token: set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH, or write ~/.ray/auth_token"
            ) from None
        raise
