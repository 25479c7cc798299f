"""What this machine can do, what it lacks, and the command that gives it that.

Only looking: versions are read from the packages' own records, devices from the driver's tool with a time limit, a
cluster is asked as `validate --site` asks it. Nothing heavy is imported, so the answer comes at once where a broken
torch could not be imported at all.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Any

from orbiter_spec.launch.site import MIN_FREE_BYTES, count_gpus
from orbiter_spec.lower.target import TARGET_VERSIONS

TRAINING = (
    "verl",
    "torch",
    "ray",
    "transformers",
    "TransferQueue",
    "fastapi",
    "uvicorn",
    "cachetools",
    "pyzmq",
    "msgspec",
)
ENGINES = ("vllm", "sglang")
OPTIONAL = (
    ("math-verify", "'orbiter-spec[cpu]'"),
    ("matplotlib", "'orbiter-spec[cpu]'"),
    ("datasets", "'orbiter-spec[data]'"),
    ("tensorboard", "tensorboard"),
    ("wandb", "wandb"),
)
TOOL_SECONDS = 10.0
CLUSTER_SECONDS = 30.0
MIB = 1 << 20


class State(StrEnum):
    """How a thing stands. Only WRONG and MISSING stand in the way of a run here."""

    OK = "ok"
    NOTE = "note"
    MISSING = "missing"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Check:
    """One line: what was looked at, what was found, and what to type where something is to be done."""

    group: str
    name: str
    state: State
    found: str
    help: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def examine(folder: Path, cluster: str | None = None) -> list[Check]:
    """Everything there is to say about this machine, and about `cluster` where one is named."""
    checks = [*_system(folder), *_packages(), *_devices()]
    return [*checks, *(_cluster(cluster) if cluster else ())]


def version_of(package: str) -> str | None:
    """The installed version of a distribution, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _system(folder: Path) -> Iterator[Check]:
    python = platform.python_version()
    right = sys.version_info >= (3, 11)
    yield Check("machine", "Python", State.OK if right else State.WRONG, python, "" if right else "use Python 3.11")
    system = platform.system()
    linux = State.OK if system == "Linux" else State.WRONG
    yield Check(
        "machine", "system", linux, f"{system} {platform.machine()}", "" if linux is State.OK else "runs need Linux"
    )
    yield Check("machine", "cores", State.OK, str(os.cpu_count() or 1))
    total = _memory_bytes()
    if total is not None:
        yield Check("machine", "memory", State.OK, f"{total / (1 << 30):.1f} GiB")
    yield _space("disk", folder, "make room, or choose another run.output", State.WRONG)
    if Path("/dev/shm").is_dir():
        yield _space("shared memory", Path("/dev/shm"), "give a container more with --shm-size=4g", State.NOTE)


def _space(name: str, folder: Path, advice: str, when_short: State) -> Check:
    free = shutil.disk_usage(folder).free
    short = free < MIN_FREE_BYTES
    return Check(
        "machine", name, when_short if short else State.OK, f"{free // MIB:,} MiB free", advice if short else ""
    )


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def _packages() -> Iterator[Check]:
    yield Check("packages", "orbiter-spec", State.OK, version_of("orbiter-spec") or "from its source folder")
    extra = "vllm" if count_gpus() else "cpu"
    install = f"{sys.executable} -m pip install 'orbiter-spec[{extra}]'"
    for name in TRAINING:
        version = version_of(name)
        if version is None:
            yield Check("packages", name, State.MISSING, "not installed", install)
        elif name == "verl" and version not in TARGET_VERSIONS:
            yield Check(
                "packages", name, State.WRONG, version, f"{sys.executable} -m pip install verl=={TARGET_VERSIONS[-1]}"
            )
        else:
            yield Check("packages", name, State.OK, version)
    for name in ENGINES:
        version = version_of(name)
        advice = "" if version else f"pip install 'orbiter-spec[{name}]' where rollout.engine is {name}"
        yield Check("packages", name, State.OK if version else State.NOTE, version or "not installed", advice)
    for name, what in OPTIONAL:
        version = version_of(name)
        advice = "" if version else f"{sys.executable} -m pip install {what}"
        yield Check("packages", name, State.OK if version else State.NOTE, version or "not installed", advice)


def _devices() -> Iterator[Check]:
    found = nvidia_gpus()
    if not found:
        yield Check("devices", "GPU", State.NOTE, "none: `hardware: cpu` runs here, at toy size")
        return
    for number, gpu in enumerate(found):
        yield Check("devices", f"GPU {number}", State.OK, gpu)
    torch = version_of("torch") or ""
    if torch.endswith("+cpu"):
        advice = f"{sys.executable} -m pip install --force-reinstall torch, from PyTorch's CUDA index"
        yield Check("devices", "torch", State.WRONG, f"{torch} cannot use the GPUs", advice)


def nvidia_gpus() -> list[str]:
    """Name, memory and driver of each GPU, as the driver's tool says; empty where there is none."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return [f"NVIDIA device {number}" for number in range(count_gpus())]
    command = [tool, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stdout.splitlines() if done.returncode == 0 else []
    return [", ".join(part.strip() for part in line.split(",")) for line in lines if line.strip()]


def _cluster(address: str) -> Iterator[Check]:
    from orbiter_spec.launch.probe import ask
    from orbiter_spec.launch.site_facts import Questions

    site = ask(address, Questions(packages=TRAINING[:5]), limit_seconds=CLUSTER_SECONDS)
    if site.problem:
        advice = "is the address that of Ray's job server, http://HEAD:8265, and reachable from here?"
        yield Check("cluster", address, State.WRONG, site.problem, advice)
    for node in site.nodes:
        if not node.answered:
            yield Check("cluster", node.address, State.WRONG, "gives no answer", "is the node alive?")
            continue
        parts = [f"{node.cpus:g} CPUs", f"{node.gpus:g} GPUs", *node.accelerators, f"Python {node.python}"]
        parts += [f"{name} {version}" for name, version in node.packages.items() if version]
        missing = [name for name, version in node.packages.items() if version is None]
        state = State.NOTE if missing else State.OK
        advice = f"the node's Python has no {', '.join(missing)}" if missing else ""
        yield Check("cluster", node.address, state, ", ".join(parts), advice)
    for start, end in site.unconnected:
        yield Check("cluster", start, State.WRONG, f"does not reach {end}", "open the ports between the nodes")


def fails(checks: list[Check]) -> bool:
    """True when a run would not start here."""
    return any(check.state in (State.MISSING, State.WRONG) for check in checks)
