"""truncation that verl does not apply

## What it checks

`limits.truncation` is left out, and `drop_overlong` stays true.

## Why it matters

verl's agent loop cuts long text prompts from the left whatever `truncation` says, and fails on long prompts with
images. Prompts that are dropped before training need neither.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, limits: {drop_overlong: false, truncation: right}}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct, limits: {drop_overlong: true}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at both switches."""
    wish, dropped = plan.get("agent.limits.truncation"), plan.get("agent.limits.drop_overlong")
    images = plan.get("dataset.columns.images") is not None
    if wish is not None and wish != "left":
        note = "long prompts are dropped before" if dropped else "long prompts lose their beginning all the same"
        yield _finding("agent.limits.truncation", note, "leave it out")
    if dropped is False:
        note = (
            "a long prompt with images fails"
            if images
            else "a long prompt loses its beginning, the system prompt first"
        )
        yield _finding("agent.limits.drop_overlong", note, "use true, or raise prompt_tokens")


def _finding(route: str, note: str, cure: str) -> Finding:
    return Finding(route=route, note=note, help=cure, severity=Severity.WARNING)
