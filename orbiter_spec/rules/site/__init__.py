"""Rules over a plan and the machines it is meant for: `validate --site`, and before every run.

They ask the site through `Site` and never touch the world themselves; `orbiter_spec.preflight` brings both together. A
rule here has a page as all rules have, whose Bad and Good say the machines under `site`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType

from orbiter_spec.diagnostics import Diagnostic, Place
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import rule_id, title, to_diagnostic
from orbiter_spec.rules.site import (
    orb518_cluster_without_answer,
    orb519_silent_node,
    orb520_pool_without_room,
    orb521_other_accelerator,
    orb522_package_missing_on_node,
    orb523_versions_apart,
    orb524_path_unreadable_on_node,
    orb525_import_missing_on_node,
    orb526_output_not_shared,
    orb527_second_run_on_cluster,
    orb528_nodes_out_of_touch,
    orb529_node_short_of_space,
)
from orbiter_spec.rules.site.protocol import Site

SITE_RULES: tuple[ModuleType, ...] = (
    orb518_cluster_without_answer,
    orb519_silent_node,
    orb520_pool_without_room,
    orb521_other_accelerator,
    orb522_package_missing_on_node,
    orb523_versions_apart,
    orb524_path_unreadable_on_node,
    orb525_import_missing_on_node,
    orb526_output_not_shared,
    orb527_second_run_on_cluster,
    orb528_nodes_out_of_touch,
    orb529_node_short_of_space,
)


def run_site_rules(plan: Plan, site: Site, place_of: Callable[[str], Place]) -> Iterator[Diagnostic]:
    """Every finding of every rule on `plan` at `site`."""
    for rule in SITE_RULES:
        for finding in rule.check(plan, site):
            yield to_diagnostic(finding, rule_id(rule), title(rule), place_of)
