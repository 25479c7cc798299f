"""Two complete configurations, leaf by leaf; what sits in a role that is off does not count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orbiter_spec.importing.settings import leaves_of

ABSENT = "(absent)"
ACTOR = "actor_rollout_ref.actor"


@dataclass(frozen=True, slots=True)
class Difference:
    """One key that is not the same on both sides; ABSENT where a side does not have it."""

    key: str
    original: Any
    compiled: Any


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted leaves of a configuration."""
    return dict(leaves_of(config))


def roles_off(flat: Mapping[str, Any]) -> dict[str, str]:
    """Key prefixes of the roles that verl will not build from `flat`, each with the role's name."""
    off = {}
    if not (flat.get(f"{ACTOR}.use_kl_loss") or flat.get("algorithm.use_kl_in_reward")):
        off["actor_rollout_ref.ref."] = "reference"
    critic = flat.get("critic.enable")
    if critic is False or (critic is None and flat.get("algorithm.adv_estimator") != "gae"):
        off["critic."] = "critic"
    if not flat.get("reward.reward_model.enable"):
        off["reward.reward_model."] = "reward model"
    if not flat.get("distillation.enabled"):
        off["distillation."] = "teachers"
    return off


def equal(one: Any, other: Any) -> bool:
    """Equal as YAML values: a number is no boolean, 1 and 1.0 are the same number."""
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


def differences(original: Mapping[str, Any], compiled: Mapping[str, Any]) -> list[Difference]:
    """Every leaf that differs, in the order of the original, without roles that are off in it."""
    off = tuple(
        prefix for prefix in roles_off(original) if prefix != "critic." or compiled.get("critic.enable") is None
    )
    switches = ("distillation.enabled", "reward.reward_model.enable", "critic.enable")
    found = []
    for key in dict.fromkeys((*original, *compiled)):
        if key.startswith(off) and key not in switches:
            continue
        one, other = original.get(key, ABSENT), compiled.get(key, ABSENT)
        if not equal(one, other):
            found.append(Difference(key, one, other))
    return found
