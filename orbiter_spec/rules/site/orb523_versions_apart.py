"""versions that differ between nodes, or from the target

## What it checks

verl, Ray and torch are the same on every node, as is Python up to its second number, and verl is the release that the
spec compiles for.

## Why it matters

Workers of one job exchange pickled objects and join one process group; versions that differ fail there, or hang. Keys
of another verl release are refused when the workers are built.

## Bad

```yaml
site: {nodes: [{packages: {torch: 2.13.0}}, {packages: {torch: 2.9.1}}]}
```

## Good

```yaml
site: {nodes: [{packages: {torch: 2.13.0}}, {packages: {torch: 2.13.0+cu130}}]}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding
from orbiter_spec.rules.site.protocol import Site

NAMES = ("verl", "ray", "torch", "python")


def check(plan: Plan, site: Site) -> Iterator[Finding]:
    """Compare nodes with one another, and verl with the target."""
    for name in NAMES:
        found: dict[str, str] = {}
        for node in site.nodes:
            version = minor(node.python) if name == "python" else public(node.packages.get(name))
            if version and (node.cpus or node.gpus or not site.is_cluster):
                found.setdefault(version, node.address)
        if len(found) > 1:
            yield Finding(
                route="hardware.cluster",
                note=f"{name} is " + ", ".join(f"{version} on {address}" for version, address in found.items()),
                help="install the same version on every node",
            )
        elif name == "verl" and found and list(found) != [wanted(plan)]:
            yield Finding(
                route="verl.version",
                note=f"the spec compiles for verl {wanted(plan)}, and {next(iter(found))} is installed",
                help=f"install verl {wanted(plan)}, or set verl.version to a release that is there",
                severity=Severity.WARNING,
            )


def public(version: str | None) -> str:
    """A version without the local part that a build adds."""
    return (version or "").partition("+")[0]


def minor(version: str) -> str:
    """Python's first two numbers; pickles of one are read by the other."""
    return ".".join(version.split(".")[:2])


def wanted(plan: Plan) -> str:
    """The release of verl that the spec compiles for."""
    return str(plan.get("verl.version") or "0.9.1")
