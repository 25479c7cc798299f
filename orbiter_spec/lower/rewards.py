"""`rewards` in verl's keys: managers, the reward model with its engine, the sandbox."""

from __future__ import annotations

from orbiter_spec.lower.setting import Mapped, Role, Setting, Switch, below, inverse, switch, to

REWARD_MODEL = "reward.reward_model"
FUNCTION = "reward.custom_reward_function"
MANAGER = "reward.reward_manager"

REWARDS: tuple[Setting, ...] = (
    to("rewards.workers", "reward.num_workers"),
    to("rewards.sandbox.url", "reward.sandbox_fusion.url"),
    to("rewards.sandbox.concurrent", "reward.sandbox_fusion.max_concurrent"),
    to("rewards.sandbox.memory_megabytes", "reward.sandbox_fusion.memory_limit_mb"),
    *(
        to(f"rewards.model.{name}", f"{REWARD_MODEL}.{key}", role=Role.REWARD_MODEL)
        for name, key in (
            ("path", "model_path"),
            ("nodes", "nnodes"),
            ("gpus_per_node", "n_gpus_per_node"),
            ("tensor_parallel", "rollout.tensor_model_parallel_size"),
            ("data_parallel", "rollout.data_parallel_size"),
            ("memory_fraction", "rollout.gpu_memory_utilization"),
            ("prompt_tokens", "rollout.prompt_length"),
            ("response_tokens", "rollout.response_length"),
            ("max_sequence_tokens", "rollout.max_model_len"),
            ("max_batched_tokens", "rollout.max_num_batched_tokens"),
            ("max_sequences", "rollout.max_num_seqs"),
            ("dtype", "rollout.dtype"),
            ("temperature", "rollout.temperature"),
            ("free_cache", "rollout.free_cache_engine"),
            ("skip_tokenizer", "rollout.skip_tokenizer_init"),
        )
    ),
    inverse("rewards.model.cuda_graphs", f"{REWARD_MODEL}.rollout.enforce_eager", role=Role.REWARD_MODEL),
)
REWARDS_MAPPED: tuple[Mapped, ...] = (
    below("rewards.args", f"{FUNCTION}.reward_kwargs"),
    below("rewards.manager_args", "reward.reward_kwargs"),
    below("rewards.model.further", f"{REWARD_MODEL}.rollout", role=Role.REWARD_MODEL),
    below("rewards.model.engine_args", f"{REWARD_MODEL}.rollout.engine_kwargs.{{judge}}", role=Role.REWARD_MODEL),
)
REWARDS_SWITCHES: tuple[Switch, ...] = (switch("rewards.model", f"{REWARD_MODEL}.enable", role=Role.REWARD_MODEL),)
