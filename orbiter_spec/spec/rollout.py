"""`hardware.rollout`: the inference engine that generates answers, where it stands and what it may use."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from orbiter_spec.spec.base import Fraction, GpuCount, NodeCount, NonNegativeInt, PositiveInt, Section
from orbiter_spec.spec.engine import MicroBatch


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
    nodes: NodeCount | None = Field(None, description="Nodes that only generate (separate). Left out: 1.")
    gpus_per_node: GpuCount | None = Field(
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
