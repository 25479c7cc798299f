"""expert setting for a model without experts

## What it checks

`hardware.rollout.expert_parallel` above 1, a replay of expert routing and its recording go with a mixture-of-experts
model.

## Why it matters

vLLM refuses expert parallelism of a model without experts when its servers start. A replay finds no routers: verl
raises in the first pass over the answers, and SGLang with the first answer.

## Bad

```yaml
agent: {model: Qwen/Qwen2.5-7B-Instruct}
hardware: {rollout: {tensor_parallel: 2, expert_parallel: 2}}
```

## Good

```yaml
agent: {model: Qwen/Qwen3-30B-A3B}
hardware: {rollout: {tensor_parallel: 2, expert_parallel: 2}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

EXPERTS, RECORD, REPLAY = (
    "hardware.rollout.expert_parallel",
    "hardware.rollout.routing_replay",
    "hardware.train.router_replay.mode",
)


def check(plan: Plan) -> Iterator[Finding]:
    """Look for the model's experts."""
    if plan.model is None or plan.model.experts:
        return
    engine = plan.get("hardware.rollout.engine")
    wide = int(plan.get(EXPERTS) or 1) > 1 and engine in ("vllm", "sglang")
    replayed = plan.get(REPLAY) in ("R2", "R3") and facts.train_engine(plan) in ("megatron", "veomni")
    recorded = bool(plan.get(RECORD)) and engine in ("vllm", "sglang")
    sure = {EXPERTS: engine == "vllm", REPLAY: True, RECORD: engine == "sglang"}
    for route, wrong in ((EXPERTS, wide), (REPLAY, replayed), (RECORD, recorded)):
        if wrong:
            yield Finding(
                route=route,
                note=f"{plan.get(route)}, and {plan.model.architecture} has no experts",
                help="leave it out",
                related=(("agent.model.path", "no experts"),),
                severity=Severity.ERROR if sure[route] else Severity.WARNING,
            )
