"""Every default decided, every batch concrete, every pool sized. Knows no YAML, no verl key and no Ray."""

from orbiter_spec.plan.build import make_plan
from orbiter_spec.plan.model import Plan, Rows

__all__ = ["Plan", "Rows", "make_plan"]
