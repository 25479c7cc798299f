"""adapters on the vision tower that the rollout does not take

## What it checks

With a model that sees, adapters on all linear modules leave the vision tower out (`exclude: '.*visual.*'`), or are
merged before they are sent, where vLLM answers.

## Why it matters

vLLM serves adapters of the language model and refuses a file that names other modules: the first weight sync fails.

## Bad

```yaml
agent: {model: {path: Qwen/Qwen2.5-VL-7B-Instruct, lora: {rank: 32}}}
```

## Good

```yaml
agent: {model: {path: Qwen/Qwen2.5-VL-7B-Instruct, lora: {rank: 32, exclude: ".*visual.*"}}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

LORA = "agent.model.lora"


def check(plan: Plan) -> Iterator[Finding]:
    """Look at what is adapted, and at who answers."""
    if plan.model is None or not any(weight.kind == "vision" for weight in plan.model.weights):
        return
    open_ended = plan.get(f"{LORA}.targets") in (None, "all-linear") and not plan.get(f"{LORA}.exclude")
    served = plan.get("hardware.rollout.engine") == "vllm" and not plan.get(f"{LORA}.merge")
    if facts.has_lora(plan) and facts.train_engine(plan).startswith("fsdp") and open_ended and served:
        yield Finding(
            route=LORA,
            note="adapters on every linear module, and vLLM takes none of the vision tower",
            help=f'set {LORA}.exclude: ".*visual.*", or {LORA}.merge: true',
            related=(("agent.model.path", f"{plan.model.architecture} sees"),),
            severity=Severity.WARNING,
        )
