"""Parts of the reward in the metrics and records of training.

verl 0.9.1 logs what a reward function returns beside `score` for validation only: as
`val-aux/<data_source>/<part>/mean@1` and in the validation records. In training it keeps the values with each response
and uses the total alone. The replay buffer is the one public hook (`trainer.v1.sampler.custom_sampler`) that sees a
training batch with its rewards and may add metrics to the step, so that is where the means are taken. Each step gets

* `reward/<part>/mean`, and `/max`, `/min` for every number that the reward function returned,
* `agent/<count>/mean`, `/max`, `/min` for what the episodes of an environment or with tools counted, and
* a file `rewards/<step>.jsonl` in verl's folder of rollout records, one line a response with the same `uid`.

The file imports verl and the standard library only, so that it works from a compiled folder.

verl builds a custom sampler without the arguments of `algorithm.filter_groups`, and would then not filter, without a
word; `filter_arguments` reads them from the trainer. A prompt whose generation or reward raised is to verl a finished
group without that response. Here it ends the run, unless `trainer.v1.sampler.sync_refill_failed_groups` is on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import transfer_queue as tq
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer, ReplayBufferAsync

RECORDS_FOLDER = "rewards"


class RewardParts:
    """What is added to a replay buffer of verl's; stands before it among the base classes."""

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """verl's sample, with the parts of a training batch added to its metrics and written to the records."""
        batch, metrics = super().sample(  # type: ignore[misc]
            global_steps=global_steps, partition_id=partition_id, batch_size=batch_size
        )
        if partition_id == "train" and batch.keys:
            fields = extra_fields(batch.keys, partition_id)
            infos = [field.get("reward_extra_info") or {} for field in fields]
            metrics = {**metrics, **part_metrics(infos), **episode_metrics(fields)}
            folder = _records_folder(getattr(self, "refill_fn", None))
            if folder is not None:
                write_records(folder / RECORDS_FOLDER / f"{global_steps}.jsonl", batch.keys, infos)
        return batch, metrics


class _StopOnFailure:
    def __init__(self, **kwargs: Any) -> None:
        trainer = getattr(kwargs.get("refill_fn"), "__self__", None)
        if trainer is not None:
            kwargs = {**kwargs, **filter_arguments(trainer, type(self))}
        super().__init__(**kwargs)

    def _sync_metadata_from_transfer_queue(self) -> None:
        super()._sync_metadata_from_transfer_queue()  # type: ignore[misc]
        failed = [key for keys in self.failure_keys.values() for key in keys]  # type: ignore[attr-defined]
        if failed and not self.sync_refill_failed_groups:  # type: ignore[attr-defined]
            raise RuntimeError(
                f"{len(failed)} prompts could not be generated or scored; the cause is above, in a line with "
                "'orbiter-spec:' or 'Error in _run_prompt'"
            )


class RewardReplayBuffer(RewardParts, _StopOnFailure, ReplayBuffer):  # type: ignore[misc]
    """For `trainer.v1.trainer_mode=sync`."""


class RewardReplayBufferAsync(RewardParts, _StopOnFailure, ReplayBufferAsync):  # type: ignore[misc]
    """For the asynchronous trainers."""


def extra_fields(keys: list[str], partition_id: str) -> list[Mapping[str, Any]]:
    """What agent loop and reward function left with each response: `reward_extra_info`, and `episode` where the loop
    is the one of an environment or tools.
    """
    data = tq.kv_batch_get(keys=keys, partition_id=partition_id, select_fields=["extra_fields"])
    fields = [getattr(value, "data", value) for value in data["extra_fields"]]
    return [field if isinstance(field, Mapping) else {} for field in fields]


def episode_metrics(fields: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """`agent/<count>/mean`, `max` and `min` of what the episodes counted, and the share of good tool calls."""
    episodes = [field["episode"] for field in fields if isinstance(field.get("episode"), Mapping)]
    metrics = {f"agent/{name.removeprefix('reward/')}": value for name, value in part_metrics(episodes).items()}
    calls = sum(episode["tool_calls"] for episode in episodes)
    if calls:
        failures = sum(episode["tool_failures"] for episode in episodes)
        metrics["agent/tool_success_share"] = (calls - failures) / calls
    return metrics


def part_metrics(infos: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Mean, maximum and minimum of each number in `infos`, over the responses that have it."""
    values: dict[str, list[float]] = {}
    for info in infos:
        for name, value in info.items():
            if name != "score" and hasattr(value, "__float__"):
                values.setdefault(name, []).append(float(value))
    return {
        f"reward/{name}/{what}": number
        for name, numbers in values.items()
        for what, number in (("mean", sum(numbers) / len(numbers)), ("max", max(numbers)), ("min", min(numbers)))
    }


def write_records(path: Path, keys: list[str], infos: list[dict[str, Any]]) -> None:
    """One JSON line a response: its `uid` as in verl's own record of the step, then the parts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records = ({"uid": key, **info} for key, info in zip(keys, infos, strict=True))
    lines = [json.dumps(record, ensure_ascii=False, default=float) for record in records]
    path.write_text("".join(line + "\n" for line in sorted(lines)), encoding="utf-8")


def _records_folder(refill_fn: Any) -> Path | None:
    """Where the trainer whose method `refill_fn` is keeps its rollout records."""
    trainer = getattr(refill_fn, "__self__", None)
    folder = trainer.config.trainer.get("rollout_data_dir", None) if trainer is not None else None
    return Path(folder) if folder else None


def filter_arguments(trainer: Any, buffer: type) -> dict[str, Any]:
    """The arguments that verl's trainer gives to its own buffer and leaves out for a custom one."""
    config = trainer.config
    metric = trainer._resolve_filter_groups_metric()
    refill = bool(config.trainer.v1.sampler.get("sync_refill_failed_groups", False))
    arguments: dict[str, Any] = {"filter_groups_metric": metric, "sync_refill_failed_groups": refill}
    if issubclass(buffer, ReplayBufferAsync):
        return arguments
    batch = config.data.train_batch_size
    inflight = config.algorithm.filter_groups.get("max_inflight_gen_batches", 1) if metric is not None else 1
    single = metric is not None or refill
    return {
        **arguments,
        "train_batch_size": batch,
        "gen_batch_size": 1 if single else (config.data.get("gen_batch_size", None) or batch),
        "max_inflight_gen_batches": inflight,
    }
