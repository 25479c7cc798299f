"""micro-batch that nothing reads

## What it checks

Beside `tokens` (or `dynamic: true`) no `sequences` are written, and beside `dynamic: false` no `tokens`; a critic's
micro-batches are left out.

## Why it matters

Only one of the two has an effect. Lowering the other to save memory changes nothing. verl's critic always fills its
passes by a token budget of its own.

## Bad

```yaml
hardware: {train: {micro_batch: {tokens: 16384, dynamic: true, sequences: 4}}}
```

## Good

```yaml
hardware: {train: {micro_batch: {tokens: 16384, dynamic: true}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look for the knob of the other mode."""
    for section in ("train", "rollout", "reference"):
        base = f"hardware.{section}.micro_batch"
        dynamic = facts.is_dynamic(plan, f"hardware.{section}")
        unused, read = ("sequences", "tokens") if dynamic else ("tokens", "sequences")
        if f"{base}.{unused}" in plan.given:
            yield _finding(f"{base}.{unused}", f"passes are filled by {read}", f"leave it out; {read} is the knob")
    for route in facts.written_below(plan, "hardware.critic"):
        if plan.needs_critic and "micro_batch." in route and not route.endswith(".dynamic"):
            advice = "set critic.ppo_infer_max_token_len_per_gpu under verl.overrides, in tokens"
            yield _finding(route, "the critic's passes follow a token budget of their own", advice)


def _finding(route: str, note: str, advice: str) -> Finding:
    return Finding(route=route, note=note, help=advice, severity=Severity.WARNING)
