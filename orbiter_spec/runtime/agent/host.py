"""The process that holds the user's code and forks the sessions in which it runs.

Started as a program (`python -m PACKAGE.host`) with a socket and a JSON description. It is light: no torch, no verl, no
threads, so a fork takes about a millisecond and shares what the user's files loaded. Only one line of requests comes
in, from the worker that started it; when that ends, the sessions are killed and the host ends. Files are imported once,
here, where an endless import can be killed.

A session is killed with its whole process group. Before that it is asked for its stack (`faulthandler`, which answers
in the middle of anything), and that is how a time limit can name the line that hangs.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import faulthandler
import gc
import importlib
import importlib.util
import inspect
import json
import os
import pickle
import re
import select
import signal
import socket
import sys
import time
import typing
from pathlib import Path
from types import ModuleType
from typing import Any

from . import environments
from .leftovers import Beginning
from .session import Printed, Session, describe, limit_memory, serve

STACK_SECONDS = 0.5
STACK_BYTES = 65536
SET_DEATH_SIGNAL = 1
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)
FRAME = re.compile(r'File "(.+)", line (\d+) in (\S+)')


def load(reference: dict[str, Any], folder: Path) -> Any:
    """The object that a reference names: of a file below `folder`, of a module, or what an adapter makes of it."""
    named = _named(reference, folder) if reference.get("module") or reference.get("path") else None
    if not reference.get("adapter"):
        return named
    return importlib.import_module(f".{reference['adapter']}", __package__).load(reference, named)


def _named(reference: dict[str, Any], folder: Path) -> Any:
    if reference.get("module"):
        module = importlib.import_module(reference["module"])
    else:
        path = folder / reference["path"]
        _see(path.parent)
        module = _execute(path)
    found = getattr(module, reference["name"], None)
    if not callable(found):
        raise LookupError(f"{reference.get('path') or reference['module']} has no {reference['name']}")
    return found


def _see(folder: Path) -> None:
    """Let the user's files import their neighbours: after the standard library, before what is installed."""
    if str(folder) not in sys.path:
        installed = [index for index, entry in enumerate(sys.path) if Path(entry).name.endswith("-packages")]
        sys.path.insert(installed[0] if installed else len(sys.path), str(folder))


def _execute(path: Path) -> ModuleType:
    """The module in a file, the same one that its neighbours get when they import it."""
    found = importlib.util.find_spec(path.stem)
    if found is not None and found.origin and Path(found.origin).resolve() == path.resolve():
        return importlib.import_module(path.stem)
    name = "orbiter_user_" + path.as_posix().replace("/", "_").removesuffix(".py")
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def stand_in() -> None:
    """Where orbiter-spec is not installed, let `orbiter_spec.train` mean the environments that came along."""
    if importlib.util.find_spec("orbiter_spec") is not None:
        return
    package = ModuleType("orbiter_spec")
    package.__path__ = []
    sys.modules |= {"orbiter_spec": package, "orbiter_spec.train": environments}
    package.train = environments  # type: ignore[attr-defined]


def signature(function: Any) -> str:
    """Name, docstring and annotated parameters of a tool, pickled: what a schema is made of."""
    parameters = [(p.name, p.kind.name, p.default is p.empty) for p in inspect.signature(function).parameters.values()]
    content = (inspect.getdoc(function), parameters, typing.get_type_hints(function))
    return base64.b64encode(pickle.dumps(content)).decode()


class Host:
    """Serves the worker's requests: fork, kill, describe."""

    def __init__(self, control: socket.socket, description: dict[str, Any]) -> None:
        self.control = control
        self.folder = Path(description["folder"])
        self.code = self.folder / description["code"]
        self.references: dict[str, dict[str, Any]] = description["objects"]
        self.objects: dict[str, Any] = {}
        self.stacks: dict[int, int] = {}

    def import_all(self) -> dict[str, Any]:
        """Import what the description names; the first failure is the answer."""
        name = ""
        try:
            stand_in()
            for name, reference in self.references.items():
                self.objects[name] = load(reference, self.folder)
            tools = {n: signature(self.objects[n]) for n, ref in self.references.items() if ref.get("tool")}
        except BaseException as error:
            return {**describe(error, self.code), "name": name}
        gc.collect()
        gc.freeze()
        return {"tools": tools}

    def run(self) -> None:
        """Answer until the worker is gone, then end every session."""
        self.send(self.import_all())
        while True:
            line, descriptors = self._receive()
            if not line:
                break
            request = json.loads(line)
            do = request.pop("do")
            self.send(self.open(descriptors[0], **request) if do == "open" else self.stop(**request))
        for pid in list(self.stacks):
            self.stop(pid, explain=False)

    def send(self, reply: dict[str, Any]) -> None:
        """One line to the worker."""
        self.control.sendall(json.dumps(reply).encode() + b"\n")

    def _receive(self) -> tuple[str, list[int]]:
        data, descriptors = b"", list[int]()
        while not data.endswith(b"\n"):
            more, received, _, _ = socket.recv_fds(self.control, 65536, 4)
            if not more:
                return "", []
            data += more
            descriptors += received
        return data.decode(), descriptors

    def open(self, descriptor: int, megabytes: int | None, characters: int) -> dict[str, Any]:
        """Fork a session that talks through `descriptor`."""
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_end)
            self._become_session(descriptor, write_end, megabytes, characters)
        os.close(write_end)
        os.close(descriptor)
        self.stacks[pid] = read_end
        return {"pid": pid}

    def _become_session(self, descriptor: int, stack: int, megabytes: int | None, characters: int) -> None:
        try:
            os.setpgid(0, 0)
            self.control.close()
            for other in self.stacks.values():
                os.close(other)
            _end_with_parent()
            faulthandler.register(signal.SIGUSR1, file=stack, all_threads=False)
            printed = Printed(os.fdopen(os.dup(2), "w"), characters, self.code)
            nothing = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(nothing, standard)
            sys.stdout = sys.stderr = printed
            limit_memory(megabytes)
            stream = socket.socket(fileno=descriptor).makefile("rw", encoding="utf-8")
            serve(stream, Session(self.objects, self.code, Beginning(megabytes)), printed)
        finally:
            os._exit(0)

    def stop(self, pid: int, explain: bool) -> dict[str, Any]:
        """End a session; with `explain`, say where in the user's code it was and how it ended."""
        where = ""
        stack = self.stacks.pop(pid, None)
        if stack is None:
            return {"where": where, "status": None}
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        where = self._where(pid, stack) if explain and not ended else ""
        with contextlib.suppress(ProcessLookupError):
            # Not waited for yet, so the group is still this one: what a session started goes too if it ended by itself.
            os.killpg(pid, signal.SIGKILL)
        if not ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.close(stack)
        return {"where": where, "status": os.waitstatus_to_exitcode(status)}

    def _where(self, pid: int, stack: int) -> str:
        os.kill(pid, signal.SIGUSR1)
        text, end = "", time.monotonic() + STACK_SECONDS
        while (left := end - time.monotonic()) > 0 and select.select([stack], [], [], left)[0]:
            more = os.read(stack, STACK_BYTES).decode(errors="replace")
            text += more
            if not more or "serve" in text:
                break
        for file, line, function in FRAME.findall(text):
            if self.code in Path(file).parents:
                return f"{Path(file).relative_to(self.code)} line {line} in {function}"
        return ""


def _end_with_parent() -> None:
    """Linux ends the session with the host, however the host ends."""
    if _PRCTL is not None:
        _PRCTL(SET_DEATH_SIGNAL, signal.SIGKILL)


def main() -> None:
    """Run with the number of an open socket and the description."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Host(socket.socket(fileno=int(sys.argv[1])), json.loads(sys.argv[2])).run()


if __name__ == "__main__":
    main()
