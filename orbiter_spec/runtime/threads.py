"""How many threads torch may use in one of several processes on a machine.

Ray starts each actor with one OpenMP thread, which is too few for a real model alone on its machine. Splitting the
cores evenly is right for it, and wrong for a toy: its matrices are too small to share, and threads that spin at each
barrier take the cores from the other processes of the run.
"""

from __future__ import annotations

import os

import torch

SHARED_FROM_PARAMETERS = 20_000_000


def thread_count(parameters: int, processes: int, cores: int) -> int:
    """Threads for a process that computes with a model of `parameters`, one of `processes` on `cores`."""
    return max(1, cores // processes) if parameters >= SHARED_FROM_PARAMETERS else 1


def set_threads(model: torch.nn.Module, processes: int) -> None:
    """Give torch its share of the cores for `model`, with `processes` like this one on the machine."""
    parameters = sum(parameter.numel() for parameter in model.parameters())
    torch.set_num_threads(thread_count(parameters, processes, len(os.sched_getaffinity(0))))
