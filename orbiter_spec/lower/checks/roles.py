"""Which roles a resolved configuration turns on, as verl's trainer decides it (`trainer/ppo/utils.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def uses_critic(settings: Mapping[str, Any]) -> bool:
    """True when a value model is trained: switched on, or needed by the estimator."""
    switch = settings.get("critic.enable")
    return bool(switch) if switch is not None else settings.get("algorithm.adv_estimator", "gae") == "gae"


def uses_reference(settings: Mapping[str, Any]) -> bool:
    """True when a KL term needs a reference."""
    return bool(settings.get("algorithm.use_kl_in_reward") or settings.get("actor_rollout_ref.actor.use_kl_loss"))


def uses_adapters(settings: Mapping[str, Any]) -> bool:
    """True when the actor has adapters, and is its own reference without them."""
    model = "actor_rollout_ref.model"
    ranks = (settings.get(f"{model}.lora.rank"), settings.get(f"{model}.lora_rank"))
    return any((rank or 0) > 0 for rank in ranks) or settings.get(f"{model}.lora_adapter_path") is not None


def engines_served(settings: Mapping[str, Any]) -> Iterator[str]:
    """Where the settings of each inference engine stand: the rollout's, the reward model's, the teachers'."""
    yield "actor_rollout_ref.rollout"
    if settings.get("reward.reward_model.enable"):
        yield "reward.reward_model.rollout"
    if settings.get("distillation.enabled"):
        teachers = "distillation.teacher_models."
        names = {key.removeprefix(teachers).partition(".")[0] for key in settings if key.startswith(teachers)}
        yield from (f"{teachers}{name}.inference" for name in sorted(names))


def engine_of(settings: Mapping[str, Any], home: str) -> str:
    """The inference engine of `home`; the rollout's where it says none of its own."""
    return str(settings.get(f"{home}.name", settings.get("actor_rollout_ref.rollout.name")))
