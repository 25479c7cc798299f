"""user code that a node cannot import

## What it checks

Every module that rewards, tools, environments and other files of the user import when they are loaded is found on
every node. Files that the spec names travel with the run; packages do not.

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

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.nodes import alike
from orbiter_spec.rules.site.protocol import Site


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Each set of modules once, with the nodes that lack it."""
    for modules, nodes in alike(site, lambda node: node.missing_modules):
        yield Finding(
            route="rewards",
            note=f"no module {', '.join(modules)} on {nodes}",
            help="install what provides it there, or bring it with the job's runtime environment",
        )
