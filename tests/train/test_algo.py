"""The formulas by hand, on numbers small enough to follow."""

from __future__ import annotations

import pytest

from orbiter_spec.train import algo

torch = pytest.importorskip("torch")
pytest.importorskip("verl")


def tensor(*rows: list[float]):
    return torch.tensor(rows)


def test_gae_on_two_tokens() -> None:
    rewards, values, mask = (
        tensor([0.0, 1.0], [0.0, 0.0]),
        tensor([0.5, 0.4], [0.5, 0.4]),
        tensor([1.0, 1.0], [1.0, 1.0]),
    )
    advantages, returns = algo.compute_gae_advantage_return(
        token_level_rewards=rewards, values=values, response_mask=mask, gamma=0.5, lam=0.5
    )
    raw = torch.tensor([[0 + 0.5 * 0.4 - 0.5 + 0.25 * 0.6, 0.6], [0.5 * 0.4 - 0.5 + 0.25 * -0.4, -0.4]])
    assert torch.allclose(returns, raw + values)
    assert torch.allclose(advantages, (raw - raw.mean()) / raw.std(), atol=1e-3)


def test_grpo_compares_within_a_group() -> None:
    rewards, mask = tensor([0.0, 1.0], [0.0, 0.0], [0.0, 5.0], [0.0, 5.0]), torch.ones(4, 2)
    advantages, _ = algo.compute_grpo_advantage(
        token_level_rewards=rewards, response_mask=mask, index=["a", "a", "b", "b"]
    )
    assert torch.allclose(advantages[:, 0], torch.tensor([0.7071, -0.7071, 0.0, 0.0]), atol=1e-3)
    plain, _ = algo.compute_grpo_advantage(rewards, mask, ["a", "a", "b", "b"], normalize=False)
    assert torch.allclose(plain[:, 0], torch.tensor([0.5, -0.5, 0.0, 0.0]))


def test_the_policy_loss_is_clipped() -> None:
    old, advantages, mask = tensor([0.0, 0.0]), tensor([1.0, 1.0]), tensor([1.0, 1.0])
    loss, metrics = algo.compute_policy_loss(
        old_log_probs=old, log_probs=tensor([0.0, 1.0]), advantages=advantages, response_mask=mask, clip_ratio=0.2
    )
    assert float(loss) == pytest.approx(-(1.0 + 1.2) / 2)
    assert metrics["clip_fraction"] == pytest.approx(0.5)


def test_the_value_loss_is_clipped() -> None:
    loss, metrics = algo.compute_value_loss(
        vpreds=tensor([1.0, 0.0]), returns=tensor([0.0, 0.0]), old_values=tensor([0.0, 0.0]),
        response_mask=tensor([1.0, 1.0]), cliprange_value=0.2,
    )  # fmt: skip
    assert float(loss) == pytest.approx(0.5 * (1.0 + 0.0) / 2)
    assert 0 <= metrics["clip_fraction"] <= 1


def test_the_distance_is_taken_from_the_rewards() -> None:
    rewards, kl = algo.apply_kl_penalty(
        token_level_rewards=tensor([0.0, 1.0]), log_probs=tensor([-1.0, -1.0]), ref_log_probs=tensor([-2.0, -1.0]),
        response_mask=tensor([1.0, 0.0]), kl_coef=0.1,
    )  # fmt: skip
    assert torch.allclose(rewards, tensor([-0.1, 1.0]))
    assert kl == pytest.approx(1.0)


def test_the_controller_steers_towards_its_target() -> None:
    adaptive = algo.KLController(init_kl_coef=0.01, target_kl=0.01, adaptive=True)
    adaptive.update(current_kl=0.015, n_steps=1024)
    assert adaptive.value == pytest.approx(0.01 * (1 + 0.2 * 1024 / 10_000))
    fixed = algo.KLController(0.01)
    fixed.update(9.0, 1024)
    assert fixed.value == 0.01
