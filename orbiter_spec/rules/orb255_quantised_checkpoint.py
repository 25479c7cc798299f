"""policy whose published weights are quantised

## What it checks

Under FSDP the policy's checkpoint is not quantised: `quantization_config` in its config.json, or a name that ends in
AWQ, GPTQ or the like, names no method.

## Why it matters

verl casts the model to one precision when it has loaded it. transformers refuses that for GPTQ, bitsandbytes and
Quark, adapters or not; of other methods the packed weights do not train, and the inference engine is sent tensors by
names that it does not have.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4}
```

## Good

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.plan.model_facts import find_config
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

REFUSED = ("gptq", "bitsandbytes", "quark")
NAMED = re.compile(r"[-_](?P<method>awq|gptq|bnb)([-_](int)?[48](bit)?)?(-instruct)?$", re.IGNORECASE)
METHODS: Mapping[str, str] = {"bnb": "bitsandbytes"}


def check(plan: Plan) -> Iterator[Finding]:
    """Look the checkpoint's method up."""
    if not facts.train_engine(plan).startswith("fsdp"):
        return
    path = str(plan.path("agent.model.path"))
    method = _method(path)
    if method is None:
        return
    yield Finding(
        route="agent.model.path",
        note=f"its weights are quantised by {method}",
        help="train the model they were made from, and let the rollout quantise (hardware.rollout.quantization)",
        severity=Severity.ERROR if method in REFUSED else Severity.WARNING,
    )


def _method(path: str) -> str | None:
    found = find_config(path)
    told = found[0].get("quantization_config") if found else None
    if isinstance(told, Mapping):
        return str(told.get("quant_method") or "a method of its own").lower()
    named = NAMED.search(path.rstrip("/"))
    return METHODS.get(named["method"].lower(), named["method"].lower()) if named else None
