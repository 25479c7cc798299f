"""The device that verl sees."""

from __future__ import annotations

import torch
from verl.plugin.platform.platform_base import PlatformBase

from orbiter_spec.runtime.platform import CpuPlatform


def test_every_method_of_verls_platform_is_answered() -> None:
    platform = CpuPlatform()
    assert isinstance(platform, PlatformBase)
    assert platform.is_available()
    assert platform.ray_resource_options(1) == {"num_gpus": 1}
    assert torch.device(platform.current_device()) == torch.device("cpu")
    assert platform.get_device_capability() == (None, None)
    with platform.nvtx_range("x"):
        platform.set_device(0)
        platform.synchronize()


def test_memory_is_that_of_this_process() -> None:
    device = CpuPlatform().device_module
    free, total = device.mem_get_info()
    assert 0 < free <= total
    assert 10e6 < device.memory_allocated() <= device.max_memory_allocated() * 1.01 < total


def test_random_state_goes_out_and_comes_back() -> None:
    device = CpuPlatform().device_module
    device.manual_seed(3)
    state = device.get_rng_state()
    first = torch.rand(4)
    device.set_rng_state(state)
    assert torch.equal(torch.rand(4), first)


def test_verls_memory_helpers_accept_it() -> None:
    from verl.utils.memory_utils import aggressive_empty_cache
    from verl.utils.profiler.performance import log_gpu_memory_usage

    aggressive_empty_cache(force_sync=True)
    log_gpu_memory_usage("here", logger=None)
