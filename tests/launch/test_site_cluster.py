"""The machines of a real Ray cluster, asked: nodes with room and without, a path that one of them lacks, silence.

Each node is a raylet of its own on this machine, with logical CPUs and GPUs. Where mounts may be changed, one of them
sees another content under a folder than the rest, as a machine without the shared disk would.
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
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from orbiter_spec.compiler import check
from orbiter_spec.launch.job_server import ClusterError, JobServer
from orbiter_spec.launch.probe import ask
from orbiter_spec.launch.processes import descendants
from orbiter_spec.launch.site_facts import Questions
from orbiter_spec.preflight import check_site, cluster_address
from tests.rules.conftest import plan_of

ray = pytest.importorskip("ray")
RAY = Path(sys.executable).with_name("ray")
ASKED = Questions(packages=("ray", "torch", "no-such-package"), modules=("json", "no_such_module"))
START_SECONDS = 60
TOKEN = "a-token-of-this-test-alone-0123456789"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Cluster:
    """A head and two more nodes; the last one does not see `private`."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ors-", dir="/tmp"))
        self.private = self.folder / "shared"
        (self.private / "model").mkdir(parents=True)
        self.gcs, self.jobs = free_port(), free_port()
        self.nodes: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.jobs}"

    def start(self) -> None:
        ports = [f"--port={self.gcs}", f"--dashboard-port={self.jobs}", f"--ray-client-server-port={free_port()}"]
        head = [f"--temp-dir={self.folder / 'ray'}", "--include-dashboard=true", "--dashboard-host=127.0.0.1"]
        self._node(["--head", *ports, *head], cpus=16, gpus=2)
        self._wait(1)
        join = [f"--address=127.0.0.1:{self.gcs}"]
        self._node(join, cpus=8, gpus=2)
        self._wait(2)
        hidden = f"mount -t tmpfs none {self.private} && exec "
        self._node(join, cpus=2, gpus=1, before=["unshare", "-m", "sh", "-c", hidden + '"$@"', "sh"])
        self._wait(3)

    def _node(self, words: list[str], cpus: int, gpus: int, before: list[str] | None = None) -> None:
        command = [*(before or []), str(RAY), "start", "--block", f"--num-cpus={cpus}", f"--num-gpus={gpus}"]
        command += ["--min-worker-port=0", "--max-worker-port=0", f"--dashboard-agent-listen-port={free_port()}"]
        command += [f"--node-ip-address=127.0.0.1{len(self.nodes)}", "--object-store-memory=80000000", *words]
        environment = {**os.environ, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0"}
        environment |= {"RAY_prestart_worker_first_driver": "0", "HF_HUB_OFFLINE": "1"}
        environment["PATH"] = f"{RAY.parent}{os.pathsep}{os.environ['PATH']}"
        environment.pop("RAY_ADDRESS", None)
        log = (self.folder / f"node-{len(self.nodes)}.log").open("ab")
        self.nodes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True))

    def _wait(self, count: int) -> None:
        server, end = JobServer(self.address), time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(ClusterError):
                server.version()
                found = server.get("/api/v0/nodes?detail=1")["data"]["result"]["result"]
                if sum(node["state"] == "ALIVE" for node in found) >= count:
                    return
            time.sleep(0.5)
        raise TimeoutError("\n".join(log.read_text()[-1500:] for log in self.folder.glob("*.log")))

    def processes(self, number: int) -> set[int]:
        """Everything that belongs to a node."""
        return {self.nodes[number].pid, *descendants(self.nodes[number].pid)}

    def stop(self) -> None:
        for number in range(len(self.nodes)):
            for pid in self.processes(number):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        for node in self.nodes:
            node.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("needs to change mounts")
    made = Cluster()
    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_AUTH_MODE", "token")
    patch.setenv("RAY_AUTH_TOKEN", TOKEN)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        patch.undo()


@pytest.mark.training
@pytest.mark.timeout(240)
@pytest.mark.filterwarnings("ignore")
def test_each_node_is_asked(cluster: Cluster, tmp_path: Path) -> None:
    own = {"paths": {"agent.model.path": str(cluster.private / "model")}, "models": ("org/model",)}
    questions = Questions(
        ASKED.packages, ASKED.modules, own["paths"], (str(cluster.private),), (str(cluster.private),), own["models"]
    )
    started = time.monotonic()
    site = ask(cluster.address, questions)
    assert site.problem is None
    assert time.monotonic() - started < 60
    nodes = sorted(site.nodes, key=lambda node: node.address)
    assert [(node.cpus, node.gpus) for node in nodes] == [(16, 2), (8, 2), (2, 1)]
    assert [node.unreadable for node in nodes] == [{}, {}, {"agent.model.path": "is not there"}]
    assert all(node.missing_modules == ("no_such_module",) for node in nodes)
    assert all(node.packages == {"ray": ray.__version__, "torch": nodes[0].packages["torch"], "no-such-package": None}
               for node in nodes)  # fmt: skip
    assert all(node.models == {"org/model": "offline"} for node in nodes)
    [(folder, blind)] = site.not_shared.items()
    assert folder == str(cluster.private)
    assert "127.0.0.12" in blind or set(blind) == {"127.0.0.10", "127.0.0.11"}
    assert site.unconnected == ()
    assert JobServer(cluster.address).jobs() == []


SPEC = """
version: 1
name: on-cluster
agent: {{model: {model}}}
dataset: {{train: rows.jsonl, columns: {{input: q, expected: a}}}}
rewards: [{{builtin: exact_match}}]
algorithm: {{name: grpo, batch: {{prompts: 4, samples_per_prompt: 4, minibatch: 4}}}}
hardware: {{gpus_per_node: {gpus}, storage_units: {units}, rollout: {{tensor_parallel: 1}},
  cluster: {{kind: ray, address: "{address}"}}}}
"""


def findings(cluster: Cluster, folder: Path, **said: object) -> dict[str, str]:
    (folder / "rows.jsonl").write_text('{"q": "1", "a": "1"}\n' * 64)
    values = {"model": "org/model", "gpus": 2, "units": 2, "address": cluster.address, **said}
    (folder / "spec.yaml").write_text(SPEC.format(**values))
    state = check(folder / "spec.yaml")
    assert state.report.ok, state.report
    return {found.id: found.note for found in check_site(state, limit_seconds=40)}


@pytest.mark.training
@pytest.mark.timeout(240)
@pytest.mark.filterwarnings("ignore")
def test_rules_tell_what_does_not_fit(cluster: Cluster, tmp_path: Path) -> None:
    fits = findings(cluster, tmp_path)
    assert "ORB520" not in fits
    assert "ORB518" not in fits
    wide = findings(cluster, tmp_path, gpus=4, model=str(cluster.private / "model"))
    assert wide["ORB520"].startswith("global_pool needs 4 GPUs and 12 CPUs on one node")
    assert wide["ORB524"] == "is not there on 127.0.0.12"
    assert "TransferQueue storage needs 1 CPU" in findings(cluster, tmp_path, units=12)["ORB520"]


@pytest.mark.training
@pytest.mark.timeout(240)
@pytest.mark.filterwarnings("ignore")
def test_a_hanging_node_is_named_and_the_others_answer(cluster: Cluster) -> None:
    stopped = cluster.processes(1)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        site = ask(cluster.address, ASKED, limit_seconds=30)
        assert time.monotonic() - started < 40
    finally:
        for pid in stopped:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGCONT)
    assert site.problem is None
    assert [node.address for node in site.nodes if not node.answered] == ["127.0.0.11"]


@pytest.mark.training
@pytest.mark.timeout(60)
def test_a_wrong_token_is_named(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "another-token-0123456789")
    assert "token" in (ask(cluster.address, ASKED).problem or "")


def test_a_dead_address_is_told_in_seconds() -> None:
    started = time.monotonic()
    for address in (f"http://127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}", f"ray://127.0.0.1:{free_port()}"):
        site = ask(address, ASKED)
        assert site.problem == "connection refused"
        assert site.nodes == ()
    assert time.monotonic() - started < 10


def test_an_address_that_takes_connections_and_says_nothing_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        started = time.monotonic()
        site = ask(f"http://127.0.0.1:{server.getsockname()[1]}", ASKED)
        assert site.problem == "it gives no answer"
        assert time.monotonic() - started < 10


class Refusing(BaseHTTPRequestHandler):
    """A server that wants another token."""

    def do_GET(self) -> None:
        self.send_error(403)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_a_refused_token_is_named() -> None:
    server = HTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        assert "RAY_AUTH_TOKEN" in (ask(f"http://127.0.0.1:{server.server_port}", ASKED).problem or "")
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("cluster", "environment", "address"),
    [
        ({}, {}, None),
        ({}, {"RAY_ADDRESS": "10.0.0.1:6379"}, "10.0.0.1:6379"),
        ({"kind": "local"}, {"RAY_ADDRESS": "10.0.0.1:6379"}, None),
        ({"kind": "ray"}, {"RAY_ADDRESS": "10.0.0.1:6379"}, "http://127.0.0.1:8265"),
        ({"kind": "ray", "address": "http://head:8265"}, {}, "http://head:8265"),
        ({"kind": "slurm"}, {"RAY_ADDRESS": "10.0.0.1:6379"}, None),
    ],
)
def test_the_site_is_where_the_run_goes(
    cluster: dict[str, str], environment: dict[str, str], address: str | None
) -> None:
    assert cluster_address(plan_of({"hardware": {"cluster": cluster}}), environment) == address


def test_this_machine_answers_without_ray(tmp_path: Path) -> None:
    site = ask(None, Questions(("pytest",), ("no_such_module",), {"here": str(tmp_path), "not": "/no/such"}, ("/tmp",)))
    [node] = site.nodes
    assert not site.is_cluster
    assert node.packages["pytest"] == pytest.__version__
    assert node.unreadable == {"not": "is not there"}
    assert node.missing_modules == ("no_such_module",)
    assert (node.free_bytes["/tmp"] or 0) > 0
