"""Pass: length of training, checkpoints, validation, loggers."""

from __future__ import annotations

from typing import Any

from orbiter_spec.plan.decide import decide
from orbiter_spec.plan.model import Plan


def schedule_run(plan: Plan) -> Plan:
    """Decide how long training takes and how often it is saved and checked."""
    choices: dict[str, tuple[Any, str]] = {
        "project": ("orbiter", "a name for experiment trackers"),
        "seed": (42, "the same run twice"),
        "algorithm.epochs": (1, "one pass over the rows"),
        "algorithm.learning_rate": (1e-6, "usual for full weights"),
        "run.output": ("runs", "beside the spec"),
        "run.log": (["console"], "a run writes metrics.jsonl as well"),
        "run.save_rollouts": (True, "answers explain rewards"),
        "run.save_validations": (True, "answers explain scores"),
        "run.evaluate.before_training": (True, "shows where training starts"),
        "run.checkpoint.resume": ("never", "a new run starts fresh; run --resume goes on"),
    }
    total = plan.batches.total_steps if plan.batches else None
    if total:
        choices["run.evaluate.every"] = (total, "once more at the end")
        choices["run.checkpoint.every"] = (total, "the last state is kept")
    if plan.get("agent.model.lora.rank") is not None:
        choices["algorithm.learning_rate"] = (1e-5, "adapters take larger steps")
        choices["agent.model.lora.alpha"] = (2 * int(plan.get("agent.model.lora.rank")), "twice the rank")
        choices["agent.model.lora.targets"] = ("all-linear", "adapts every projection")
    return decide(plan, "schedule_run", choices)
