"""module that a node cannot import

## What it checks

Every module that rewards, tools, environments and other files of the user import when they are loaded is found on
every node, and so is what verl imports for each logger of `run.log`. Files that the spec names travel with the run;
packages do not.

## Why it matters

The import fails when the first worker needs it: after the models are loaded.

## Bad

```yaml
rewards: [{builtin: exact_match}]
site: {nodes: [{missing_modules: [sympy]}]}
```

## Good

```yaml
rewards: [{builtin: exact_match}]
site: {nodes: [{}]}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.nodes import alike
from orbiter_spec.rules.site.protocol import Node, Site
from orbiter_spec.spec.names import LOGGER_MODULES

CODE = ("agent.environment", "agent.tools", "agent.function_tools", "dataset.custom_class")
"""What else of the user's may import, in the order in which it is looked at."""


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Each set of modules once, with the nodes that lack it; loggers' modules stand for themselves."""
    loggers = {LOGGER_MODULES[name] for name in facts.loggers(plan) if name in LOGGER_MODULES}
    for ours, route in ((False, _route(plan)), (True, "run.log")):
        for modules, nodes in alike(site, partial(_of, loggers=loggers, ours=ours)):
            yield Finding(
                route=route,
                note=f"no module {', '.join(modules)} on {nodes}",
                help="install what provides it there, or bring it with the job's runtime environment",
            )


def _of(node: Node, *, loggers: set[str], ours: bool) -> tuple[str, ...]:
    return tuple(name for name in node.missing_modules if (name in loggers) is ours)


def _route(plan: Plan) -> str:
    """Where the user's code is: the rewards' functions, or else the first other thing that is code."""
    scored = any(getattr(part, "function", None) for part in plan.experiment.rewards.parts or ())
    return "rewards" if scored else next((route for route in CODE if plan.get(route)), "rewards")
