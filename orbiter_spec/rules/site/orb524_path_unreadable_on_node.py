"""path that a node cannot read

## What it checks

Models, prepared rows and other files that stay where they are can be read on every node; a model named by its
repository is in the node's cache or can be fetched.

## Why it matters

Workers on that node fail when they load it, one after the other, with the others waiting.

## Bad

```yaml
agent: {model: /models/qwen}
site: {nodes: [{}, {address: 10.0.0.7, unreadable: {agent.model.path: is not there}}]}
```

## Good

```yaml
agent: {model: /models/qwen}
site: {nodes: [{}, {address: 10.0.0.7}]}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.nodes import each
from orbiter_spec.rules.site.protocol import Node, Site


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Each path once, with the nodes that cannot read it."""
    for (route, problem), nodes in each(site, _unreadable):
        yield Finding(
            route=route,
            note=f"{problem} on {nodes}",
            help="copy it to the same place on every node, or use a folder that all of them share",
        )
    for (name, _), nodes in each(site, _offline):
        yield Finding(
            route="agent.model.path",
            note=f"{name} is not in the cache of {nodes}, and the hub cannot be reached from there",
            help="fetch it into a folder that every node can read, and name that folder",
            severity=Severity.WARNING,
        )


def _unreadable(node: Node) -> list[tuple[str, str]]:
    return list(node.unreadable.items())


def _offline(node: Node) -> list[tuple[str, str]]:
    return [(name, source) for name, source in node.models.items() if source == "offline"]
