"""Look at the machines of a run from inside: run as a program, on this machine or as the driver of a Ray job.

The text of this file is all that travels, so it needs the standard library and, for a cluster, Ray; nothing of
orbiter-spec has to be installed where it runs. It imports no package it is asked about, runs no code of the user's and
asks for no CPU, so that a busy cluster answers too. One task is pinned to each node; a node that is silent for
`node_seconds` is reported silent and the others are reported all the same. What was found is printed on one line
behind MARK, as JSON; `launch/site_facts.py` reads it.

    python site_probe.py BASE64_OF_ZLIB_OF_JSON
"""

from __future__ import annotations

import base64
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
import uuid
import zlib
from pathlib import Path
from typing import Any

MARK = "ORBITER-SITE "
CONNECT_SECONDS = 3.0
SMI_SECONDS = 10.0
HUB = ("huggingface.co", 443)
HUB_WORDS = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
TRANSFER_QUEUE = "transfer_queue"


def inspect_node(questions: dict[str, Any]) -> dict[str, Any]:
    """What this machine says: versions, devices, memory in bytes, free bytes of folders, and who can be read."""
    return {
        "host": socket.gethostname(),
        "python": platform.python_version(),
        "system": platform.system(),
        "packages": {name: version_of(name) for name in questions["packages"]},
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": memory_bytes(),
        "gpus": gpu_names(),
        "free_bytes": {path: free_bytes(path) for path in questions["folders"]},
        "unreadable": _present({name: unreadable(path) for name, path in questions["paths"].items()}),
        "unwritable": _present({path: unwritable(path) for path in questions["folders"]}),
        "missing_modules": [name for name in questions["modules"] if not is_importable(name)],
        "models": {name: model_source(name) for name in questions["models"]},
        "ports_taken": [port for port in questions["ports"] if not port_is_free(port)],
    }


def _present(found: dict[str, str | None]) -> dict[str, str]:
    return {name: problem for name, problem in found.items() if problem is not None}


def version_of(package: str) -> str | None:
    """The installed version, "" where it can be imported without one, None where it cannot."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "" if is_importable(package) else None


def is_importable(name: str) -> bool:
    """True when a module of that name would be found; nothing but parent packages of it is imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def memory_bytes() -> int | None:
    """Host memory, or the limit of the control group where that is smaller."""
    sizes = []
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = _read(path).strip()
        if text.isdigit():
            sizes.append(int(text))
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            sizes.append(int(line.split()[1]) * 1024)
    return min(sizes, default=None)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def gpu_names() -> list[str]:
    """Names of the NVIDIA devices, as the driver's own tool tells them."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    command = [tool, "--query-gpu=name", "--format=csv,noheader"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=SMI_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in told.splitlines() if line.strip()]


def nearest_folder(path: str) -> Path:
    """`path`, or the closest folder above it that exists."""
    folder = Path(path).expanduser().absolute()
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


def free_bytes(path: str) -> int | None:
    """Free bytes on the disk that `path` is or would be on."""
    try:
        return shutil.disk_usage(nearest_folder(path)).free
    except OSError:
        return None


def unreadable(path: str) -> str | None:
    """Why the file or folder at `path` cannot be read, or None."""
    found = Path(path).expanduser()
    try:
        if not found.exists():
            return "is not there"
        if found.is_dir():
            next(iter(os.scandir(found)), None)
        else:
            with found.open("rb") as file:
                file.read(1)
    except OSError as error:
        return error.strerror or str(error)
    return None


def unwritable(path: str) -> str | None:
    """Why nothing can be written to the folder `path`, or above it where it is still to be made; None when it can."""
    folder = nearest_folder(path)
    return None if os.access(folder, os.W_OK | os.X_OK) else f"{folder} is not writable"


def model_source(name: str) -> str:
    """Where a repository of the hub would come from: its cache, the network, or nowhere."""
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    cache = Path(os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")).expanduser()
    if any((cache / f"models--{name.replace('/', '--')}" / "snapshots").glob("*/config.json")):
        return "cache"
    if any(os.environ.get(word, "").upper() in ("1", "ON", "YES", "TRUE") for word in HUB_WORDS):
        return "offline"
    if os.environ.get("HF_ENDPOINT") or os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy"):
        return "network"
    return "network" if reaches(*HUB) else "offline"


def reaches(host: str, port: int) -> bool:
    """True when a connection can be made."""
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def port_is_free(port: int) -> bool:
    """True when a server could listen on `port` here."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(("", port))
        except OSError:
            return False
    return True


def inspect_cluster(questions: dict[str, Any], address: str) -> dict[str, Any]:
    """What every node of the Ray cluster at `address` says, and what Ray has to give."""
    import ray

    ray.init(address=address, namespace="orbiter-site", log_to_driver=False, logging_level="ERROR")
    alive = [node for node in ray.nodes() if node["Alive"]]
    nodes = sorted(alive, key=lambda node: (node["NodeManagerAddress"], node["NodeID"]))
    free = ray._private.state.available_resources_per_node()
    deadline = time.monotonic() + questions["node_seconds"]
    facts = _ask_each(inspect_node, nodes, [(questions,)] * len(nodes), deadline)
    answered = [node for node, told in zip(nodes, facts, strict=True) if told is not None]
    return {
        "ray": ray.__version__,
        "nodes": [
            {
                "address": node["NodeManagerAddress"],
                "total": node["Resources"],
                "free": free.get(node["NodeID"], {}),
                "facts": told,
            }
            for node, told in zip(nodes, facts, strict=True)
        ],
        "unconnected": _unconnected(answered, deadline),
        "not_shared": _not_shared(answered, questions["shared"], deadline),
        "other_run": _other_run(),
    }


def _ask_each(function: Any, nodes: list[Any], arguments: list[Any], deadline: float) -> list[Any]:
    """`function` as a task on each node; None for a node that gives no answer in time."""
    import ray

    task = ray.remote(num_cpus=0, max_retries=0)(function)
    placed = zip(nodes, arguments, strict=True)
    return _answers([task.options(scheduling_strategy=_pin(node)).remote(*given) for node, given in placed], deadline)


def _pin(node: Any) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)


def _answers(asked: list[Any], deadline: float) -> list[Any]:
    import ray

    ready = ray.wait(asked, num_returns=len(asked), timeout=max(0.1, deadline - time.monotonic()))[0] if asked else []
    return [_answer(reference) if reference in ready else None for reference in asked]


def _answer(reference: Any) -> Any:
    import ray

    try:
        return ray.get(reference, timeout=1)
    except Exception:  # a node that dies while it is asked is as silent as one that does not answer
        return None


class Listener:
    """A port that takes connections as long as this lives; an actor keeps one on each node."""

    def __init__(self) -> None:
        self.server = socket.create_server(("", 0), backlog=64)

    def port(self) -> int:
        """The port's number."""
        return int(self.server.getsockname()[1])


def _unconnected(nodes: list[Any], deadline: float) -> list[list[str]]:
    """Pairs of addresses, from and to, between which no connection can be made: verl's workers use free ports."""
    if len(nodes) < 2:
        return []
    import ray

    actor = ray.remote(num_cpus=0)(Listener)
    listeners = [actor.options(scheduling_strategy=_pin(node)).remote() for node in nodes]
    ports = _answers([listener.port.remote() for listener in listeners], deadline)
    targets = [(node["NodeManagerAddress"], port) for node, port in zip(nodes, ports, strict=True) if port]
    told = _ask_each(_reached, nodes, [(targets,)] * len(nodes), deadline)
    pairs = zip(nodes, told, strict=True)
    return [[node["NodeManagerAddress"], host] for node, lost in pairs for host in lost or ()]


def _reached(targets: list[tuple[str, int]]) -> list[str]:
    return [host for host, port in targets if not reaches(host, port)]


def _not_shared(nodes: list[Any], folders: list[str], deadline: float) -> dict[str, list[str]]:
    """Folder to the addresses of nodes that do not see what the first node writes there."""
    found: dict[str, list[str]] = {}
    for folder in folders if len(nodes) > 1 else ():
        [marker] = _ask_each(_mark, nodes[:1], [(folder, uuid.uuid4().hex)], deadline)
        if marker is None:
            continue
        seen = _ask_each(os.path.exists, nodes[1:], [(marker,)] * (len(nodes) - 1), deadline)
        _ask_each(_unmark, nodes[:1], [(marker,)], deadline)
        blind = [node["NodeManagerAddress"] for node, saw in zip(nodes[1:], seen, strict=True) if saw is False]
        found |= {folder: blind} if blind else {}
    return found


def _mark(folder: str, name: str) -> str | None:
    path = nearest_folder(folder) / f".orbiter-{name}"
    try:
        path.touch()
    except OSError:
        return None
    return str(path)


def _unmark(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def _other_run() -> bool:
    """True when a run of verl holds its TransferQueue on this cluster; a second one would join it."""
    import ray

    return any(actor["namespace"] == TRANSFER_QUEUE for actor in ray.util.list_named_actors(all_namespaces=True))


def main(words: list[str]) -> None:
    """Answer the questions in the first word; `address` in them asks a cluster."""
    questions = json.loads(zlib.decompress(base64.b64decode(words[0])))
    address = questions.get("address")
    found = inspect_cluster(questions, address) if address else {"nodes": [{"facts": inspect_node(questions)}]}
    print(MARK + json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
