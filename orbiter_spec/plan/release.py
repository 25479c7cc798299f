"""Pass: the same spec means the same on an older release.

What a field means when it is left out is written in the language, with the newest release's defaults. Where an older
one has another default, the value is written down for it. A test compares the tables with the catalogues.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orbiter_spec.plan.decide import decide
from orbiter_spec.plan.model import Plan

OTHER_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "0.8.0": {
        "hardware.rollout.max_sequences": 256,
        "hardware.rollout.log_probs": True,
        "hardware.train.vanilla_mbridge": False,
        "hardware.reference.vanilla_mbridge": False,
        "hardware.critic.vanilla_mbridge": False,
    },
}
METRIC = "algorithm.filter_groups.metric"
WITHOUT_REWARD_METRIC = ("0.8.0", "0.9.0")
"""Releases whose group filter reads what the reward reports and does not know the reward itself by name."""


def fit_release(plan: Plan) -> Plan:
    """Decide what the release would take otherwise, unless its own defaults are asked for."""
    if plan.get("verl.defaults"):
        return plan
    why = f"verl {plan.release} would take another"
    choices = {route: (value, why) for route, value in OTHER_DEFAULTS.get(plan.release, {}).items()}
    filters = plan.get("algorithm.filter_groups") is not None or plan.experiment.algorithm.name == "dapo"
    if filters and plan.release in WITHOUT_REWARD_METRIC:
        choices[METRIC] = ("score", f"what verl {plan.release} calls the reward")
    return decide(plan, "fit_release", choices)
