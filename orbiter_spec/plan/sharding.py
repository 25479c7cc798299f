"""What one worker holds of a model in training: weights, gradients and optimiser state, to the byte.

Sizes are those of the fullest worker. FSDP2 shards each tensor along its rows, so a worker holds ceil(rows / shards) of
them; FSDP1 cuts one flat tensor; Megatron divides by its parallel sizes first and shards only the optimiser. verl keeps
FSDP weights in float32 unless told otherwise, casts adapters to the type of what they adapt, and keeps Megatron weights
in 16 bits beside float32 gradients and a float32 master copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import ceil

from orbiter_spec.plan.model import Plan
from orbiter_spec.plan.model_facts import ModelFacts
from orbiter_spec.plan.weights import Weight

TYPE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "float32": 4, "bfloat16": 2, "float16": 2}
ADAM_STATES = 2
STATES = {"SGD": 0, "Adafactor": 0, "AdamW8bit": 0.5, "Adam8bit": 0.5}
NOT_ADAPTED = ("head", "embedding", "router", "expert", "norm")


@dataclass(frozen=True, slots=True)
class Layout:
    """How an engine lays a model over its workers; sizes are counts of workers."""

    engine: str
    workers: int
    shards: int
    tensor: int
    pipeline: int
    context: int
    expert: int
    expert_tensor: int
    sequence: int
    weight_bytes: int

    @property
    def megatron(self) -> bool:
        """True for the engine that divides tensors before it shards."""
        return self.engine == "megatron"

    @property
    def data_parallel(self) -> int:
        """Workers that hold the same part of the model, over which Megatron shards the optimiser."""
        return max(1, self.workers // (self.tensor * self.pipeline))

    @property
    def expert_data_parallel(self) -> int:
        """The same for experts."""
        return max(1, self.workers // (self.expert * self.expert_tensor * self.pipeline))


@dataclass(frozen=True, slots=True)
class State:
    """Bytes of one worker, and of the whole model in all workers together (what a checkpoint holds)."""

    weights: int
    gradients: int
    optimizer: int
    saved_weights: int
    saved_optimizer: int


def layout(plan: Plan, role: str = "train") -> Layout:
    """The layout of `role`: train, reference or critic."""

    def size(name: str) -> int:
        return int(plan.get(f"hardware.{role}.{name}", plan.get(f"hardware.train.{name}", 1)))

    engine = str(plan.get("hardware.train.engine", "fsdp2"))
    asked = int(plan.get(f"hardware.{role}.shard_size", -1))
    workers = plan.gpus
    kept = str(plan.get(f"hardware.{role}.model_dtype", plan.get("hardware.train.model_dtype", "fp32")))
    computed = str(plan.get("hardware.train.dtype", "bfloat16"))
    tensor = size("tensor_parallel")
    expert_tensor = plan.get(f"hardware.{role}.expert_tensor_parallel")
    return Layout(
        engine=engine,
        workers=workers,
        shards=workers if asked < 1 or asked >= workers else asked,
        tensor=tensor,
        pipeline=size("pipeline_parallel"),
        context=size("context_parallel"),
        expert=size("expert_parallel"),
        expert_tensor=int(tensor if expert_tensor is None else expert_tensor),
        sequence=size("sequence_parallel"),
        weight_bytes=TYPE_BYTES[computed] if engine == "megatron" else TYPE_BYTES[kept],
    )


def training_state(facts: ModelFacts, laid: Layout, lora_rank: int = 0, optimizer: str = "AdamW") -> State:
    """Weights, gradients and optimiser state of a model that is trained, or of its adapters when `lora_rank` is set."""
    adapters = tuple(_adapters(facts.weights, lora_rank)) if lora_rank else ()
    trained = adapters or facts.weights
    held, held_trained = _held((*facts.weights, *adapters), facts, laid), _held(trained, facts, laid)
    whole, whole_trained = _count((*facts.weights, *adapters)), _count(trained)
    states = STATES.get(optimizer, ADAM_STATES)
    if laid.megatron:
        return State(
            weights=held * laid.weight_bytes,
            gradients=held_trained * 4,
            optimizer=_megatron_optimizer(trained, facts, laid, states),
            saved_weights=whole * laid.weight_bytes,
            saved_optimizer=int(whole_trained * 4 * (1 + states)),
        )
    copies = laid.workers // laid.shards
    return State(
        weights=held * laid.weight_bytes,
        gradients=held_trained * laid.weight_bytes,
        optimizer=int(held_trained * laid.weight_bytes * states),
        saved_weights=whole * laid.weight_bytes * copies,
        saved_optimizer=int(whole_trained * laid.weight_bytes * states) * copies,
    )


def value_model(facts: ModelFacts) -> ModelFacts:
    """The critic that verl builds from a language model: one output per token in place of the vocabulary."""
    body = tuple(weight for weight in facts.weights if weight.kind != "head")
    return replace(facts, weights=(*body, Weight("head", 1, facts.hidden)))


def rollout_weight_bytes(facts: ModelFacts, tensor: int, pipeline: int, expert: int, type_bytes: float) -> int:
    """Bytes of the inference engine's weights on one GPU of a replica."""
    divided = sum(
        weight.parameters / (max(tensor, expert) if weight.kind == "expert" else tensor)
        for weight in facts.weights
        if weight.kind != "norm"
    )
    whole = sum(weight.parameters for weight in facts.weights if weight.kind == "norm")
    return ceil((divided + whole) / pipeline * type_bytes)


def layer_parameters(facts: ModelFacts) -> int:
    """Parameters of the language model's average layer."""
    outside = ("embedding", "head", "vision")
    return sum(weight.parameters for weight in facts.weights if weight.kind not in outside) // facts.layers


def _adapters(weights: Iterable[Weight], rank: int) -> Iterator[Weight]:
    """LoRA's two matrices for every linear layer but the output layer."""
    for weight in weights:
        if weight.linear and weight.kind not in NOT_ADAPTED:
            yield Weight(weight.kind, rank, weight.columns, weight.count)
            yield Weight(weight.kind, weight.rows, rank, weight.count)


def _held(weights: Iterable[Weight], facts: ModelFacts, laid: Layout) -> int:
    """Parameters of the fullest worker."""
    weights = tuple(weights)
    if laid.megatron:
        return sum(_megatron_part(weight, laid) for weight in weights)
    if laid.engine == "fsdp":
        return ceil(_count(weights) / laid.shards)
    return sum(_sharded_rows(weight, laid) for weight in weights)


def _sharded_rows(weight: Weight, laid: Layout) -> int:
    """FSDP2 along the rows; expert and tensor parallelism of VeOmni and torchtitan divide before it does."""
    if weight.kind == "expert" and laid.expert > 1:
        rows = ceil(weight.rows / laid.expert)
        return rows * ceil(weight.columns / max(1, laid.shards // laid.expert)) * weight.count
    divided = laid.tensor if weight.columns > 1 else 1
    return ceil(weight.rows / divided / max(1, laid.shards // divided)) * weight.columns * weight.count


def _megatron_part(weight: Weight, laid: Layout) -> int:
    """A tensor under tensor, expert and pipeline parallelism; the first stage, with the embedding, is the fullest."""
    if weight.kind == "embedding":
        return weight.parameters // laid.tensor
    if weight.kind == "head":
        return weight.parameters // laid.tensor if laid.pipeline == 1 else 0
    if weight.kind == "expert":
        return ceil(weight.parameters / (laid.expert * laid.expert_tensor * laid.pipeline))
    divided = laid.tensor if weight.columns > 1 and weight.kind != "router" else 1
    return ceil(weight.parameters / (divided * laid.pipeline))


def _megatron_optimizer(weights: Iterable[Weight], facts: ModelFacts, laid: Layout, states: float) -> int:
    """A float32 master copy and the moments, sharded over the data-parallel workers."""
    total = 0.0
    for weight in weights:
        copies = laid.expert_data_parallel if weight.kind == "expert" else laid.data_parallel
        total += _megatron_part(weight, laid) / copies
    return ceil(total * 4 * (1 + states))


def _count(weights: Iterable[Weight]) -> int:
    return sum(weight.parameters for weight in weights)
