"""`hardware`: machines, and how training and generation are laid over them."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

from pydantic import Field

from orbiter_spec.spec.base import Fraction, NonNegativeInt, PositiveInt, Section

SHORTHAND = re.compile(r"^(?:(?P<nodes>[1-9]\d*)x)?(?P<gpus>[1-9]\d*)x(?P<accelerator>[A-Za-z][\w.-]*)$")
OFFLOAD_CHOICES = ("none", "parameters", "optimizer", "all")
SHORTHAND_PATTERN = r"^(cpu|([1-9]\d*x)?[1-9]\d*x[A-Za-z][\w.-]*)$"


class MicroBatch(Section):
    """How much one GPU computes at once: whole sequences, or a token budget filled dynamically."""

    sequences: PositiveInt | None = Field(None, description="Sequences per GPU in one pass. Left out: planned.")
    tokens: PositiveInt | None = Field(None, description="Token budget per GPU in one pass. Left out: planned.")
    dynamic: bool | None = Field(
        None, description="Fill passes by tokens instead of counting sequences. Left out: true when tokens are given."
    )


class Offload(Section):
    """What waits in host memory while it is not needed: none, parameters, optimizer or all, or each by name."""

    shorthand: ClassVar[str | None] = "kind"

    parameters: bool | None = Field(None, description="Offload parameters. Left out: false.")
    optimizer: bool | None = Field(None, description="Offload optimiser state. Left out: false.")


    @classmethod
    def expand(cls, scalar: Any) -> dict[str, Any]:
        """`all` and its kind as a mapping."""
        if scalar not in OFFLOAD_CHOICES:
            return {"kind": scalar}
        return {name: scalar in (name, "all") for name in ("parameters", "optimizer")}

    @classmethod
    def shorthand_schema(cls, schema: dict[str, Any]) -> dict[str, Any]:
        """The four words."""
        return {"type": "string", "enum": list(OFFLOAD_CHOICES)}


class Engine(Section):
    """Settings of one training engine, shared by the actor, the reference and the critic."""

    micro_batch: MicroBatch | None = Field(None, description="How much one GPU computes at once. Left out: planned.")
    offload: Offload | None = Field(
        None, description="What waits in host memory: none, parameters, optimizer, all. Left out: none."
    )
    tensor_parallel: PositiveInt | None = Field(None, description="Tensor-parallel size (Megatron). Left out: 1.")
    pipeline_parallel: PositiveInt | None = Field(None, description="Pipeline-parallel size (Megatron). Left out: 1.")
    virtual_pipeline: PositiveInt | None = Field(
        None, description="Virtual pipeline stages (Megatron). Left out: none."
    )
    context_parallel: PositiveInt | None = Field(None, description="Context-parallel size (Megatron). Left out: 1.")
    expert_parallel: PositiveInt | None = Field(
        None, description="Expert-parallel size (Megatron, VeOmni). Left out: 1."
    )
    expert_tensor_parallel: PositiveInt | None = Field(
        None, description="Tensor-parallel size inside experts (Megatron). Left out: the tensor-parallel size."
    )
    sequence_parallel: PositiveInt | None = Field(
        None, description="Ulysses sequence-parallel size (FSDP, VeOmni). Left out: 1."
    )
    shard_size: int | None = Field(
        None, ge=-1, description="GPUs that share one copy of the weights (FSDP, VeOmni); -1 for all. Left out: -1."
    )
    compile: bool | None = Field(None, description="Use torch.compile. Left out: true, and false on a CPU.")
    dtype: Literal["bfloat16", "float16", "float32"] | None = Field(
        None, description="Type of computation. Left out: bfloat16, and float32 on a CPU."
    )
    model_dtype: Literal["fp32", "bf16", "fp16"] | None = Field(
        None, description="Type in which weights are kept (FSDP). Left out: fp32."
    )
    forward_prefetch: bool | None = Field(None, description="Gather the next layer early (FSDP). Left out: false.")
    megatron: dict[str, Any] | None = Field(
        None, description="Further keys of Megatron's engine configuration, by their own names. Left out: none."
    )
    veomni: dict[str, Any] | None = Field(
        None, description="Further keys of VeOmni's engine configuration, by their own names. Left out: none."
    )
    torchtitan: dict[str, Any] | None = Field(
        None, description="Further keys of torchtitan's engine configuration, by their own names. Left out: none."
    )
    fsdp: dict[str, Any] | None = Field(
        None, description="Further keys of FSDP's engine configuration, by their own names. Left out: none."
    )


class Train(Engine):
    """The actor's training engine; the reference and the critic follow it unless they say otherwise."""

    shorthand: ClassVar[str | None] = "engine"

    engine: Literal["fsdp", "fsdp2", "megatron", "veomni", "torchtitan"] | None = Field(
        None, description="Training engine. Left out: fsdp2."
    )
    gradient_checkpointing: bool | None = Field(
        None, description="Recompute activations in the backward pass. Left out: true."
    )
    activation_offload: bool | None = Field(None, description="Keep activations in host memory. Left out: false.")
    remove_padding: bool | None = Field(
        None, description="Pack sequences without padding. Left out: true, and false on a CPU."
    )
    fused_kernels: bool | None = Field(None, description="Fused linear cross-entropy kernels. Left out: false.")
    liger: bool | None = Field(None, description="Liger kernels. Left out: false.")
    prefix_grouper: bool | None = Field(None, description="Share the forward pass of equal prompts. Left out: false.")
    entropy_chunking: bool | None = Field(None, description="Compute entropy in chunks to save memory. Left out: false.")
    entropy_checkpointing: bool | None = Field(None, description="Recompute entropy in backward. Left out: false.")
    balance_batch: bool | None = Field(None, description="Even out tokens between workers. Left out: true.")
    collective_timeout_seconds: PositiveInt | None = Field(
        None, description="Seconds a collective operation may take. Left out: 600."
    )


class Reference(Engine):
    """Engine settings of the reference model where they differ from the actor's."""


class CriticEngine(Engine):
    """Engine settings of the critic where they differ from the actor's."""

    forward_micro_batch: MicroBatch | None = Field(
        None, description="How much one GPU computes at once when it only scores. Left out: as micro_batch."
    )


class Rollout(Section):
    """The inference engine that generates answers."""

    shorthand: ClassVar[str | None] = "engine"

    engine: Literal["vllm", "sglang", "trtllm", "transformers"] | None = Field(
        None, description="Inference engine; transformers is the CPU engine. Left out: vllm, and transformers on a CPU."
    )
    tensor_parallel: PositiveInt | None = Field(None, description="GPUs that share one replica. Left out: planned.")
    data_parallel: PositiveInt | None = Field(None, description="Data-parallel size inside a replica. Left out: 1.")
    expert_parallel: PositiveInt | None = Field(
        None, description="Expert-parallel size: 1, or tensor times data parallel. Left out: 1."
    )
    pipeline_parallel: PositiveInt | None = Field(None, description="Pipeline stages of a replica. Left out: 1.")
    memory_fraction: Fraction | None = Field(
        None, description="Share of a GPU's memory for weights and KV cache. Left out: planned."
    )
    placement: Literal["colocated", "separate"] | None = Field(
        None, description="On the training GPUs, or on nodes of its own. Left out: colocated."
    )
    nodes: PositiveInt | None = Field(None, description="Nodes that only generate (separate). Left out: 1.")
    gpus_per_node: PositiveInt | None = Field(
        None, description="GPUs on each of those nodes (separate). Left out: as the training nodes."
    )
    asynchronous: bool | None = Field(
        None, description="Generate the next batch while training. Left out: false, and true when separate."
    )
    dtype: Literal["bfloat16", "float16", "float32", "auto"] | None = Field(
        None, description="Type of weights in the engine. Left out: bfloat16, and float32 on a CPU."
    )
    max_sequence_tokens: PositiveInt | None = Field(
        None, description="Tokens of prompt and response together. Left out: the sum of the two limits."
    )
    max_batched_tokens: PositiveInt | None = Field(None, description="Tokens in one engine step. Left out: 8192.")
    max_sequences: PositiveInt | None = Field(None, description="Sequences generated at once. Left out: 1024.")
    chunked_prefill: bool | None = Field(None, description="Split long prompts over steps. Left out: true.")
    prefix_caching: bool | None = Field(None, description="Reuse the KV cache of equal prefixes. Left out: true.")
    cuda_graphs: bool | None = Field(None, description="Capture CUDA graphs. Left out: true, and false on a CPU.")
    cuda_graph_sizes: list[PositiveInt] | None = Field(None, description="Batch sizes captured. Left out: the engine's.")
    free_cache: bool | None = Field(None, description="Release the KV cache while training. Left out: true.")
    quantization: str | None = Field(None, description="Quantisation of the engine's weights. Left out: none.")
    load_format: str | None = Field(None, description="How the engine loads weights. Left out: dummy, then synced.")
    multi_stage_wake_up: bool | None = Field(None, description="Wake weights before the KV cache. Left out: false.")
    log_stats: bool | None = Field(None, description="Let the engine log its statistics. Left out: false.")
    routing_replay: bool | None = Field(None, description="Record expert routing for the update. Left out: false.")
    weight_bucket_megabytes: PositiveInt | None = Field(
        None, description="Megabytes sent at once when weights are synced. Left out: 2048."
    )
    engine_args: dict[str, Any] | None = Field(
        None, description="Further arguments of the engine, by its own names. Left out: none."
    )
    micro_batch: MicroBatch | None = Field(
        None, description="How much one GPU computes at once for log-probabilities. Left out: as training."
    )


class Cluster(Section):
    """Where the processes run."""

    kind: Literal["local", "ray"] | None = Field(None, description="This machine, or a Ray cluster. Left out: local.")
    address: str | None = Field(None, description="Address of the Ray job server. Left out: none is needed.")
    cpus: PositiveInt | None = Field(None, description="Logical CPUs Ray may use here. Left out: what the plan needs.")


class Hardware(Section):
    """Machines, and how training and generation are laid over them."""

    shorthand: ClassVar[str | None] = "accelerator"

    accelerator: str | None = Field(None, description="cpu, or a GPU type such as H100-80GB. Left out: unknown.")
    nodes: PositiveInt | None = Field(None, description="Nodes that train. Left out: 1.")
    gpus_per_node: PositiveInt | None = Field(None, description="GPUs on each node. Left out: 8.")
    workers: PositiveInt | None = Field(None, description="Worker processes of a CPU run. Left out: 1.")
    train: Train | None = Field(None, description="The actor's training engine. Left out: planned.")
    reference: Reference | None = Field(None, description="The reference model's engine. Left out: as the actor's.")
    critic: CriticEngine | None = Field(None, description="The critic's engine. Left out: as the actor's.")
    rollout: Rollout | None = Field(None, description="The inference engine. Left out: planned.")
    cluster: Cluster | None = Field(None, description="Where the processes run. Left out: this machine.")
    storage_units: NonNegativeInt | None = Field(
        None, ge=1, description="TransferQueue storage actors, one CPU each. Left out: twice the nodes, and 1 on a CPU."
    )

    @classmethod
    def expand(cls, scalar: Any) -> dict[str, Any]:
        """`8xH100`, `2x8xH100` or `cpu` as a mapping."""
        match = SHORTHAND.match(scalar) if isinstance(scalar, str) else None
        if match is None:
            return {"accelerator": scalar}
        expanded: dict[str, Any] = {"accelerator": match["accelerator"], "gpus_per_node": int(match["gpus"])}
        return expanded | ({"nodes": int(match["nodes"])} if match["nodes"] else {})

    @classmethod
    def shorthand_schema(cls, schema: dict[str, Any]) -> dict[str, Any]:
        """cpu, GPUs x type, or nodes x GPUs x type."""
        return {"type": "string", "pattern": SHORTHAND_PATTERN, "examples": ["cpu", "8xH100", "2x8xH100"]}

    @property
    def on_cpu(self) -> bool:
        """True for a run without accelerators."""
        return self.accelerator == "cpu"
