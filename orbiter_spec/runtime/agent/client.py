"""The worker's side of the processes in which the user's code runs.

One host for each worker and description, started when first asked for and ended with the worker. A session is one
socket: requests and answers are awaited one after another, each with a time limit; when one passes, the session is
killed and the error says which line was hanging. Nothing here waits without a limit.

Forking a process and ending it costs more than everything else in a short turn, so a session that ended well is kept
for the next episode or call. One that failed, hung, or left something behind (`leftovers.py`) is killed, and so is one
that was used `uses` times. What a user's module keeps in its globals is the one thing that goes from use to use.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import pickle
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

START_SECONDS = 120.0
CONTROL_SECONDS = 30.0
CLOSE_SECONDS = 2.0
LINE_BYTES = 16 * 2**20
READ_BYTES = 2**18
SESSION_CHARACTERS = 2000
HOST_CHARACTERS = 200_000
CONCURRENT = 256
IDLE = 64
"""Sessions kept for later, of each memory limit; more are only there while they are busy."""


class UserCodeError(RuntimeError):
    """The user's environment or tool failed; the message names it, and the file and line.

    `kind` is error, exit, memory, timeout or crash; `said` is the message without who and where.
    """

    def __init__(self, who: str, said: str, where: str = "", kind: str = "error") -> None:
        place = f" ({where})" if where else ""
        super().__init__(f"orbiter-spec: {who} {said}{place}")
        self.who, self.said, self.where, self.kind = who, said, where, kind

    def __reduce__(self) -> tuple[Any, ...]:
        return UserCodeError, (self.who, self.said, self.where, self.kind)


class Host:
    """The process that holds the user's code. `description` is what `host.py` reads."""

    def __init__(self, description: dict[str, Any], start_seconds: float = START_SECONDS) -> None:
        self._lock = threading.Lock()
        self._characters_left = HOST_CHARACTERS
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.host", str(theirs.fileno()), json.dumps(description)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=_environment(),
            )
        self._control = ours
        self.environments = asyncio.Semaphore(int(description.get("concurrent") or CONCURRENT))
        self.calls = asyncio.Semaphore(int(description.get("concurrent") or CONCURRENT))
        self._buffer = b""
        self._idle: dict[int | None, list[Session]] = {}
        self.signatures = self._started(start_seconds)

    def _started(self, seconds: float) -> dict[str, Any]:
        """Signatures of the tools, once everything is imported. Raises UserCodeError."""
        try:
            reply = self._read(seconds)
        except TimeoutError:
            self.close()
            raise UserCodeError("the agent's code", f"was not imported within {seconds:g} s", kind="timeout") from None
        if "error" in reply:
            self.close()
            raise UserCodeError(reply["name"] or "the agent's code", f"cannot be imported: it {reply['error']}",
                                reply["where"], reply["kind"])  # fmt: skip
        return {name: pickle.loads(base64.b64decode(text)) for name, text in reply["tools"].items()}

    def _read(self, seconds: float) -> dict[str, Any]:
        self._control.settimeout(seconds)
        while b"\n" not in self._buffer:
            more = self._control.recv(65536)
            if not more:
                code = self._process.wait(CLOSE_SECONDS)
                raise UserCodeError("the agent's code", f"ended its process (exit code {code})", kind="crash")
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def ask(self, request: dict[str, Any], *descriptors: int) -> dict[str, Any]:
        """One request to the host, which answers at once. Raises UserCodeError when it is gone."""
        with self._lock:
            data = json.dumps(request).encode() + b"\n"
            try:
                self._control.settimeout(CONTROL_SECONDS)
                if descriptors:
                    socket.send_fds(self._control, [data], list(descriptors))
                else:
                    self._control.sendall(data)
                return self._read(CONTROL_SECONDS)
            except OSError as error:
                self._process.kill()
                self._process.wait(CLOSE_SECONDS)
                said = f"was in a process that is gone: {error}"
                raise UserCodeError("the agent's code", said, kind="crash") from error

    async def open(self, who: str, megabytes: int | None, uses: int = 1) -> Session:
        """A session for the environment or tool called `who`: one that is idle, or a new one."""
        while idle := self._idle.get(megabytes):
            session = idle.pop()
            if session.begin(who, uses):
                return session
            await session.stop()
        characters = max(0, min(SESSION_CHARACTERS, self._characters_left))
        ours, theirs = socket.socketpair()
        request = {"do": "open", "megabytes": megabytes, "characters": characters}
        with theirs:
            reply = await asyncio.to_thread(self.ask, request, theirs.fileno())
        session = Session(self, megabytes, reply["pid"], ours)
        session.begin(who, uses)
        return session

    def keep(self, session: Session, megabytes: int | None) -> bool:
        """Keep a session for the next one that asks, if there is room."""
        idle = self._idle.setdefault(megabytes, [])
        if len(idle) < IDLE:
            idle.append(session)
        return session in idle

    def printed(self, characters: int) -> None:
        """Count what a session printed against what is passed on for all of them."""
        self._characters_left -= characters

    @property
    def ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End the host and its sessions."""
        for session in (session for idle in self._idle.values() for session in idle):
            session.disconnect()
        self._control.close()
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(CLOSE_SECONDS)


class Session:
    """One process of the user's code, used for one episode or call after another."""

    def __init__(self, host: Host, megabytes: int | None, pid: int, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._host, self._megabytes, self._pid, self._socket = host, megabytes, pid, connection
        self._who = ""
        self._printed = self._counted = 0
        self._used = 0
        self._uses = 1
        self._clean, self._failed = False, False

    def begin(self, who: str, uses: int) -> bool:
        """Make it `who`'s. False when it was used `uses` times already, or is no longer alive and silent."""
        try:
            self._socket.recv(1, socket.MSG_PEEK)
            return False
        except BlockingIOError:
            pass
        except OSError:
            return False
        self._who, self._uses, self._used = who, uses, self._used + 1
        return self._used <= uses

    async def ask(self, do: str, seconds: float, **values: Any) -> dict[str, Any]:
        """Send a request and wait for its answer, `seconds` at most. Raises UserCodeError."""
        self._clean = False
        try:
            async with asyncio.timeout(seconds):
                line = await self._exchange({"do": do, **values})
        except TimeoutError:
            ended = await self.stop(explain=True)
            raise UserCodeError(self._who, f"gave no answer{_in(do, ' to ')} within {seconds:g} s", ended["where"],
                                "timeout") from None  # fmt: skip
        except (OSError, ValueError):
            line = b""
        if not line:
            ended = await self.stop()
            raise UserCodeError(
                self._who, f"ended its process{_in(do, ' in ')} (exit code {ended['status']})", kind="crash"
            )
        reply: dict[str, Any] = json.loads(line)
        self._printed, self._clean = reply.pop("printed"), reply.pop("clean", False)
        if "error" in reply:
            self._failed = True
            raise UserCodeError(self._who, f"{_in(do)} {reply['error']}".strip(), reply["where"], reply["kind"])
        return reply

    async def _exchange(self, request: dict[str, Any]) -> bytes:
        """One line for another; nothing at the end of the stream. Raises ValueError for a line without end."""
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._socket, json.dumps(request).encode() + b"\n")
        parts, size = list[bytes](), 0
        while not parts or not parts[-1].endswith(b"\n"):
            parts.append(await loop.sock_recv(self._socket, READ_BYTES))
            size += len(parts[-1])
            if not parts[-1]:
                return b""
            if size > LINE_BYTES:
                raise ValueError("an answer without end")
        return b"".join(parts)

    async def close(self, polite: bool = False) -> None:
        """The episode or call is over; `polite` lets an environment close itself first."""
        if polite and self._socket.fileno() >= 0:
            with contextlib.suppress(UserCodeError):
                await self.ask("close", CLOSE_SECONDS)
        self._count()
        good = self._clean and not self._failed and self._used < self._uses
        if not (good and self._host.keep(self, self._megabytes)):
            await self.stop()

    def _count(self) -> None:
        printed = min(self._printed, SESSION_CHARACTERS)
        self._host.printed(printed - self._counted)
        self._counted = printed

    async def stop(self, explain: bool = False) -> dict[str, Any]:
        """End the process; one whose host is gone has ended with it."""
        self._count()
        self._clean = False
        self.disconnect()
        try:
            return await asyncio.to_thread(self._host.ask, {"do": "stop", "pid": self._pid, "explain": explain})
        except UserCodeError:
            return {"where": "", "status": None}

    def disconnect(self) -> None:
        """Close this side of the socket; the process ends when it notices."""
        self._socket.close()


def _in(do: str, before: str = "") -> str:
    """The method that was asked for; a tool has only one."""
    return "" if do == "call" else before + do


def _environment() -> dict[str, str]:
    """The worker's environment, with this package within reach."""
    depth = len(str(__package__).split("."))
    root = Path(__file__).resolve().parents[depth]
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


_hosts: dict[str, Host] = {}
_starting = threading.Lock()


def host_for(description: dict[str, Any]) -> Host:
    """This process's host for `description`; started when there is none, or when it has ended. Raises UserCodeError."""
    key = json.dumps(description, sort_keys=True)
    with _starting:
        known = _hosts.get(key)
        if known is None or known.ended:
            _hosts[key] = Host(description, float(description.get("start_seconds") or START_SECONDS))
        return _hosts[key]


async def running_host(description: dict[str, Any]) -> Host:
    """`host_for`, with no thread in between where the host is there already."""
    known = _hosts.get(json.dumps(description, sort_keys=True))
    return await asyncio.to_thread(host_for, description) if known is None or known.ended else known
