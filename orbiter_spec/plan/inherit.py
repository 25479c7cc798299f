"""Pass: verl's own defaults instead of planned values, for an experiment that asks for them (`verl.defaults: true`).

An imported script left many values to verl. To plan them anew would be another experiment, so they are written down as
what they are. Only fields that a later pass would decide stand here; a test compares them with the target's catalogue.
None means that verl itself decides when it starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orbiter_spec.plan.decide import decide
from orbiter_spec.plan.model import Plan

WHY = "verl's own default"

VERL_DEFAULTS: Mapping[str, Any] = {
    "project": "verl_examples",
    "seed": 42,
    "dataset.seed": "random",
    "agent.limits.prompt_tokens": 512,
    "agent.limits.response_tokens": 512,
    "agent.limits.drop_overlong": False,
    "agent.model.lora.alpha": None,
    "agent.model.lora.targets": None,
    "algorithm.batch.prompts": 1024,
    "algorithm.batch.minibatch": 256,
    "algorithm.epochs": 30,
    "algorithm.staleness.sync_every": 4,
    "algorithm.learning_rate": None,
    "algorithm.critic.learning_rate": None,
    "algorithm.kl.coefficient": 0.001,
    "hardware.nodes": 1,
    "hardware.gpus_per_node": 8,
    "hardware.storage_units": 8,
    "hardware.train.engine": "fsdp",
    "hardware.train.micro_batch.sequences": None,
    "hardware.train.micro_batch.tokens": None,
    "hardware.train.micro_batch.dynamic": False,
    "hardware.rollout.engine": "vllm",
    "hardware.rollout.tensor_parallel": 2,
    "hardware.rollout.memory_fraction": 0.5,
    "hardware.rollout.max_sequence_tokens": None,
    "run.log": ["console", "wandb"],
    "run.save_rollouts": False,
    "run.save_validations": False,
    "run.checkpoint.every": None,
    "run.checkpoint.folder": None,
    "run.checkpoint.resume": "auto",
    "run.evaluate.every": None,
    "run.evaluate.before_training": True,
}


def inherit_defaults(plan: Plan) -> Plan:
    """Decide what later passes would plan, where the user wants verl's defaults."""
    if not plan.get("verl.defaults"):
        return plan
    return decide(plan, "inherit_defaults", {route: (value, WHY) for route, value in VERL_DEFAULTS.items()})
