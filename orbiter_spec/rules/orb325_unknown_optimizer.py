"""optimiser that its module does not have

## What it checks

`optimizer.name` is a class of torch.optim under FSDP, unless `implementation` names another module; adam, sgd or muon
under Megatron. `betas` lie in 0 to 1.

## Why it matters

The class is looked up after the weights are loaded.

## Bad

```yaml
algorithm: {name: grpo, optimizer: {name: AdamW8bit}}
```

## Good

```yaml
algorithm: {name: grpo, optimizer: {name: AdamW8bit, implementation: bitsandbytes.optim}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import nearest
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding

TORCH = (
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
)
MEGATRON = ("adam", "sgd", "muon")


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the optimisers of the actor and the critic."""
    homes = ("algorithm.optimizer", "algorithm.critic.optimizer") if plan.needs_critic else ("algorithm.optimizer",)
    for home in homes:
        yield from _class(plan, home)
        betas = plan.get(f"{home}.betas")
        if betas and not all(0 <= beta < 1 for beta in betas):
            note = f"{betas[0]} and {betas[1]} are not both from 0 to below 1"
            yield Finding(route=f"{home}.betas", note=note, help="use [0.9, 0.999], or leave it out")


def _class(plan: Plan, home: str) -> Iterator[Finding]:
    name, engine = plan.get(f"{home}.name"), facts.train_engine(plan)
    module = plan.get(f"{home}.implementation") or "torch.optim"
    known = MEGATRON if engine == "megatron" else TORCH if engine in ("fsdp", "fsdp2") else ()
    if name is None or not known or name in known or (engine != "megatron" and module != "torch.optim"):
        return
    close = nearest(name, known)
    yield Finding(
        route=f"{home}.name",
        note=f"{'Megatron' if engine == 'megatron' else module} has no {name}",
        help=f"write {close}" if close else f"use {', '.join(known)}, or name its module as implementation",
    )
