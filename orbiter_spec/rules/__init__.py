"""Rules over a plan: one rule, one file, one question.

The tuple is the table of contents, written by hand; a test holds it to the files. A rule's docstring is its page: the
first line is the title, and its Bad and Good are run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType

from orbiter_spec.diagnostics import Diagnostic, Place
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import orb201_minibatch_splits_batch, orb202_workers_split_batch
from orbiter_spec.rules.finding import to_diagnostic

RULES: tuple[ModuleType, ...] = (
    orb201_minibatch_splits_batch,
    orb202_workers_split_batch,
)


def rule_id(rule: ModuleType) -> str:
    """`ORB201` for the module orb201_minibatch_splits_batch."""
    return rule.__name__.rpartition(".")[2].partition("_")[0].upper()


def title(rule: ModuleType) -> str:
    """The first line of the rule's page."""
    return (rule.__doc__ or "").strip().splitlines()[0]


def run_rules(plan: Plan, place_of: Callable[[str], Place]) -> Iterator[Diagnostic]:
    """Every finding of every rule on `plan`."""
    for rule in RULES:
        for finding in rule.check(plan):
            yield to_diagnostic(finding, rule_id(rule), title(rule), place_of)
