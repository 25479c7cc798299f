"""Pass: which of verl's two trainers runs.

The newer one, on TransferQueue, hands rewards, values and log-probabilities to the advantage estimator and nothing
else; what needs more only the older one feeds. verl calls that one deprecated, so it is chosen where nothing else will
do, and by name. Releases before 0.9.0 have no other.
"""

from __future__ import annotations

from collections.abc import Mapping

from orbiter_spec.plan.decide import decide
from orbiter_spec.plan.model import Plan

FED_BY_LEGACY: Mapping[str, str] = {
    "remax": "the scores of greedy answers",
    "gdpo": "the parts of the reward",
    "optimal_token_baseline": "sums of squared probabilities",
    "tir_optimal_token_baseline": "sums of squared probabilities",
}
"""Estimators that the newer trainer does not feed, and what it does not make."""

ONLY_LEGACY = ("0.8.0",)
"""Releases that have the older trainer only."""

FEEDBACK = "algorithm.preference_feedback"


def choose_trainer(plan: Plan) -> Plan:
    """Decide the older trainer where it is needed, and what GDPO asks of it; the newer one goes without saying."""
    reason = _reason(plan)
    if reason is not None:
        plan = decide(plan, "choose_trainer", {"algorithm.trainer": ("legacy", reason)})
    parts = [part.label for part in plan.experiment.rewards.parts]
    if plan.get("algorithm.estimator") != "gdpo" or not parts:
        return plan
    return decide(plan, "choose_trainer", {"algorithm.reward_parts": (parts, "each is normalised apart")})


def _reason(plan: Plan) -> str | None:
    if plan.release in ONLY_LEGACY:
        return f"verl {plan.release} has no other"
    if plan.get("verl.defaults"):
        return None
    estimator = str(plan.get("algorithm.estimator"))
    if estimator in FED_BY_LEGACY:
        return f"{estimator} needs {FED_BY_LEGACY[estimator]}"
    wanted = plan.get(FEEDBACK) is not None and plan.get(f"{FEEDBACK}.enabled") is not False
    return "it alone draws the batch anew" if wanted and estimator == "gae" else None
