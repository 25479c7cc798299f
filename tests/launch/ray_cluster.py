"""A real Ray cluster on this machine: nodes with resources, addresses and a temporary folder of their own.

Each node is `ray start --block` in a session of its own, bound to an address of the loopback range; nothing of it is
reachable from outside, and only processes that were started here are ever ended.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orbiter_spec.launch.job_server import ClusterError, JobServer
from orbiter_spec.launch.processes import descendants

RAY = Path(sys.executable).with_name("ray")
STORE_BYTES = 200 << 20
START_SECONDS = 300
"""Usually ten; on two cores that others use as well, a node may take minutes."""


@dataclass(frozen=True)
class NodeSize:
    """What a node offers."""

    cpus: int
    gpus: int = 0


@dataclass
class RayCluster:
    """Nodes of one cluster; the first is the head, with the job server."""

    sizes: Sequence[NodeSize]
    environment: Mapping[str, str] = field(default_factory=dict)
    store_bytes: int = STORE_BYTES
    folder: Path = field(default_factory=Path)
    nodes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __enter__(self) -> RayCluster:
        self.folder = Path(tempfile.mkdtemp(prefix="orc-", dir="/tmp"))
        self.port, self.dashboard = free_port(), free_port()
        try:
            for number in range(len(self.sizes)):
                self.start(number)
                self.wait(number + 1)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for number in range(len(self.nodes)):
            self.kill(number)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def address(self) -> str:
        """Where the job server listens."""
        return f"http://127.0.0.1:{self.dashboard}"

    @property
    def gcs(self) -> str:
        """What `ray.init` takes."""
        return f"127.0.0.2:{self.port}"

    def start(self, number: int) -> None:
        """Start node `number`; the head is number 0.

        One after another: nodes that start together in one folder give their sockets the same names, and die of it.
        """
        size = self.sizes[number]
        command = [
            str(RAY), "start", "--block", f"--node-ip-address=127.0.0.{number + 2}",
            f"--num-cpus={size.cpus}", f"--num-gpus={size.gpus}", f"--object-store-memory={self.store_bytes}",
            "--min-worker-port=0", "--max-worker-port=0", "--disable-usage-stats",
            f"--dashboard-agent-listen-port={free_port()}",
        ]  # fmt: skip
        if number == 0:
            command += ["--head", f"--port={self.port}", f"--temp-dir={self.folder}", "--include-dashboard=true"]
            command += [
                f"--dashboard-port={self.dashboard}",
                "--dashboard-host=127.0.0.1",
                f"--ray-client-server-port={free_port()}",
            ]
        else:
            command += [f"--address={self.gcs}"]
        environment = {**os.environ, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1", "VERL_PLATFORM": "cpu"}
        environment |= {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_prestart_worker_first_driver": "0"}
        environment |= {"RAY_raylet_start_wait_time_s": str(START_SECONDS)}
        environment |= {"RAY_RUNTIME_ENV_TEMPORARY_REFERENCE_EXPIRATION_S": "30", **self.environment}
        # Left open, the head takes a token from ~/.ray where there is one, and nodes that join do not.
        environment.setdefault("RAY_AUTH_MODE", "disabled")
        environment["PATH"] = f"{RAY.parent}{os.pathsep}{os.environ['PATH']}"
        for name in ("RAY_ADDRESS", "RAY_TMPDIR"):
            environment.pop(name, None)
        log = (self.folder / f"node-{number}.log").open("ab")
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
        )
        if number < len(self.nodes):
            self.nodes[number] = process
        else:
            self.nodes.append(process)

    def wait(self, count: int | None = None, seconds: float = START_SECONDS) -> None:
        """Until the job server answers and sees `count` living nodes."""
        count = len(self.sizes) if count is None else count
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(ClusterError, KeyError):
                if len(self.alive()) >= count:
                    return
            if time.monotonic() > end or any(node.poll() is not None for node in self.nodes):
                logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in self.folder.glob("node-*.log"))
                raise TimeoutError(f"no cluster of {count} nodes after {seconds:g} s\n{logs}")
            time.sleep(0.3)

    def alive(self) -> list[dict[str, Any]]:
        """Living nodes as the job server sees them."""
        answer = JobServer(self.address).get("/api/v0/nodes?detail=1")
        return [node for node in answer["data"]["result"]["result"] if node["state"] == "ALIVE"]

    def processes(self, number: int) -> set[int]:
        """Every living process of node `number`."""
        return {self.nodes[number].pid, *descendants(self.nodes[number].pid)}

    def kill(self, number: int) -> None:
        """kill -9 everything that belongs to node `number`."""
        node = self.nodes[number]
        for _ in range(50):
            left = descendants(node.pid) | ({node.pid} if node.poll() is None else set())
            if not left:
                break
            for pid in sorted(left, reverse=True):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        node.wait()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """`python -m tests.launch.ray_cluster 4:1 4:1 4:1` until Ctrl-C."""
    sizes = [NodeSize(*(int(part) for part in text.split(":"))) for text in sys.argv[1:]]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with RayCluster(sizes) as cluster:
        print(cluster.address, cluster.gcs, cluster.folder, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(1)


if __name__ == "__main__":
    main()
