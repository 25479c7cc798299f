"""Ask the machines of a run, within a time limit: this one, or every node of a Ray cluster.

The probe (`runtime/site_probe.py`) travels as text. It goes to a job server as a job of its own (`http://head:8265`);
any other address of Ray is joined by a process here, which needs Ray here. Whatever happens ends in a `Site` whose
`problem` says what went wrong: nothing here waits longer than `limit_seconds`, and nothing raises.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from importlib import resources
from importlib.util import find_spec
from typing import Any

from orbiter_spec.launch.job_server import ClusterError, JobServer
from orbiter_spec.launch.site_facts import Questions, Site, read_site

LIMIT_SECONDS = 60.0
NODE_SHARE = 0.5
"""Share of the limit that nodes have for their answers; the rest is for reaching them."""
CONNECT_SECONDS = 5.0
POLL_SECONDS = 0.3
MARK = "ORBITER-SITE "


def ask(
    address: str | None,
    questions: Questions,
    *,
    limit_seconds: float = LIMIT_SECONDS,
    runtime_env: Mapping[str, Any] | None = None,
) -> Site:
    """What the cluster at `address` says, or this machine where it is None; `runtime_env` is that of the later job."""
    deadline = time.monotonic() + limit_seconds
    asked = {**asdict(questions), "address": None, "node_seconds": limit_seconds * NODE_SHARE}
    try:
        if address is None:
            told = _run_here(asked, deadline)
        elif address.startswith(("http://", "https://")):
            told = _run_as_job(address, {**asked, "address": "auto"}, deadline, dict(runtime_env or {}))
        else:
            told = _join(address, {**asked, "address": address}, deadline)
        return read_site(told, address)
    except _NoAnswerError as problem:
        return Site(address, str(problem))
    except (KeyError, TypeError, ValueError) as problem:
        return Site(address, f"the answer cannot be read: {problem}"[:300])


class _NoAnswerError(Exception):
    """Why there is nothing to read."""


def probe_text() -> str:
    """The probe's source."""
    return resources.files("orbiter_spec.runtime").joinpath("site_probe.py").read_text(encoding="utf-8")


def _packed(asked: Mapping[str, Any]) -> str:
    return _encoded(json.dumps(asked))


def _encoded(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode())).decode()


def _answer(output: str) -> Mapping[str, Any] | None:
    """The probe's line among whatever else was printed."""
    for line in output.splitlines():
        if MARK in line:
            told: Mapping[str, Any] = json.loads(line.partition(MARK)[2])
            return told
    return None


def _run_here(asked: Mapping[str, Any], deadline: float) -> Mapping[str, Any]:
    """The probe as a process of this machine, killed with everything it started when its time is over."""
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    environment.pop("RAY_ADDRESS", None)
    process = subprocess.Popen(
        [sys.executable, "-", _packed(asked)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(probe_text(), timeout=max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise _NoAnswerError("it gives no answer in time") from None
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    told = _answer(output)
    if told is None:
        raise _NoAnswerError(_last_words(errors))
    return told


def _last_words(errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "the probe ended without an answer"


def _join(address: str, asked: Mapping[str, Any], deadline: float) -> Mapping[str, Any]:
    """Ray's own protocols need Ray here, of the cluster's version; a dead address is told before Ray retries on it."""
    if find_spec("ray") is None:
        raise _NoAnswerError("Ray is not installed here; the job server, http://HEAD:8265, can be asked without it")
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
        except OSError as error:
            raise _NoAnswerError(str(error.strerror or error).lower()) from None
    return _run_here(asked, deadline)


def _run_as_job(
    address: str, asked: Mapping[str, Any], deadline: float, runtime_env: dict[str, Any]
) -> Mapping[str, Any]:
    """The probe as a job, whose record is removed afterwards."""
    server = JobServer(address)
    program = f"import base64,zlib;exec(zlib.decompress(base64.b64decode('{_encoded(probe_text())}')))"
    try:
        JobServer(address, CONNECT_SECONDS).version()
        name = str(server.submit(f'python3 -c "{program}" {_packed(asked)}', runtime_env))
    except ClusterError as problem:
        raise _NoAnswerError(problem.reason) from None
    try:
        return _follow(server, name, deadline)
    except ClusterError as problem:
        raise _NoAnswerError(problem.reason) from None
    finally:
        with contextlib.suppress(ClusterError):
            server.stop(name)
        with contextlib.suppress(ClusterError):
            server.delete(name)


def _follow(server: JobServer, name: str, deadline: float) -> Mapping[str, Any]:
    while time.monotonic() < deadline:
        job = server.job(name)
        if job is None:
            raise _NoAnswerError("it forgot the job that asks its nodes")
        if job.has_ended:
            told = _answer(server.logs(name))
            if told is None:
                raise _NoAnswerError(_last_words(server.logs(name) or job.message))
            return told
        time.sleep(POLL_SECONDS)
    raise _NoAnswerError("it takes jobs, and this one gives no answer in time")
