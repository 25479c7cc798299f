"""The one way in which a pass adds to a plan: fill what is open, never replace what the user gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orbiter_spec.plan.model import Decision, Plan


def decide(plan: Plan, by: str, choices: Mapping[str, tuple[Any, str]]) -> Plan:
    """`plan` with each open route of `choices` (route to value and reason) decided by the pass `by`."""
    fresh = {route: Decision(route, value, by, why) for route, (value, why) in choices.items() if plan.is_open(route)}
    return replace(plan, decided={**plan.decided, **fresh}) if fresh else plan
