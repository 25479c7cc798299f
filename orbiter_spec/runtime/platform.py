"""verl's idea of a device, answered for a machine that has none.

verl asks its platform for memory figures, random states and a communication backend. Here they are those of the
process itself: resident memory, torch's only generator, gloo. Ray is told that each trainer process takes one "GPU":
verl's placement code accepts no other resource, so Ray is started with as many logical GPUs as there are workers.

The class registers itself, so importing this module is all that `plugin.py` has to do.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import psutil
import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry


class CpuDevice(ModuleType):
    """Stands where verl expects `torch.cuda`: every call that verl makes of it, and no other."""

    def is_available(self) -> bool:
        """False: there is no accelerator whose memory caches verl would have to empty."""
        return False

    def device_count(self) -> int:
        """One: a process sees one CPU device."""
        return 1

    def current_device(self) -> str:
        """The name that `torch.device` takes."""
        return "cpu"

    def get_device_name(self, *_: Any) -> str:
        """The key of verl's table of theoretical speeds."""
        return "CPU"

    def set_device(self, *_: Any) -> None:
        """Nothing to select."""

    def synchronize(self, *_: Any) -> None:
        """Nothing runs asynchronously."""

    def empty_cache(self) -> None:
        """Nothing is cached."""

    def memory_allocated(self, *_: Any) -> int:
        """Resident memory of this process, in bytes."""
        return int(psutil.Process().memory_info().rss)

    def memory_reserved(self, *_: Any) -> int:
        """The same: a process reserves what it holds."""
        return self.memory_allocated()

    def max_memory_allocated(self, *_: Any) -> int:
        """Peak resident memory of this process, in bytes (Linux counts it in KiB, macOS in bytes)."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024

    def max_memory_reserved(self, *_: Any) -> int:
        """The same as `max_memory_allocated`."""
        return self.max_memory_allocated()

    def reset_peak_memory_stats(self, *_: Any) -> None:
        """The kernel's peak cannot be reset."""

    def mem_get_info(self, *_: Any) -> tuple[int, int]:
        """Available and total memory of the machine, in bytes."""
        memory = psutil.virtual_memory()
        return memory.available, memory.total

    def manual_seed(self, seed: int) -> None:
        """Seed torch's generator."""
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed torch's generator."""
        torch.manual_seed(seed)

    def get_rng_state(self, *_: Any) -> torch.Tensor:
        """State of torch's generator."""
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, *_: Any) -> None:
        """Put torch's generator back (a checkpoint was loaded)."""
        torch.set_rng_state(state)


_DEVICE = CpuDevice("orbiter_spec.cpu_device")


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):  # type: ignore[misc]
    """verl's platform named `cpu`; see verl's `PlatformBase` for what each method promises."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _DEVICE

    def is_available(self) -> bool:  # noqa: D102
        return True

    def current_device(self) -> Any:  # noqa: D102
        return "cpu"

    def device_count(self) -> int:  # noqa: D102
        return _DEVICE.device_count()

    def set_device(self, device_index: int) -> None:  # noqa: D102
        _DEVICE.set_device(device_index)

    def synchronize(self, device_index: int | None = None) -> None:  # noqa: D102
        _DEVICE.synchronize(device_index)

    def manual_seed(self, seed: int) -> None:  # noqa: D102
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:  # noqa: D102
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:  # noqa: D102
        pass

    def empty_cache(self) -> None:  # noqa: D102
        pass

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:  # noqa: D102
        return None, None

    def communication_backend_name(self) -> str:  # noqa: D102
        return "gloo"

    def visible_devices_envvar(self) -> str:  # noqa: D102
        return "CPU_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:  # noqa: D102
        yield

    def profiler_start(self) -> None:  # noqa: D102
        pass

    def profiler_stop(self) -> None:  # noqa: D102
        pass

    def ray_resource_name(self) -> str:  # noqa: D102
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:  # noqa: D102
        return []

    def is_ipc_supported(self) -> bool:  # noqa: D102
        return False

    def rollout_env_vars(self) -> dict[str, str]:
        """For the servers of verl's own engines, of which vLLM alone runs here."""
        environment: dict[str, str] = import_module("orbiter_spec.runtime.vllm_cpu").server_environment()
        return environment

    def cudart(self) -> None:  # noqa: D102
        return None
