"""Pass: what is known about the model. First of all, for sizes decide the rest."""

from __future__ import annotations

from dataclasses import replace

from orbiter_spec.plan.model import Plan
from orbiter_spec.plan.model_facts import find_facts


def recall_model(plan: Plan) -> Plan:
    """`plan` with the facts of the agent's model, or None where nobody knows them."""
    folder = plan.path("agent.model.config") or plan.path("agent.model.path")
    overrides = plan.get("agent.model.config_overrides")
    facts = find_facts(str(folder), overrides)
    if facts is None and folder != plan.get("agent.model.path"):
        facts = find_facts(str(plan.get("agent.model.path")), overrides)
    return replace(plan, model=facts)
