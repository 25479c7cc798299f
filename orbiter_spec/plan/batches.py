"""Pass: the batch chain, from prompts to micro-batches.

verl counts `train_batch_size` and `ppo_mini_batch_size` in prompts, micro-batches in sequences of one GPU. What it
requires (workers/config/actor.py, workers/utils/padding.py): prompts x samples divides by the workers, the mini-batch
divides the batch, and a static micro-batch divides what one worker holds.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, gcd
from typing import Any

from orbiter_spec.plan.decide import decide
from orbiter_spec.plan.model import Batches, Plan

GPU_PROMPTS = 256
CPU_PROMPTS = 16
GPU_TOKENS = 16_384
CPU_SEQUENCES = 256


def fit_batches(plan: Plan) -> Plan:
    """Decide prompts, mini-batch and micro-batch, then write the chain down."""
    plan = decide(plan, "fit_batches", _limits(plan))
    plan = decide(plan, "fit_batches", _prompts(plan))
    plan = decide(plan, "fit_batches", _minibatch(plan))
    plan = decide(plan, "fit_batches", _sync_interval(plan))
    plan = decide(plan, "fit_batches", _epochs(plan))
    plan = decide(plan, "fit_batches", _micro_batch(plan))
    return replace(plan, batches=_chain(plan))


def data_parallel_size(plan: Plan) -> int:
    """Copies of the batch dimension: workers over the GPUs that share one sequence."""
    shared = 1
    for size in ("sequence", "tensor", "pipeline", "context"):
        shared *= int(plan.get(f"hardware.train.{size}_parallel", 1))
    return max(1, plan.gpus // shared)


def _limits(plan: Plan) -> dict[str, tuple[Any, str]]:
    return {
        "agent.limits.prompt_tokens": (512, "verl's own limit"),
        "agent.limits.response_tokens": (512, "verl's own limit"),
        "agent.limits.drop_overlong": (True, "one long prompt would stop the run"),
    }


def _prompts(plan: Plan) -> dict[str, tuple[Any, str]]:
    samples = int(plan.get("algorithm.batch.samples_per_prompt", 1))
    usual = CPU_PROMPTS if plan.on_cpu else GPU_PROMPTS
    step = _smallest_step(plan.gpus, samples)
    rows = plan.rows.train
    largest = max(step, rows - rows % step) if rows else usual
    prompts = max(step, min(usual - usual % step, largest))
    return {"algorithm.batch.prompts": (prompts, f"x {samples} samples divides by {plan.gpus} workers")}


def _smallest_step(workers: int, samples: int) -> int:
    """The least number of prompts whose sequences divide by `workers`."""
    return workers // gcd(workers, samples)


def _minibatch(plan: Plan) -> dict[str, tuple[Any, str]]:
    prompts = int(plan.get("algorithm.batch.prompts"))
    interval = plan.get("algorithm.staleness.sync_every")
    if plan.get("hardware.rollout.placement") == "separate" and interval and prompts % interval == 0:
        return {"algorithm.batch.minibatch": (prompts // interval, f"{interval} updates between two weight syncs")}
    return {"algorithm.batch.minibatch": (prompts, "one optimiser step a batch keeps the update on-policy")}


def _sync_interval(plan: Plan) -> dict[str, tuple[Any, str]]:
    """verl's separate trainer wants a batch to be exactly the mini-batches between two weight syncs."""
    prompts, minibatch = int(plan.get("algorithm.batch.prompts")), int(plan.get("algorithm.batch.minibatch"))
    if plan.get("hardware.rollout.placement") != "separate" or prompts % minibatch:
        return {}
    return {"algorithm.staleness.sync_every": (prompts // minibatch, "weights are sent once a batch")}


def _epochs(plan: Plan) -> dict[str, tuple[Any, str]]:
    """As many passes as the steps need: verl stops at whichever ends first."""
    steps, rows = plan.get("algorithm.steps"), plan.rows.train
    per_epoch = rows // int(plan.get("algorithm.batch.prompts")) if rows else 0
    if steps is None or not per_epoch:
        return {}
    return {"algorithm.epochs": (ceil(steps / per_epoch), f"{steps} steps at {per_epoch} an epoch")}


def _micro_batch(plan: Plan) -> dict[str, tuple[Any, str]]:
    route = "hardware.train.micro_batch"
    longest = int(plan.get("agent.limits.prompt_tokens")) + int(plan.get("agent.limits.response_tokens"))
    if plan.on_cpu and plan.is_open(f"{route}.tokens") and not plan.get(f"{route}.dynamic", False):
        held = _held_by_worker(plan)
        divisor = next(size for size in range(min(held, CPU_SEQUENCES), 0, -1) if held % size == 0)
        return {f"{route}.sequences": (divisor, f"divides the {held} sequences of a worker's mini-batch")}
    if not plan.is_open(f"{route}.sequences") and plan.is_open(f"{route}.tokens"):
        return {}
    shared = int(plan.get("hardware.train.sequence_parallel", 1))
    tokens = max(GPU_TOKENS, ceil(longest / shared / 1024) * 1024)
    return {
        f"{route}.dynamic": (True, "packs sequences of any length"),
        f"{route}.tokens": (tokens, f"holds the longest sequence of {longest} tokens"),
    }


def _held_by_worker(plan: Plan) -> int:
    """Sequences of one mini-batch on one worker; at least one, whatever the user wrote."""
    sequences = int(plan.get("algorithm.batch.minibatch")) * int(plan.get("algorithm.batch.samples_per_prompt", 1))
    return max(1, sequences // data_parallel_size(plan))


def _chain(plan: Plan) -> Batches:
    prompts = int(plan.get("algorithm.batch.prompts"))
    samples = int(plan.get("algorithm.batch.samples_per_prompt", 1))
    minibatch = int(plan.get("algorithm.batch.minibatch"))
    micro = plan.get("hardware.train.micro_batch.sequences")
    dynamic = bool(plan.get("hardware.train.micro_batch.dynamic", plan.get("hardware.train.micro_batch.tokens")))
    per_epoch = plan.rows.train // prompts if plan.rows.train is not None else None
    longest = int(plan.get("agent.limits.prompt_tokens")) + int(plan.get("agent.limits.response_tokens"))
    return Batches(
        prompts=prompts,
        samples_per_prompt=samples,
        sequences=prompts * samples,
        data_parallel_size=data_parallel_size(plan),
        sequences_per_worker=prompts * samples // data_parallel_size(plan),
        minibatch_prompts=minibatch,
        optimizer_steps=ceil(prompts / minibatch) * int(plan.get("algorithm.batch.updates", 1)),
        micro_batch_sequences=None if dynamic else micro,
        micro_batch_tokens=plan.get("hardware.train.micro_batch.tokens") if dynamic else None,
        gradient_accumulation=None if dynamic or not micro else ceil(_held_by_worker(plan) / micro),
        steps_per_epoch=per_epoch,
        total_steps=_total_steps(plan, per_epoch),
        max_tokens=prompts * samples * longest,
        expected_tokens=prompts * samples * longest // 2,
    )


def _total_steps(plan: Plan, per_epoch: int | None) -> int | None:
    steps = plan.get("algorithm.steps")
    if steps is not None:
        return int(steps)
    return None if per_epoch is None else per_epoch * int(plan.get("algorithm.epochs", 1))
