"""The `verl.plugins` entry point: makes this machine's CPU a place where verl trains.

verl imports this module (and calls nothing) at the end of `import verl`, in the driver and in each Ray worker, so
importing it must stay cheap and must change nothing where there is an accelerator. It acts

* when `VERL_PLATFORM=cpu`, or
* when `VERL_PLATFORM` is unset, verl itself finds no accelerator, and this process is not part of a Ray cluster that
  somebody else started. The last condition keeps a GPU-less head node of a GPU cluster as verl would have it.

Then it sets `VERL_PLATFORM` and `VERL_ENGINE_DEVICE` for this process and for the Ray workers of the private cluster
that it will start, registers the platform, and leaves a hook on each verl module that the CPU needs completed
(`patches.py`). verl swallows an exception raised here, so the reason is written to standard error as well; verl then
stops on the unknown platform.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

PLATFORM_VARIABLE = "VERL_PLATFORM"
ENGINE_VARIABLE = "VERL_ENGINE_DEVICE"
CLUSTER_VARIABLES = ("RAY_ADDRESS", "RAY_JOB_ID", "RAY_JOB_CONFIG_JSON_ENV_VAR", "RAY_RAYLET_PID")


def is_chosen() -> bool:
    """Whether verl should run on the CPU in this process. Runs verl's own accelerator probes only when it must."""
    platform = os.environ.get(PLATFORM_VARIABLE, "").strip().lower()
    if platform:
        return platform == "cpu"
    if any(os.environ.get(name) for name in CLUSTER_VARIABLES):
        return False
    return not _has_accelerator()


def _has_accelerator() -> bool:
    from verl.plugin.platform.platform_manager import PlatformRegistry

    platforms = [PlatformRegistry.get(name) for name in PlatformRegistry.registered_names()]
    return any(platform is not None and platform().is_platform_available(use_smi_check=True) for platform in platforms)


def activate() -> None:
    """Register the CPU with verl. Safe to call twice."""
    os.environ[PLATFORM_VARIABLE] = "cpu"
    os.environ[ENGINE_VARIABLE] = "cpu"
    import_module("orbiter_spec.runtime.platform")
    import_module("orbiter_spec.runtime.patches").install()


def _load() -> None:
    try:
        if is_chosen():
            activate()
    except Exception as error:
        print(f"orbiter-spec: the CPU platform for verl could not be set up: {error!r}", file=sys.stderr)
        raise


_load()
