"""`algorithm`: how rewards become updates, in the words of the papers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from orbiter_spec.spec.agent import Lora
from orbiter_spec.spec.base import (
    FiniteFloat,
    Fraction,
    GpuCount,
    Identifier,
    NodeCount,
    NonNegativeFloat,
    NonNegativeInt,
    Pair,
    PositiveFloat,
    PositiveInt,
    Section,
)

AlgorithmName = Literal[
    "ppo",
    "grpo",
    "dr_grpo",
    "dapo",
    "gspo",
    "rloo",
    "reinforce++",
    "reinforce++-baseline",
    "remax",
    "opo",
    "grpo-passk",
    "gpg",
    "gdpo",
    "optimal-token-baseline",
    "tir-optimal-token-baseline",
]
Aggregation = Literal["token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]
KlEstimator = Literal["kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3", "full", "kl+", "k1+", "low_var_kl+", "k3+"]


class Batch(Section):
    """The whole batch chain, counted in prompts."""

    prompts: PositiveInt | None = Field(None, description="Prompts in one training step. Left out: planned.")
    samples_per_prompt: PositiveInt | None = Field(None, description="Answers per prompt. Left out: by algorithm.")
    minibatch: PositiveInt | None = Field(None, description="Prompts in one optimiser step. Left out: all of them.")
    generation: PositiveInt | None = Field(
        None, description="Prompts generated at once when groups are filtered. Left out: prompts."
    )
    updates: PositiveInt | None = Field(None, description="Passes over the batch in one training step. Left out: 1.")
    shuffle: bool | None = Field(None, description="Shuffle the batch before it is split. Left out: false.")


class Optimizer(Section):
    """The optimiser and its schedule."""

    name: str | None = Field(None, description="Optimiser class. Left out: AdamW.")
    implementation: str | None = Field(None, description="Module of the class (FSDP). Left out: torch.optim.")
    weight_decay: NonNegativeFloat | None = Field(None, description="Weight decay. Left out: 0.01.")
    betas: Pair | None = Field(None, description="Adam's two moments. Left out: 0.9 and 0.999.")
    clip_gradient: PositiveFloat | None = Field(None, description="Largest gradient norm. Left out: 1.0.")
    warmup_steps: NonNegativeInt | None = Field(None, description="Warm-up in optimiser steps. Left out: see ratio.")
    warmup_ratio: Fraction | None = Field(None, description="Warm-up as a share of all steps. Left out: 0.")
    schedule: str | None = Field(None, description="Learning-rate schedule. Left out: constant.")
    min_ratio: Fraction | None = Field(None, description="Lowest rate as a share of the highest (FSDP). Left out: 0.")
    min_rate: NonNegativeFloat | None = Field(None, description="Lowest rate (Megatron, VeOmni). Left out: 0.")
    decay_steps: PositiveInt | None = Field(None, description="Steps of decay (Megatron). Left out: all.")
    decay_ratio: Fraction | None = Field(None, description="Share of the steps that decay (VeOmni). Left out: 1.0.")
    start_rate: NonNegativeFloat | None = Field(
        None, description="Rate at which warm-up starts (Megatron, VeOmni). Left out: 0."
    )
    decay_tail: str | None = Field(
        None, description="Shape of the tail of a warm-up, stable, decay schedule (Megatron). Left out: exponential."
    )
    decay_tail_steps: PositiveInt | None = Field(None, description="Steps of that tail (Megatron). Left out: none.")
    weight_decay_schedule: str | None = Field(
        None, description="How weight decay grows (Megatron). Left out: constant."
    )
    resume_schedule: bool | None = Field(
        None, description="Take the schedule from the checkpoint (Megatron). Left out: false."
    )
    epsilon: PositiveFloat | None = Field(None, description="Adam's epsilon (torchtitan). Left out: 1e-8.")
    cpu_offload: bool | None = Field(
        None, description="Keep state and step on the host (Megatron's hybrid optimiser). Left out: false."
    )
    offload_fraction: Fraction | None = Field(
        None, description="Share of the state kept there (Megatron). Left out: all of it."
    )
    overlap_transfers: bool | None = Field(
        None, description="Copy to and from the host while computing (Megatron). Left out: false."
    )
    precision_aware: bool | None = Field(
        None, description="Keep state in the types named by options (Megatron). Left out: false."
    )
    cycles: PositiveFloat | None = Field(None, description="Cosine cycles (FSDP). Left out: 0.5.")
    options: dict[str, Any] | None = Field(None, description="Further arguments of the optimiser. Left out: none.")
    further: dict[str, Any] | None = Field(
        None, description="Further keys of verl's optimiser section, such as muon_momentum. Left out: none."
    )


class Bounds(Section):
    """How far a probability ratio may go from one."""

    shorthand: ClassVar[str | None] = "low"

    low: NonNegativeFloat | None = Field(None, description="Below one, how far the ratio may go. Left out: 0.2.")
    high: NonNegativeFloat | None = Field(None, description="Above one, how far the ratio may go. Left out: as low.")
    ratio: NonNegativeFloat | None = Field(None, description="Bound of the losses that know only one. Left out: 0.2.")


class Clip(Bounds):
    """Clipping of the policy ratio (Schulman et al., arXiv:1707.06347)."""

    dual: FiniteFloat | None = Field(None, description="Dual-clip bound for negative advantages. Left out: 3.0.")


class Loss(Section):
    """The policy loss."""

    shorthand: ClassVar[str | None] = "kind"

    kind: (
        Literal[
            "vanilla", "gspo", "sapo", "gpg", "clip_cov", "kl_cov", "geo_mean", "cispo", "dppo_tv", "dppo_kl", "dro"
        ]
        | str
        | None
    ) = Field(None, description="Policy loss by verl's name. Left out: vanilla, the clipped ratio.")
    aggregation: Aggregation | None = Field(
        None, description="How token losses become one number. Left out: by algorithm, else token-mean."
    )
    scale_factor: PositiveFloat | None = Field(
        None, description="Constant divisor of seq-mean-token-sum-norm. Left out: the response limit."
    )
    tau_positive: PositiveFloat | None = Field(None, description="SAPO's temperature, advantage above 0. Left out: 1.")
    tau_negative: PositiveFloat | None = Field(
        None, description="SAPO's temperature, advantage below 0. Left out: 1.05."
    )
    clip_cov_ratio: Fraction | None = Field(None, description="Clip-Cov: share of tokens clipped. Left out: 0.0002.")
    clip_cov_low: FiniteFloat | None = Field(None, description="Clip-Cov: lower covariance bound. Left out: 1.")
    clip_cov_high: FiniteFloat | None = Field(None, description="Clip-Cov: upper covariance bound. Left out: 5.")
    kl_cov_ratio: Fraction | None = Field(None, description="KL-Cov: share of tokens penalised. Left out: 0.0002.")
    kl_cov_coefficient: NonNegativeFloat | None = Field(None, description="KL-Cov: penalty. Left out: 0.1.")
    dro_beta: PositiveFloat | None = Field(None, description="DRO's regularisation. Left out: none.")
    sum_of_squares: bool | None = Field(
        None, description="Compute the sum of squared probabilities that token baselines need. Left out: false."
    )


class Kl(Section):
    """The distance to the reference model, and where it acts."""

    shorthand: ClassVar[str | None] = "apply"

    apply: Literal["none", "loss", "reward", "both"] | None = Field(
        None, description="Add KL to the loss, to the reward, to both or to none. Left out: by algorithm."
    )
    coefficient: NonNegativeFloat | None = Field(None, description="Weight of the KL term. Left out: 0.001.")
    reward_coefficient: NonNegativeFloat | None = Field(
        None, description="Weight in the reward where it differs. Left out: coefficient."
    )
    estimator: KlEstimator | None = Field(None, description="Estimator in the loss. Left out: low_var_kl.")
    reward_estimator: KlEstimator | None = Field(None, description="Estimator in the reward. Left out: kl.")
    controller: Literal["fixed", "adaptive"] | None = Field(
        None, description="Keep the reward's coefficient, or steer it to target. Left out: fixed."
    )
    target: PositiveFloat | None = Field(None, description="KL the adaptive controller aims at. Left out: 0.1.")
    horizon: PositiveInt | None = Field(None, description="Samples over which it adapts. Left out: 10000.")


class CriticModel(Section):
    """The model a critic starts from."""

    shorthand: ClassVar[str | None] = "path"

    path: str | None = Field(None, description="Hugging Face repository or local folder. Left out: the policy's.")
    tokenizer: str | None = Field(None, description="Tokenizer repository or folder. Left out: the policy's.")
    config: str | None = Field(None, description="Folder of config.json if not the model's. Left out: the model's own.")
    trust_remote_code: bool | None = Field(
        None, description="Run Python code shipped with the model. Left out: as the policy."
    )
    attention: str | None = Field(None, description="Attention implementation. Left out: as the policy.")
    config_overrides: dict[str, Any] | None = Field(
        None, description="Entries of config.json to replace, by name. Left out: none."
    )
    external_lib: str | None = Field(
        None, description="Python package imported to register the model. Left out: as the policy."
    )
    shared_memory: bool | None = Field(None, description="Copy weights to /dev/shm before loading. Left out: false.")
    lora: Lora | None = Field(None, description="Train adapters instead of the full weights. Left out: full weights.")


class Critic(Section):
    """The value model of PPO."""

    model: CriticModel | None = Field(None, description="Model the critic starts from. Left out: the policy's.")
    learning_rate: PositiveFloat | None = Field(None, description="Peak learning rate. Left out: 1e-5.")
    optimizer: Optimizer | None = Field(None, description="Optimiser of the critic. Left out: as is.")
    warmup_steps: NonNegativeInt | None = Field(None, description="Steps in which only the critic learns. Left out: 0.")
    updates: PositiveInt | None = Field(None, description="Passes over the batch. Left out: as the actor.")
    minibatch: PositiveInt | None = Field(None, description="Prompts in one optimiser step. Left out: as the actor.")
    clip: NonNegativeFloat | None = Field(None, description="Clipping of the value. Left out: 0.5.")
    aggregation: Aggregation | None = Field(None, description="How token losses become one. Left out: as the actor.")


class GroupFilter(Section):
    """Drop groups whose answers all score the same, and draw more (DAPO, arXiv:2503.14476)."""

    enabled: bool | None = Field(None, description="Filter groups. Left out: true.")
    metric: str | None = Field(None, description="What has to differ inside a group. Left out: reward.")
    max_batches: NonNegativeInt | None = Field(
        None, description="Generation batches at most; 0 has no limit. Left out: 0."
    )
    inflight_batches: PositiveInt | None = Field(None, description="Batches in flight at once. Left out: 1.")


class Overlong(Section):
    """A penalty that grows as an answer nears its limit (DAPO, arXiv:2503.14476)."""

    shorthand: ClassVar[str | None] = "buffer_tokens"

    enabled: bool | None = Field(None, description="Apply the penalty. Left out: true.")

    buffer_tokens: PositiveInt = Field(description="Tokens before the limit in which the penalty grows.")
    penalty: NonNegativeFloat | None = Field(None, description="Penalty at the limit. Left out: 1.0.")
    max_tokens: PositiveInt | None = Field(None, description="The limit. Left out: the response limit.")
    log: bool | None = Field(None, description="Log the penalty. Left out: false.")


class RolloutCorrection(Section):
    """Correction of the gap between the rollout's and the trainer's probabilities."""

    importance: Literal["token", "sequence"] | None = Field(None, description="Level of the weights. Left out: none.")
    threshold: PositiveFloat | str | None = Field(None, description="Where weights are cut, or bounds. Left out: 2.0.")
    rejection: str | None = Field(None, description="Statistics by which samples are rejected. Left out: none.")
    rejection_threshold: PositiveFloat | str | None = Field(None, description="Their bounds. Left out: none.")
    normalize: bool | None = Field(None, description="Normalise weights over the batch. Left out: false.")
    bypass: bool | None = Field(None, description="Use the rollout's probabilities as the old ones. Left out: false.")
    loss: Literal["ppo_clip", "reinforce"] | None = Field(None, description="Loss in bypass. Left out: ppo_clip.")


class PreferenceFeedback(Section):
    """Reweighting of samples by their reward before the update (PF-PPO, arXiv:2409.06957)."""

    enabled: bool | None = Field(None, description="Reweight samples. Left out: true.")
    method: Literal["pow", "max_min", "max_random"] | None = Field(None, description="Method. Left out: pow.")
    power: PositiveFloat | None = Field(None, description="Exponent of pow. Left out: 2.0.")


class Staleness(Section):
    """How far generation may run ahead of training; only asynchronous trainers ask."""

    max_versions: NonNegativeInt | None = Field(
        None, description="Weight versions a sample may be behind. Left out: 8."
    )
    strategy: str | None = Field(None, description="What happens to samples beyond that. Left out: drop.")
    warmup_batches: NonNegativeInt | None = Field(
        None, description="Batches generated before the first update. Left out: 1."
    )
    sync_every: PositiveInt | None = Field(
        None, description="Updates between two weight syncs (separate placement). Left out: 4."
    )
    refill_failed: bool | None = Field(None, description="Draw new prompts for failed groups. Left out: false.")
    sampler: str | None = Field(None, description="Replay buffer as file.py:Class. Left out: verl's.")
    sampler_args: dict[str, Any] | None = Field(None, description="Keyword arguments of the sampler. Left out: none.")


class Teacher(Section):
    """One teacher of a distillation, served by an engine of its own."""

    shorthand: ClassVar[str | None] = "model"

    model: str = Field(description="Hugging Face repository or local folder of the teacher.")
    name: Identifier | None = Field(
        None, description="Name in verl's configuration; needed with several teachers. Left out: teacher_model."
    )
    key: str | None = Field(None, description="Rows whose teacher column says this go here. Left out: all rows.")
    replicas: PositiveInt | None = Field(
        None, description="Engines that serve this teacher. Left out: 1; a teacher without a name gets the whole pool."
    )
    engine: Literal["vllm", "sglang", "trtllm"] | None = Field(
        None, description="Inference engine. Left out: the rollout's."
    )
    tensor_parallel: PositiveInt | None = Field(None, description="GPUs that share one replica. Left out: 2.")
    data_parallel: PositiveInt | None = Field(None, description="Data-parallel size inside a replica. Left out: 1.")
    memory_fraction: Fraction | None = Field(None, description="Share of a GPU's memory. Left out: 0.5.")
    dtype: str | None = Field(None, description="Type of the weights. Left out: the rollout's.")
    temperature: NonNegativeFloat | None = Field(None, description="Softmax temperature. Left out: the rollout's.")
    max_sequence_tokens: PositiveInt | None = Field(
        None, description="Tokens of prompt, response and one more. Left out: the engine decides."
    )
    max_batched_tokens: PositiveInt | None = Field(None, description="Tokens in one engine step. Left out: 8192.")
    max_sequences: PositiveInt | None = Field(None, description="Sequences scored at once. Left out: 1024.")
    cuda_graphs: bool | None = Field(None, description="Capture CUDA graphs. Left out: false.")
    engine_args: dict[str, Any] | None = Field(
        None, description="Further arguments of the engine, by its own names. Left out: none."
    )


class Distillation(Section):
    """Learning from the probabilities of teachers, beside or instead of rewards."""

    teachers: Annotated[list[Teacher], Field(min_length=1)] = Field(description="One teacher, or several by key.")
    nodes: NodeCount | None = Field(None, description="Nodes that only serve teachers. Left out: 1.")
    gpus_per_node: GpuCount | None = Field(None, description="GPUs on each of those nodes. Left out: 8.")
    column: str | None = Field(None, description="Column that chooses the teacher. Left out: data_source.")
    loss: str | None = Field(None, description="Distance to the teacher, by verl's name. Left out: k3.")
    top_k: PositiveInt | None = Field(None, description="Tokens compared by top-k losses. Left out: 32.")
    coefficient: NonNegativeFloat | None = Field(None, description="Weight beside task rewards. Left out: 1.0.")
    task_rewards: bool | None = Field(None, description="Learn from rewards as well. Left out: true.")
    largest_loss: PositiveFloat | None = Field(None, description="Loss of a token at most. Left out: no limit.")
    lowest_log_prob: FiniteFloat | None = Field(None, description="Log-probability at least. Left out: no limit.")
    policy_gradient: bool | None = Field(None, description="Use the distance as a reward. Left out: false.")
    policy_loss: str | None = Field(None, description="Policy loss in that case. Left out: vanilla.")
    clip: Bounds | None = Field(None, description="Its clipping. Left out: 0.2 on both sides.")


class Algorithm(Section):
    """How rewards become updates."""

    shorthand: ClassVar[str | None] = "name"

    name: AlgorithmName = Field(description="Algorithm by the field's name; it decides what is left out below.")
    estimator: str | None = Field(None, description="verl advantage estimator. Left out: the algorithm's.")
    trainer: Literal["v1", "legacy"] | None = Field(
        None,
        description="verl's trainer: v1, or legacy, the older one, which alone feeds ReMax, GDPO, token baselines and "
        "preference feedback. Left out: v1, and legacy where nothing else will do.",
    )
    learning_rate: PositiveFloat | None = Field(None, description="Peak learning rate. Left out: 1e-6.")
    optimizer: Optimizer | None = Field(None, description="The optimiser and its schedule. Left out: AdamW, constant.")
    epochs: PositiveInt | None = Field(None, description="Passes over the training rows. Left out: 1.")
    steps: PositiveInt | None = Field(None, description="Training steps in all. Left out: from epochs and rows.")
    batch: Batch | None = Field(None, description="The batch chain, in prompts. Left out: planned.")
    discount: Fraction | None = Field(None, description="Gamma, the discount of later rewards. Left out: 1.0.")
    gae_lambda: Fraction | None = Field(None, description="Lambda of GAE. Left out: 1.0.")
    normalize_advantage: bool | None = Field(
        None, description="Divide by the group's standard deviation. Left out: by algorithm."
    )
    reward_parts: list[str] | None = Field(None, description="Parts that GDPO normalises apart. Left out: all.")
    loss: Loss | None = Field(None, description="The policy loss. Left out: by algorithm.")
    clip: Clip | None = Field(None, description="Clipping of the policy ratio. Left out: by algorithm.")
    kl: Kl | None = Field(None, description="Distance to the reference model. Left out: by algorithm.")
    entropy_coefficient: FiniteFloat | None = Field(None, description="Weight of the entropy bonus. Left out: 0.")
    log_entropy: bool | None = Field(None, description="Compute entropy for the log. Left out: false.")
    critic: Critic | None = Field(None, description="The value model of PPO. Left out: as the policy, where needed.")
    filter_groups: GroupFilter | None = Field(None, description="Drop groups that teach nothing. Left out: keep all.")
    overlong: Overlong | None = Field(None, description="Penalty for answers near the limit. Left out: none.")
    rollout_correction: RolloutCorrection | None = Field(
        None, description="Correct rollout probabilities. Left out: none."
    )
    preference_feedback: PreferenceFeedback | None = Field(None, description="Reweight samples. Left out: no.")
    staleness: Staleness | None = Field(None, description="How far generation runs ahead. Left out: verl's limits.")
    distillation: Distillation | None = Field(None, description="Learn from teachers. Left out: none.")
