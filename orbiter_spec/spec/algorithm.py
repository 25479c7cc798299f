"""`algorithm`: how rewards become updates, in the words of the papers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from orbiter_spec.spec.agent import Model
from orbiter_spec.spec.base import (
    FiniteFloat,
    Fraction,
    NonNegativeFloat,
    NonNegativeInt,
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
]
Aggregation = Literal["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]
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
    betas: Annotated[list[FiniteFloat], Field(min_length=2, max_length=2)] | None = Field(
        None, description="Adam's two moments. Left out: 0.9 and 0.999."
    )
    clip_gradient: PositiveFloat | None = Field(None, description="Largest gradient norm. Left out: 1.0.")
    warmup_steps: NonNegativeInt | None = Field(None, description="Warm-up in optimiser steps. Left out: see ratio.")
    warmup_ratio: Fraction | None = Field(None, description="Warm-up as a share of all steps. Left out: 0.")
    schedule: str | None = Field(None, description="Learning-rate schedule. Left out: constant.")
    min_ratio: Fraction | None = Field(None, description="Lowest rate as a share of the highest (FSDP). Left out: 0.")
    min_rate: NonNegativeFloat | None = Field(None, description="Lowest rate (Megatron, VeOmni). Left out: 0.")
    decay_steps: PositiveInt | None = Field(None, description="Steps of decay (Megatron). Left out: all.")
    cycles: PositiveFloat | None = Field(None, description="Cosine cycles (FSDP). Left out: 0.5.")
    options: dict[str, Any] | None = Field(None, description="Further arguments of the optimiser. Left out: none.")


class Clip(Section):
    """Clipping of the policy ratio (Schulman et al., arXiv:1707.06347)."""

    low: NonNegativeFloat | None = Field(None, description="Below one, how far the ratio may go. Left out: 0.2.")
    high: NonNegativeFloat | None = Field(None, description="Above one, how far the ratio may go. Left out: as low.")
    dual: FiniteFloat | None = Field(None, description="Dual-clip bound for negative advantages. Left out: 3.0.")

    shorthand: ClassVar[str | None] = "low"


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
    tau_negative: PositiveFloat | None = Field(None, description="SAPO's temperature, advantage below 0. Left out: 1.05.")
    clip_cov_ratio: Fraction | None = Field(None, description="Clip-Cov: share of tokens clipped. Left out: 0.0002.")
    clip_cov_low: FiniteFloat | None = Field(None, description="Clip-Cov: lower covariance bound. Left out: 1.")
    clip_cov_high: FiniteFloat | None = Field(None, description="Clip-Cov: upper covariance bound. Left out: 5.")
    kl_cov_ratio: Fraction | None = Field(None, description="KL-Cov: share of tokens penalised. Left out: 0.0002.")
    kl_cov_coefficient: NonNegativeFloat | None = Field(None, description="KL-Cov: penalty. Left out: 0.1.")
    dro_beta: PositiveFloat | None = Field(None, description="DRO's regularisation. Left out: none.")


class Kl(Section):
    """The distance to the reference model, and where it acts."""

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


class Critic(Section):
    """The value model of PPO."""

    model: Model | None = Field(None, description="Model the critic starts from. Left out: the policy's.")
    learning_rate: PositiveFloat | None = Field(None, description="Peak learning rate. Left out: 1e-5.")
    optimizer: Optimizer | None = Field(None, description="Optimiser of the critic. Left out: as is.")
    warmup_steps: NonNegativeInt | None = Field(
        None, description="Steps in which only the critic learns. Left out: 0."
    )
    updates: PositiveInt | None = Field(None, description="Passes over the batch. Left out: as the actor.")
    minibatch: PositiveInt | None = Field(None, description="Prompts in one optimiser step. Left out: as the actor.")
    clip: NonNegativeFloat | None = Field(None, description="Clipping of the value. Left out: 0.5.")
    aggregation: Aggregation | None = Field(None, description="How token losses become one. Left out: as the actor.")


class GroupFilter(Section):
    """Drop groups whose answers all score the same, and draw more (DAPO, arXiv:2503.14476)."""

    metric: str | None = Field(None, description="What has to differ inside a group. Left out: reward.")
    max_batches: NonNegativeInt | None = Field(None, description="Generation batches at most; 0 has no limit. Left out: 0.")
    inflight_batches: PositiveInt | None = Field(None, description="Batches in flight at once. Left out: 1.")


class Overlong(Section):
    """A penalty that grows as an answer nears its limit (DAPO, arXiv:2503.14476)."""

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

    method: Literal["pow", "max_min", "max_random"] | None = Field(None, description="Method. Left out: pow.")
    power: PositiveFloat | None = Field(None, description="Exponent of pow. Left out: 2.0.")


class Algorithm(Section):
    """How rewards become updates."""

    shorthand: ClassVar[str | None] = "name"

    name: AlgorithmName = Field(description="Algorithm by the field's name; it decides what is left out below.")
    estimator: str | None = Field(None, description="verl advantage estimator. Left out: the algorithm's.")
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
