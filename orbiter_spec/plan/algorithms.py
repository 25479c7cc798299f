"""Pass: what an algorithm's name means.

One row per name: verl's advantage estimator, answers per prompt, and the settings of the paper that made the name. A
preset never hides: each setting is a decision the user can see and overrule.

Sources: PPO arXiv:1707.06347; GRPO arXiv:2402.03300; Dr. GRPO arXiv:2503.20783; DAPO arXiv:2503.14476; GSPO
arXiv:2507.18071; RLOO arXiv:2402.14740; REINFORCE++ arXiv:2501.03262; ReMax arXiv:2310.10505; OPO arXiv:2505.23585;
GPG arXiv:2504.02546; Pass@k arXiv:2503.19595.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orbiter_spec.plan.decide import decide
from orbiter_spec.plan.inherit import inherit_defaults
from orbiter_spec.plan.model import Plan


@dataclass(frozen=True, slots=True)
class Preset:
    """What one algorithm decides where the user is silent."""

    estimator: str
    samples: int
    settings: Mapping[str, Any] = field(default_factory=dict)


KL_IN_LOSS = {"algorithm.kl.apply": "loss"}
TOKEN_BASELINE = {"algorithm.kl.apply": "none", "algorithm.loss.sum_of_squares": True}

PRESETS: Mapping[str, Preset] = {
    "ppo": Preset("gae", 1, {"algorithm.kl.apply": "none"}),
    "grpo": Preset("grpo", 8, KL_IN_LOSS),
    "dr_grpo": Preset(
        "grpo",
        8,
        {
            "algorithm.normalize_advantage": False,
            "algorithm.loss.aggregation": "seq-mean-token-sum-norm",
            "algorithm.kl.apply": "none",
        },
    ),
    "dapo": Preset(
        "grpo",
        16,
        {
            "algorithm.clip.low": 0.2,
            "algorithm.clip.high": 0.28,
            "algorithm.loss.aggregation": "token-mean",
            "algorithm.kl.apply": "none",
            "algorithm.filter_groups.metric": "reward",
        },
    ),
    "gspo": Preset(
        "grpo",
        8,
        {
            "algorithm.loss.kind": "gspo",
            "algorithm.loss.aggregation": "seq-mean-token-mean",
            "algorithm.clip.low": 3e-4,
            "algorithm.clip.high": 4e-4,
            "algorithm.kl.apply": "none",
        },
    ),
    "rloo": Preset("rloo", 8, {"algorithm.kl.apply": "reward"}),
    "reinforce++": Preset("reinforce_plus_plus", 1, {"algorithm.kl.apply": "reward"}),
    "reinforce++-baseline": Preset("reinforce_plus_plus_baseline", 8, KL_IN_LOSS),
    "remax": Preset("remax", 1, {"algorithm.kl.apply": "reward"}),
    "opo": Preset("opo", 8, {"algorithm.kl.apply": "none"}),
    "grpo-passk": Preset("grpo_passk", 8, KL_IN_LOSS),
    "gpg": Preset("gpg", 8, {"algorithm.loss.kind": "gpg", "algorithm.kl.apply": "none"}),
    "gdpo": Preset("gdpo", 8, KL_IN_LOSS),
    "optimal-token-baseline": Preset("optimal_token_baseline", 8, TOKEN_BASELINE),
    "tir-optimal-token-baseline": Preset("tir_optimal_token_baseline", 8, TOKEN_BASELINE),
}


def apply_preset(plan: Plan) -> Plan:
    """Decide what the algorithm's name implies, then what verl's defaults are where they are asked for."""
    name = plan.experiment.algorithm.name
    preset = PRESETS[name]
    because = f"what {name} means"
    choices: dict[str, tuple[Any, str]] = {
        "algorithm.estimator": (preset.estimator, because),
        "algorithm.batch.samples_per_prompt": (preset.samples, f"usual for {name}"),
        **{route: (value, because) for route, value in preset.settings.items()},
    }
    plan = inherit_defaults(decide(plan, "apply_preset", choices))
    low = plan.get("algorithm.clip.low")
    shared: dict[str, tuple[Any, str]] = {}
    if low is not None and not plan.get("verl.defaults"):
        shared["algorithm.clip.high"] = (low, "as low")
    if plan.experiment.algorithm.overlong is not None and not plan.get("verl.defaults"):
        shared["algorithm.overlong.penalty"] = (1.0, "DAPO's; verl's manager has no default")
        shared["algorithm.overlong.log"] = (False, "verl's manager has no default")
    if plan.get("algorithm.kl.apply") != "none":
        shared["algorithm.kl.coefficient"] = (0.001, "keeps the policy near its start without binding it")
    return decide(plan, "apply_preset", shared)
