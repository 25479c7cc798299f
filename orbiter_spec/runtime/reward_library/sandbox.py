"""Programs that a model wrote, run where they can do little harm.

`run` starts this file as a program of its own, which confines itself and then runs the program it was given:

* limits on CPU time, memory, file size, open files and processes (setrlimit), and on wall time by the caller;
* no network and no sight of other processes (unshare of user, network, PID, IPC and UTS namespaces), where the machine
  permits it; where it does not, Landlock refuses TCP where the kernel has it;
* files: reading Python and the system's libraries, writing the program's own folder (Landlock), where there is any;
* an empty environment, its own session, and a kill of the whole process group at the end.

That is a fence against accidents and lazy cheating of a model in training, not against an attacker with time: for that,
name a sandbox service. `confinement()` says what this machine permits. Linux only, as verl is.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

OUTPUT_BYTES = 1024 * 1024
FILE_BYTES = 16 * 1024 * 1024
PROCESSES = 32
OPEN_FILES = 64
_NAMESPACES = 0x10000000 | 0x40000000 | 0x20000000 | 0x08000000 | 0x04000000  # user, network, PID, IPC, UTS


class Ran(NamedTuple):
    """How a program ended: `state` is finished, failed, timeout or killed; `proof` is true when it ran to its end."""

    state: str
    stdout: str
    stderr: str
    proof: bool
    seconds: float


def run(program: str, stdin: str = "", *, seconds: float = 10.0, memory_megabytes: float = 512.0) -> Ran:
    """Run Python text. `proof` is true only when the text ran to its end, which leaving early does not give."""
    with tempfile.TemporaryDirectory(prefix="orbiter-program-") as home:
        Path(home, "work").mkdir()
        Path(home, "program.py").write_text(program, encoding="utf-8", errors="replace")
        Path(home, "stdin").write_text(stdin, encoding="utf-8", errors="replace")
        started = time.monotonic()
        state, proof = _run(home, seconds, memory_megabytes)
        spent = time.monotonic() - started
        return Ran(state, _output(home, "stdout"), _output(home, "stderr"), proof, spent)


def _run(home: str, seconds: float, memory_megabytes: float) -> tuple[str, bool]:
    word = os.urandom(16).hex()
    read_end, write_end = os.pipe()
    order = {"home": home, "seconds": seconds, "memory": int(memory_megabytes * 1024**2), "proof": write_end}
    try:
        with (
            open(f"{home}/stdin", "rb") as stdin,
            open(f"{home}/stdout", "wb") as out,
            open(f"{home}/stderr", "wb") as err,
        ):
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, json.dumps({**order, "word": word})],
                stdin=stdin,
                stdout=out,
                stderr=err,
                cwd=f"{home}/work",
                env={
                    "PATH": os.defpath,
                    "HOME": f"{home}/work",
                    "LANG": "C.UTF-8",
                    "OMP_NUM_THREADS": "1",
                    "OPENBLAS_NUM_THREADS": "1",
                },
                pass_fds=(write_end,),
                start_new_session=True,
            )
        state = _wait(process, seconds)
    finally:
        os.close(write_end)
        os.set_blocking(read_end, False)
        with contextlib.suppress(BlockingIOError):
            said = os.read(read_end, 64)
        os.close(read_end)
    return state, "said" in locals() and said == word.encode()


def _wait(process: subprocess.Popen[bytes], seconds: float) -> str:
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if code == 0:
        return "finished"
    return (
        "timeout"
        if code in (-signal.SIGXCPU, 128 + signal.SIGXCPU)
        else "killed"
        if code < 0 or code > 128
        else "failed"
    )


def _output(home: str, name: str) -> str:
    with open(f"{home}/{name}", "rb") as file:
        return file.read(OUTPUT_BYTES).decode("utf-8", "replace")


@lru_cache(maxsize=1)
def confinement() -> dict[str, bool]:
    """What this machine permits: `runs` at all, and whether `network` and `files` are closed to programs."""
    probe = (
        "import json, socket\n"
        "def fails(f):\n    try: f()\n    except OSError: return True\n    return False\n"
        f"print(json.dumps({{'network': fails(lambda: socket.create_connection(('127.0.0.1', {_open_port()}), 1)),"
        " 'files': fails(lambda: open('/etc/passwd'))}))\n"
    )
    ran = run(probe)
    _listener.clear()
    found: dict[str, bool] = json.loads(ran.stdout) if ran.proof else {"network": False, "files": False}
    return {"runs": ran.proof, **found}


_listener: list[Any] = []


def _open_port() -> int:
    import socket

    _listener.append(socket.create_server(("127.0.0.1", 0)))
    return int(_listener[0].getsockname()[1])


def main(order: dict[str, Any]) -> None:
    """The confined process."""
    home = order["home"]
    text = Path(home, "program.py").read_text(encoding="utf-8")
    alone = _unshare()
    if alone and (child := os.fork()):
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        os._exit(128 - code if code < 0 else code)
    _limit(order, alone)
    import sysconfig

    libraries = [path for path in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")) if path]
    with contextlib.suppress(OSError):
        _landlock(f"{home}/work", [*{sys.prefix, sys.base_prefix, *libraries}])
    sys.path += [path for path in dict.fromkeys(libraries) if path not in sys.path]
    sys.argv = ["program.py"]
    word, proof = order.pop("word").encode(), order.pop("proof")
    names = {"__name__": "__main__", "__builtins__": __builtins__}
    exec(compile(text, "program.py", "exec"), names)
    os.write(proof, word)


def _unshare() -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.unshare(_NAMESPACES) == 0)


def _limit(order: dict[str, Any], alone: bool) -> None:
    cpu = int(order["seconds"]) + 1
    limits = {
        resource.RLIMIT_CPU: (cpu, cpu + 1),
        resource.RLIMIT_AS: (order["memory"],) * 2,
        resource.RLIMIT_FSIZE: (FILE_BYTES,) * 2,
        resource.RLIMIT_NOFILE: (OPEN_FILES,) * 2,
        resource.RLIMIT_CORE: (0, 0),
    }
    if alone:  # counted inside the namespace; outside it would count every process of the user
        limits[resource.RLIMIT_NPROC] = (PROCESSES,) * 2
    for name, (soft, hard) in limits.items():
        _, most = resource.getrlimit(name)
        hard = hard if most == resource.RLIM_INFINITY else min(hard, most)
        resource.setrlimit(name, (min(soft, hard), hard))


_READ, _WRITE = 1 << 0 | 1 << 2 | 1 << 3, sum(1 << bit for bit in (1, *range(4, 15)))
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime", "/opt", "/nix")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")


def _landlock(work: str, libraries: list[str]) -> None:
    """Landlock (Linux 5.13): read the system and Python, write `work`; from version 4 no TCP. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(444, None, 0, 1)
    if version < 1:
        raise OSError(ctypes.get_errno(), "no Landlock")
    write = _WRITE & ~((1 << 13 if version < 2 else 0) | (1 << 14 if version < 3 else 0))
    attributes = struct.pack("<QQ", _READ | write, 3 if version >= 4 else 0)[: 16 if version >= 4 else 8]
    rules = libc.syscall(444, attributes, len(attributes), 0)
    if rules < 0:
        raise OSError(ctypes.get_errno(), "Landlock refused")
    for path in (*_SYSTEM, *libraries):
        _allow(libc, rules, path, _READ)
    for path in _DEVICES:
        _allow(libc, rules, path, 1 << 1 | 1 << 2)
    _allow(libc, rules, work, _READ | write)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    if libc.syscall(446, rules, 0):
        raise OSError(ctypes.get_errno(), "Landlock refused")
    os.close(rules)


def _allow(libc: Any, rules: int, path: str, access: int) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_PATH)
        mask = access if os.path.isdir(path) else access & (1 | 1 << 1 | 1 << 2 | 1 << 14)
        libc.syscall(445, rules, 1, struct.pack("<Qi", mask, handle), 0)
        os.close(handle)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
