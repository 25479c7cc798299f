"""PPO's and GRPO's formulas by the names that scripts use, over verl's own: nothing is computed here a second time.

Tensors have the shape (batch, response tokens); a mask is 1 where a token belongs to the answer. torch and verl are
imported when a function is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def compute_gae_advantage_return(
    token_level_rewards: Tensor, values: Tensor, response_mask: Tensor, gamma: float = 1.0, lam: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Advantages, whitened over the mask, and returns, by generalised advantage estimation (arXiv:1506.02438)."""
    from verl.trainer.ppo import core_algos

    found: tuple[Tensor, Tensor] = core_algos.compute_gae_advantage_return(
        token_level_rewards, values, response_mask, gamma, lam
    )
    return found


def compute_grpo_advantage(
    token_level_rewards: Tensor, response_mask: Tensor, index: Any, *, normalize: bool = True
) -> tuple[Tensor, Tensor]:
    """Advantages within groups of answers to one prompt (arXiv:2402.03300), twice, as verl gives them.

    `index` names the group of each answer; `normalize` divides by the group's standard deviation.
    """
    import numpy as np
    from verl.trainer.ppo import core_algos

    found: tuple[Tensor, Tensor] = core_algos.compute_grpo_outcome_advantage(
        token_level_rewards, response_mask, np.asarray(index), norm_adv_by_std_in_grpo=normalize
    )
    return found


def compute_policy_loss(
    old_log_probs: Tensor, log_probs: Tensor, advantages: Tensor, response_mask: Tensor, clip_ratio: float = 0.2
) -> tuple[Tensor, dict[str, float]]:
    """The clipped policy loss, a mean over tokens (arXiv:1707.06347), and what was clipped."""
    from verl.trainer.ppo import core_algos

    loss, clipped, kl, clipped_low = core_algos.compute_policy_loss(
        old_log_probs, log_probs, advantages, response_mask, cliprange=clip_ratio
    )
    return loss, {"clip_fraction": float(clipped), "kl": float(kl), "clip_fraction_lower": float(clipped_low)}


def compute_value_loss(
    vpreds: Tensor, returns: Tensor, old_values: Tensor, response_mask: Tensor, cliprange_value: float = 0.5
) -> tuple[Tensor, dict[str, float]]:
    """The clipped squared error of the values, half its mean over tokens, and what was clipped."""
    from verl.trainer.ppo import core_algos

    loss, clipped = core_algos.compute_value_loss(vpreds, returns, old_values, response_mask, cliprange_value)
    return loss, {"clip_fraction": float(clipped)}


def apply_kl_penalty(
    token_level_rewards: Tensor,
    log_probs: Tensor,
    ref_log_probs: Tensor,
    response_mask: Tensor,
    kl_coef: float,
    estimator: str = "kl",
) -> tuple[Tensor, float]:
    """Rewards less the distance to the reference model at each token, and the mean distance over the mask.

    `estimator` is one of verl's: kl, abs, mse, low_var_kl.
    """
    from verl.trainer.ppo import core_algos

    distance = core_algos.kl_penalty(log_probs, ref_log_probs, kl_penalty=estimator) * response_mask
    mean = float((distance.sum() / response_mask.sum().clamp(min=1)).detach())
    return token_level_rewards - kl_coef * distance, mean


class KLController:
    """The weight of the distance; an adaptive one is steered towards `target_kl` (arXiv:1909.08593)."""

    def __init__(
        self, init_kl_coef: float, target_kl: float = 0.01, adaptive: bool = False, horizon: int = 10_000
    ) -> None:
        """`horizon` counts the samples over which it adapts."""
        from verl.trainer.ppo import core_algos

        self._own: Any = (
            core_algos.AdaptiveKLController(init_kl_coef, target_kl, horizon)
            if adaptive
            else core_algos.FixedKLController(init_kl_coef)
        )

    @property
    def value(self) -> float:
        """The present weight."""
        return float(self._own.value)

    def update(self, current_kl: float, n_steps: int) -> None:
        """Take note of the distance over `n_steps` samples."""
        self._own.update(current_kl, n_steps)
