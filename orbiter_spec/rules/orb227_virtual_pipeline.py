"""virtual pipeline does not fit the pipeline

## What it checks

`virtual_pipeline` comes with `pipeline_parallel` above 1, and a worker's mini-batch can be cut into a multiple of the
pipeline's stages.

## Why it matters

Megatron interleaves stages only over a real pipeline, and it moves micro-batches in groups of as many as there are
stages. A worker with fewer sequences than that cannot fill one group: verl raises in the first update.

## Bad

```yaml
hardware: {train: {engine: megatron, tensor_parallel: 2, virtual_pipeline: 2}}
```

## Good

```yaml
hardware: {train: {engine: megatron, tensor_parallel: 2, pipeline_parallel: 2, virtual_pipeline: 2}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules import facts
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Compare virtual stages, stages and the sequences of a worker."""
    virtual, stages = (
        plan.get("hardware.train.virtual_pipeline"),
        int(plan.get("hardware.train.pipeline_parallel") or 1),
    )
    if not virtual or virtual == 1 or facts.train_engine(plan) != "megatron":
        return
    if stages == 1:
        yield Finding(
            route="hardware.train.virtual_pipeline",
            note=f"{virtual} virtual stages over a pipeline of 1",
            help="use pipeline_parallel: 2 or more, or leave it out",
        )
        return
    copies = facts.shape(plan).data_parallel
    held = facts.minibatch_sequences(plan) // copies if copies else 0
    micro = (
        1 if facts.is_dynamic(plan, "hardware.train") else int(plan.get("hardware.train.micro_batch.sequences") or 1)
    )
    passes = held // micro
    short = passes < stages if facts.is_dynamic(plan, "hardware.train") else passes % stages
    if copies and held % micro == 0 and short:
        yield Finding(
            route="hardware.train.virtual_pipeline",
            note=f"{passes} micro-batches of a worker for groups of {stages}",
            help=f"use a mini-batch that gives each worker a multiple of {stages * micro} sequences",
            related=(("algorithm.batch.minibatch", f"{held} sequences on a worker"),),
        )
