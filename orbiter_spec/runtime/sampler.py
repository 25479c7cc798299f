"""A replay buffer that looks often and does not train on what is left of a failed group.

verl's buffer asks TransferQueue every two seconds whether the batch is complete. A step of a small model takes less
than that, so these ask every 0.05 s; verl's hook `trainer.v1.sampler.custom_sampler` takes them as
`path=pkg://orbiter_spec.runtime.sampler, name=FastReplayBuffer` (or `FastReplayBufferAsync` for the asynchronous
trainers).

Three of verl's defaults are put right on the way:

* a custom sampler is built without the arguments of `algorithm.filter_groups`, which would be off without a word; they
  are read from the trainer (whose method `refill_fn` is), as verl does for its own buffer;
* a prompt whose generation or reward raised counts as a finished group without that sample. Here it stops the run with
  the reason, unless `trainer.v1.sampler.sync_refill_failed_groups` asks for a replacement;
* an agent loop worker that dies takes its prompts with it and the buffer waits for ever. Here the workers are asked
  now and then whether they live, and Ray's own error about a dead one stops the run.
"""

from __future__ import annotations

import time
from typing import Any

import ray
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer, ReplayBufferAsync

from orbiter_spec.runtime.failures import first_error
from orbiter_spec.runtime.reward_metrics import RewardParts, filter_arguments

POLL_SECONDS = 0.05
PING_SECONDS = 5.0
REASON_SECONDS = 10.0


class _Fast:
    """What both buffers add to verl's."""

    def __init__(self, **kwargs: Any) -> None:
        self._trainer = getattr(kwargs.get("refill_fn"), "__self__", None)
        if self._trainer is not None:
            kwargs = {**kwargs, **filter_arguments(self._trainer, type(self))}
        super().__init__(**{"poll_interval": POLL_SECONDS, **kwargs})
        self._pings: list[Any] = []
        self._pinged = time.monotonic()

    def _sync_metadata_from_transfer_queue(self) -> None:
        super()._sync_metadata_from_transfer_queue()  # type: ignore[misc]
        failed = [key for keys in self.failure_keys.values() for key in keys]  # type: ignore[attr-defined]
        if failed and not self.sync_refill_failed_groups:  # type: ignore[attr-defined]
            raise RuntimeError(
                f"{len(failed)} prompts could not be generated or scored. {failure_reason(self._trainer)}"
            )

    def _wait_for_next_poll(self, partition_id: str, last_debug_time: float) -> float:
        self._watch_workers()
        waited: float = super()._wait_for_next_poll(partition_id, last_debug_time)  # type: ignore[misc]
        return waited

    def _watch_workers(self) -> None:
        """Raise Ray's error when a worker has died. Never waits: a busy worker answers at a later poll."""
        if self._pings:
            answered, self._pings = ray.wait(self._pings, num_returns=len(self._pings), timeout=0)
            ray.get(answered)
        elif time.monotonic() - self._pinged > PING_SECONDS:
            self._pinged = time.monotonic()
            self._pings = [worker.__ray_call__.remote(first_error) for worker in agent_workers(self._trainer)]


class FastReplayBuffer(RewardParts, _Fast, ReplayBuffer):  # type: ignore[misc]
    """For `trainer.v1.trainer_mode=sync`."""


class FastReplayBufferAsync(RewardParts, _Fast, ReplayBufferAsync):  # type: ignore[misc]
    """For the asynchronous trainers."""


def agent_workers(trainer: Any) -> list[Any]:
    """Handles of the agent loop workers; none before they are started."""
    return list(getattr(getattr(trainer, "agent_loop_manager", None), "agent_loop_workers", ()))


def failure_reason(trainer: Any) -> str:
    """The first exception that an agent loop worker saw, or where to look for it."""
    for worker in agent_workers(trainer):
        reason: str = ray.get(worker.__ray_call__.remote(first_error), timeout=REASON_SECONDS)
        if reason:
            return f"The first reason:\n{reason}"
    return "The reason is in the log, in the lines that begin with 'Error in _run_prompt'."
