"""Names of verl's registries that the language takes as they are, for the newest release.

Rules over the plan and checks of the compiled configuration read them here; a test holds them to the catalogue that is
generated from verl's source. What an older release lacks, the check of names says with that release's own catalogue.
"""

from __future__ import annotations

ESTIMATORS = (
    "gae",
    "grpo",
    "grpo_vectorized",
    "grpo_passk",
    "rloo",
    "rloo_vectorized",
    "reinforce_plus_plus",
    "reinforce_plus_plus_baseline",
    "remax",
    "opo",
    "gpg",
    "gdpo",
    "optimal_token_baseline",
    "tir_optimal_token_baseline",
)
LOSSES = (
    "vanilla",
    "dppo_tv",
    "dppo_kl",
    "gspo",
    "sapo",
    "gpg",
    "clip_cov",
    "kl_cov",
    "geo_mean",
    "dro",
    "cispo",
    "bypass_mode",
)
AGGREGATIONS = ("token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm")
TOOL_FORMATS = ("hermes", "gpt-oss", "qwen3_coder", "glm", "seed", "minimax", "kimi", "deepseek_v4", "gemma4")
OWN_TOOL_FORMATS = ("plain", "tags")
"""Those of the agent loop that comes along in the compiled folder."""
TRAINER_MODES = ("sync", "colocate_async", "separate_async")
REWARD_MANAGERS = ("naive", "dapo", "gdpo", "remote", "rate_limited", "limited")
"""The last is a second name that verl gives `rate_limited`."""
LOGGER_MODULES = {
    "wandb": "wandb",
    "mlflow": "mlflow",
    "swanlab": "swanlab",
    "tensorboard": "tensorboard",
    "clearml": "clearml",
    "trackio": "trackio",
    "rl_insight": "rl_insight",
    "vemlp_wandb": "volcengine_ml_platform",
}
"""By logger: what verl's tracker imports for it (utils/tracking.py), in the task runner and once all models are up."""
