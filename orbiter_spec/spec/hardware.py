"""`hardware`: machines, and how training and generation are laid over them."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

from pydantic import Field

from orbiter_spec.spec.base import Fraction, NonNegativeFloat, NonNegativeInt, PositiveInt, Section

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


class Hybrid(Section):
    """Training GPUs that generate while they would wait, in the separate placement."""

    shorthand: ClassVar[str | None] = "enabled"

    enabled: bool | None = Field(None, description="Switch training GPUs to generation and back. Left out: true.")
    threshold: Fraction | None = Field(None, description="Share of waiting samples that switches. Left out: 0.4.")
    adaptive: bool | None = Field(None, description="Let the threshold follow its cost. Left out: true.")
    step_up: Fraction | None = Field(None, description="How much it grows. Left out: 0.05.")
    step_down: Fraction | None = Field(None, description="How much it shrinks. Left out: 0.03.")
    release_steps: PositiveInt | None = Field(None, description="Steps before it shrinks. Left out: 2.")
    cost_window: PositiveInt | None = Field(None, description="Switches whose cost is averaged. Left out: 3.")


class Disaggregation(Section):
    """Prefill and decode on different replicas."""

    enabled: bool | None = Field(None, description="Separate the two. Left out: true.")
    prefill_replicas: PositiveInt | None = Field(None, description="Replicas that prefill. Left out: 1.")
    decode_replicas: PositiveInt | None = Field(None, description="Replicas that decode. Left out: 1.")
    decode_tensor_parallel: PositiveInt | None = Field(None, description="GPUs of a decoder. Left out: as prefill.")
    transfer: str | None = Field(None, description="How the KV cache travels. Left out: nixl.")
    port: PositiveInt | None = Field(None, description="Port of the first handshake. Left out: a free one.")
    device: str | None = Field(None, description="InfiniBand device. Left out: any.")


class Prometheus(Section):
    """Metrics of the inference engine for Prometheus."""

    enabled: bool | None = Field(None, description="Offer metrics. Left out: true.")
    port: PositiveInt | None = Field(None, description="Port that is scraped. Left out: 9090.")
    file: str | None = Field(None, description="Prometheus configuration that is rewritten. Left out: Ray's.")
    model_name: str | None = Field(None, description="Name the model is served under. Left out: its path.")


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
    max_sequences: PositiveInt | None = Field(None, description="Sequences generated at once. Left out: 256.")
    chunked_prefill: bool | None = Field(None, description="Split long prompts over steps. Left out: true.")
    prefix_caching: bool | None = Field(None, description="Reuse the KV cache of equal prefixes. Left out: true.")
    cuda_graphs: bool | None = Field(None, description="Capture CUDA graphs. Left out: true, and false on a CPU.")
    cuda_graph_sizes: list[PositiveInt] | None = Field(
        None, description="Batch sizes captured. Left out: the engine's."
    )
    free_cache: bool | None = Field(None, description="Release the KV cache while training. Left out: true.")
    quantization: str | None = Field(None, description="Quantisation of the engine's weights. Left out: none.")
    load_format: str | None = Field(None, description="How the engine loads weights. Left out: dummy, then synced.")
    multi_stage_wake_up: bool | None = Field(None, description="Wake weights before the KV cache. Left out: false.")
    log_stats: bool | None = Field(None, description="Let the engine log its statistics. Left out: false.")
    routing_replay: bool | None = Field(None, description="Record expert routing for the update. Left out: false.")
    weight_bucket_megabytes: PositiveInt | None = Field(
        None, description="Megabytes sent at once when weights are synced. Left out: 2048."
    )
    quantization_config: str | None = Field(None, description="Quantisation file of the engine. Left out: none.")
    scheduling: str | None = Field(None, description="Order of waiting requests. Left out: fcfs.")
    log_probs: bool | None = Field(
        None, description="Record the engine's log-probabilities beside the answers. Left out: true."
    )
    log_probs_mode: str | None = Field(
        None, description="Log-probabilities before or after sampling filters. Left out: processed_logprobs."
    )
    over_sample: Fraction | None = Field(
        None, description="Share of requests started beyond the batch and thrown away late. Left out: 0."
    )
    skip_tokenizer: bool | None = Field(None, description="Start the engine without a tokenizer. Left out: true.")
    sync_backend: str | None = Field(
        None, description="How weights travel to the engine. Left out: naive, and nccl when separate."
    )
    expert_metrics_every: NonNegativeInt | None = Field(
        None, description="Steps between expert load metrics; 0 is never. Left out: 0."
    )
    router_config: str | None = Field(None, description="File that configures the request router. Left out: none.")
    server: str | None = Field(None, description="Engine server as file.py:Class. Left out: verl's.")
    hybrid: Hybrid | None = Field(
        None, description="Lend training GPUs to generation (separate placement). Left out: never."
    )
    disaggregation: Disaggregation | None = Field(
        None, description="Prefill and decode on different replicas. Left out: on the same."
    )
    prometheus: Prometheus | None = Field(None, description="Metrics of the engine for Prometheus. Left out: none.")
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
    device: Literal["cuda", "npu", "cpu"] | None = Field(
        None, description="Device type of torch. Left out: cuda, and cpu on a CPU."
    )
    storage: dict[str, Any] | None = Field(
        None, description="Further keys of TransferQueue's section, by verl's names. Left out: none."
    )
    startup_timeout_seconds: PositiveInt | None = Field(
        None, description="Seconds that workers may take to register. Left out: 300."
    )
    storage_samples: PositiveInt | None = Field(None, description="Samples TransferQueue can hold. Left out: 100000.")
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
