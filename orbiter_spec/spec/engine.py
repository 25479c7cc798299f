"""Training engines: how the actor, the reference and the critic lay a model over GPUs and what they compute at once."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from orbiter_spec.spec.base import NonNegativeFloat, NonNegativeInt, PositiveInt, Section

OFFLOAD_CHOICES = ("none", "parameters", "optimizer", "all")


class MicroBatch(Section):
    """How much one GPU computes at once: whole sequences, or a token budget filled dynamically."""

    sequences: PositiveInt | None = Field(None, description="Sequences per GPU in one pass. Left out: planned.")
    tokens: PositiveInt | None = Field(None, description="Token budget per GPU in one pass. Left out: planned.")
    dynamic: bool | None = Field(
        None, description="Fill passes by tokens instead of counting sequences. Left out: true when tokens are given."
    )


class ForwardBatch(Section):
    """How much one GPU computes at once when it only scores."""

    sequences: PositiveInt | None = Field(None, description="Sequences per GPU in one pass. Left out: as training.")
    tokens: PositiveInt | None = Field(None, description="Token budget per GPU in one pass. Left out: as training.")


class Offload(Section):
    """What waits in host memory while it is not needed: none, parameters, optimizer or all, or each by name."""

    shorthand: ClassVar[str | None] = "kind"

    parameters: bool | None = Field(None, description="Offload parameters. Left out: false.")
    optimizer: bool | None = Field(None, description="Offload optimiser state. Left out: false.")
    policy: bool | None = Field(
        None, description="Let FSDP2 or VeOmni itself move parameters, also while computing. Left out: false."
    )

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


class Precision(Section):
    """Types of FSDP's mixed precision, such as bf16 and fp32."""

    parameters: str | None = Field(None, description="Type of parameters in computation. Left out: bf16.")
    reduce: str | None = Field(None, description="Type in which gradients are summed. Left out: fp32.")
    buffers: str | None = Field(None, description="Type of buffers. Left out: fp32.")


class Recompute(Section):
    """What Megatron computes again in the backward pass instead of keeping it."""

    shorthand: ClassVar[str | None] = "granularity"

    granularity: Literal["full", "selective"] | None = Field(None, description="Whole layers or parts. Left out: none.")
    method: Literal["uniform", "block"] | None = Field(None, description="How layers are chosen. Left out: none.")
    layers: PositiveInt | None = Field(None, description="Layers in one unit. Left out: none.")
    modules: list[str] | None = Field(None, description="Parts computed again when selective. Left out: core_attn.")


class Pipeline(Section):
    """How Megatron lays layers over pipeline stages."""

    first_layers: PositiveInt | None = Field(None, description="Layers of the first stage. Left out: an equal share.")
    last_layers: PositiveInt | None = Field(None, description="Layers of the last stage. Left out: an equal share.")
    layout: str | None = Field(
        None, description="All stages in Megatron's notation, such as Et*6|t*5L. Left out: none."
    )
    count_loss: bool | None = Field(None, description="Count the loss as a layer. Left out: false.")
    count_embedding: bool | None = Field(None, description="Count the embedding as a layer. Left out: false.")


class Experts(Section):
    """Mixture-of-experts settings of Megatron."""

    dispatcher: str | None = Field(None, description="How tokens reach experts, such as flex. Left out: allgather.")
    deepep: bool | None = Field(None, description="DeepEP kernels. Left out: false.")
    grouped_gemm: bool | None = Field(None, description="All experts in one matrix product. Left out: the model's.")
    permute_fusion: bool | None = Field(None, description="Fused permutation of tokens. Left out: false.")
    shared_overlap: bool | None = Field(None, description="Overlap the shared expert. Left out: false.")
    router_dtype: str | None = Field(None, description="Type of the router. Left out: the model's.")
    balancing: str | None = Field(None, description="Load balancing type, such as none. Left out: the model's.")
    balance_coefficient: NonNegativeFloat | None = Field(None, description="Weight of the balance loss. Left out: 0.")
    z_coefficient: NonNegativeFloat | None = Field(None, description="Weight of the router's z loss. Left out: none.")
    expert_bias: bool | None = Field(None, description="Bias experts to balance them. Left out: the model's.")
    bias_rate: NonNegativeFloat | None = Field(None, description="Update rate of that bias. Left out: the model's.")


class RouterReplay(Section):
    """Route tokens to the experts that generation chose."""

    shorthand: ClassVar[str | None] = "mode"

    mode: Literal["disabled", "R2", "R3"] | None = Field(
        None, description="R2 repeats the actor's own routing, R3 the rollout's. Left out: disabled."
    )
    record: str | None = Field(None, description="File that routing is written to (Megatron). Left out: none.")
    replay: str | None = Field(None, description="File that routing is read from (Megatron). Left out: none.")


class Quantisation(Section):
    """Quantisation-aware training."""

    shorthand: ClassVar[str | None] = "mode"

    enabled: bool | None = Field(None, description="Train with quantised weights. Left out: true.")
    mode: str | None = Field(None, description="Scheme, such as w4a16. Left out: w4a16.")
    group_size: PositiveInt | None = Field(None, description="Weights that share a scale. Left out: 16.")
    ignore: list[str] | None = Field(None, description="Layers left alone. Left out: lm_head, embeddings and gates.")
    observer: str | None = Field(None, description="How activation ranges are measured. Left out: static_minmax.")
    config: str | None = Field(None, description="vLLM quantisation file for the rollout. Left out: none.")


class Kernels(Section):
    """Kernel implementations by VeOmni's names, such as eager, liger_kernel, fused_triton or tilelang."""

    attention: str | None = Field(
        None, description="Attention; in torchtitan flex, sdpa or varlen. Left out: flash_attention_2, flex."
    )
    experts: str | None = Field(None, description="Mixture of experts. Left out: fused.")
    cross_entropy: str | None = Field(None, description="Cross-entropy loss. Left out: eager.")
    rms_norm: str | None = Field(None, description="RMS norm. Left out: eager.")
    gated_rms_norm: str | None = Field(None, description="Gated RMS norm. Left out: eager.")
    mlp: str | None = Field(None, description="SwiGLU MLP. Left out: eager.")
    rotary: str | None = Field(None, description="Rotary position embedding. Left out: eager.")
    load_balancing: str | None = Field(None, description="Load-balancing loss. Left out: eager.")
    convolution: str | None = Field(None, description="Causal convolution. Left out: eager.")
    delta_rule: str | None = Field(None, description="Gated delta rule. Left out: eager.")
    sparse_attention: str | None = Field(None, description="DeepSeek sparse attention. Left out: eager.")
    sparse_indexer: str | None = Field(None, description="Indexer of sparse attention. Left out: eager.")
    hyper_connections: str | None = Field(None, description="Manifold hyper-connections. Left out: eager.")


class DistCheckpoint(Section):
    """Megatron's own checkpoint format to start from and to save in."""

    shorthand: ClassVar[str | None] = "path"

    path: str | None = Field(None, description="Folder of converted weights. Left out: none.")
    enabled: bool | None = Field(None, description="Use the format. Left out: true when path is given.")
    reshardable: bool | None = Field(
        None, description="Save optimiser state that loads under any layout. Left out: false."
    )


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
    dtype: Literal["bfloat16", "float16", "float32"] | None = Field(
        None, description="Type of computation. Left out: bfloat16, and float32 on a CPU."
    )
    model_dtype: Literal["fp32", "bf16", "fp16"] | None = Field(
        None, description="Type in which weights are kept (FSDP). Left out: fp32."
    )
    forward_prefetch: bool | None = Field(None, description="Gather the next layer early (FSDP). Left out: false.")
    precision: Precision | None = Field(None, description="Types of mixed precision (FSDP). Left out: verl's.")
    reshard_after_forward: bool | str | None = Field(
        None, description="Free gathered weights after the forward pass (FSDP, torchtitan). Left out: true."
    )
    original_parameters: bool | None = Field(
        None, description="Keep original parameters (FSDP1, torchtitan). Left out: false."
    )
    wrap_parameters: NonNegativeInt | None = Field(
        None, description="Parameters from which a module is wrapped alone (FSDP, torchtitan). Left out: 0, by layer."
    )
    entropy_chunking: bool | None = Field(
        None, description="Compute entropy in chunks to save memory. Left out: false."
    )
    entropy_chunk_tokens: PositiveInt | None = Field(None, description="Tokens in such a chunk. Left out: 2048.")
    entropy_checkpointing: bool | None = Field(
        None, description="Recompute entropy in the backward pass (FSDP, VeOmni, torchtitan). Left out: false."
    )
    pad_to_bucket: bool | None = Field(
        None, description="Round packed micro-batches up so that shapes repeat. Left out: false."
    )
    bucket_tokens: PositiveInt | None = Field(
        None, description="Multiple they are rounded up to. Left out: 1024, and 512 for Megatron."
    )
    deterministic: bool | None = Field(
        None, description="Deterministic kernels in this engine (FSDP, VeOmni, torchtitan). Left out: false."
    )
    sequence_split: bool | None = Field(
        None, description="Split activations along the sequence inside tensor parallelism (Megatron). Left out: true."
    )
    distributed_optimizer: bool | None = Field(
        None, description="Shard optimiser state over data parallelism (Megatron). Left out: true."
    )
    packed: bool | None = Field(None, description="Pack sequences inside the engine (Megatron). Left out: true.")
    mbridge: bool | None = Field(
        None, description="Convert Hugging Face weights on the fly (Megatron). Left out: true."
    )
    vanilla_mbridge: bool | None = Field(
        None, description="The mbridge package instead of Megatron-Bridge (Megatron). Left out: false."
    )
    dist_checkpoint: DistCheckpoint | None = Field(
        None, description="Megatron's own checkpoint format. Left out: not used."
    )
    recompute: Recompute | None = Field(None, description="Activations computed again (Megatron). Left out: none.")
    pipeline: Pipeline | None = Field(None, description="Layers over pipeline stages (Megatron). Left out: equal.")
    experts: Experts | None = Field(None, description="Mixture of experts (Megatron). Left out: the model's.")
    attention_backend: str | None = Field(
        None, description="Attention of transformer engine (Megatron). Left out: flash."
    )
    router_replay: RouterReplay | None = Field(
        None, description="Repeat the routing of experts (Megatron, VeOmni). Left out: disabled."
    )
    quantization: Quantisation | None = Field(
        None, description="Quantisation-aware training (FSDP, Megatron). Left out: none."
    )
    kernels: Kernels | None = Field(None, description="Kernels by name (VeOmni, torchtitan). Left out: verl's.")
    engine_compile: bool | None = Field(
        None, description="torch.compile inside the engine (FSDP, VeOmni, torchtitan). Left out: the engine's default."
    )
    replicate: PositiveInt | None = Field(None, description="Copies of the sharded weights (torchtitan). Left out: 1.")
    data_parallel: PositiveInt | None = Field(None, description="Data-parallel size (torchtitan). Left out: 1.")
    activation_checkpoint: str | None = Field(
        None, description="Activation checkpointing by torchtitan's name. Left out: selective."
    )
    max_sequence_tokens: PositiveInt | None = Field(
        None, description="Longest sequence of the engine (torchtitan). Left out: the model's."
    )
    transformer: dict[str, Any] | None = Field(
        None, description="Further entries of Megatron's transformer configuration, by its names. Left out: none."
    )
    data_parallel_options: dict[str, Any] | None = Field(
        None, description="Entries of Megatron's data-parallel configuration, by its names. Left out: none."
    )
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
    compile: bool | None = Field(None, description="Use torch.compile. Left out: true, and false on a CPU.")
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
    balance_batch: bool | None = Field(None, description="Even out tokens between workers. Left out: true.")
    collective_timeout_seconds: PositiveInt | None = Field(
        None, description="Seconds a collective operation may take. Left out: 600."
    )


class Reference(Engine):
    """Engine settings of the reference model where they differ from the actor's."""

    compile: bool | None = Field(None, description="Use torch.compile. Left out: as the actor.")


class CriticEngine(Engine):
    """Engine settings of the critic where they differ from the actor's."""

    gradient_checkpointing: bool | None = Field(
        None, description="Recompute activations in the backward pass. Left out: as the actor."
    )
    activation_offload: bool | None = Field(None, description="Keep activations in host memory. Left out: false.")
    remove_padding: bool | None = Field(None, description="Pack sequences without padding. Left out: as the actor.")

    forward_micro_batch: ForwardBatch | None = Field(
        None, description="How much one GPU computes at once when it only scores. Left out: as micro_batch."
    )
