"""`algorithm` in verl's keys."""

from __future__ import annotations

from orbiter_spec.lower.setting import ACTOR, CRITIC, ROLLOUT, Role, Setting, to

_OPTIMIZER: tuple[tuple[str, dict[str, str]], ...] = (
    ("name", {"dp": "optimizer", "megatron": "optimizer", "veomni": "optimizer", "torchtitan": "name"}),
    ("implementation", {"dp": "optimizer_impl"}),
    ("weight_decay", {"*": "weight_decay"}),
    ("betas", {"*": "betas"}),
    ("clip_gradient", {"*": "clip_grad"}),
    ("warmup_steps", {"*": "lr_warmup_steps"}),
    ("warmup_ratio", {"*": "lr_warmup_steps_ratio"}),
    (
        "schedule",
        {
            "dp": "lr_scheduler_type",
            "megatron": "lr_decay_style",
            "veomni": "lr_scheduler_type",
            "torchtitan": "decay_type",
        },
    ),
    ("min_ratio", {"dp": "min_lr_ratio", "torchtitan": "min_lr_factor"}),
    ("min_rate", {"megatron": "min_lr", "veomni": "lr_min"}),
    ("decay_steps", {"megatron": "lr_decay_steps"}),
    ("cycles", {"dp": "num_cycles"}),
)


def _optimizer(route: str, home: str, role: Role) -> tuple[Setting, ...]:
    return tuple(
        Setting(f"{route}.{name}", {engine: (f"{home}.optim.{key}",) for engine, key in keys.items()}, role)
        for name, keys in _OPTIMIZER
    )


ALGORITHM: tuple[Setting, ...] = (
    to("algorithm.estimator", "algorithm.adv_estimator"),
    to("algorithm.learning_rate", f"{ACTOR}.optim.lr"),
    *_optimizer("algorithm.optimizer", ACTOR, Role.ALWAYS),
    to("algorithm.epochs", "trainer.total_epochs"),
    to("algorithm.steps", "trainer.total_training_steps"),
    to("algorithm.batch.prompts", "data.train_batch_size"),
    to("algorithm.batch.samples_per_prompt", f"{ROLLOUT}.n"),
    to("algorithm.batch.minibatch", f"{ACTOR}.ppo_mini_batch_size"),
    to("algorithm.batch.generation", "data.gen_batch_size"),
    to("algorithm.batch.updates", f"{ACTOR}.ppo_epochs"),
    to("algorithm.batch.shuffle", f"{ACTOR}.shuffle"),
    to("algorithm.discount", "algorithm.gamma"),
    to("algorithm.gae_lambda", "algorithm.lam"),
    to("algorithm.normalize_advantage", "algorithm.norm_adv_by_std_in_grpo"),
    to("algorithm.reward_parts", "algorithm.gdpo_reward_keys"),
    to("algorithm.loss.kind", f"{ACTOR}.policy_loss.loss_mode"),
    to("algorithm.loss.aggregation", f"{ACTOR}.loss_agg_mode"),
    to("algorithm.loss.scale_factor", f"{ACTOR}.loss_scale_factor"),
    to("algorithm.loss.tau_positive", f"{ACTOR}.tau_pos"),
    to("algorithm.loss.tau_negative", f"{ACTOR}.tau_neg"),
    to("algorithm.loss.clip_cov_ratio", f"{ACTOR}.policy_loss.clip_cov_ratio"),
    to("algorithm.loss.clip_cov_low", f"{ACTOR}.policy_loss.clip_cov_lb"),
    to("algorithm.loss.clip_cov_high", f"{ACTOR}.policy_loss.clip_cov_ub"),
    to("algorithm.loss.kl_cov_ratio", f"{ACTOR}.policy_loss.kl_cov_ratio"),
    to("algorithm.loss.kl_cov_coefficient", f"{ACTOR}.policy_loss.ppo_kl_coef"),
    to("algorithm.loss.dro_beta", f"{ACTOR}.policy_loss.dro_beta"),
    to("algorithm.clip.dual", f"{ACTOR}.clip_ratio_c"),
    to("algorithm.kl.estimator", f"{ACTOR}.kl_loss_type"),
    to("algorithm.kl.reward_estimator", "algorithm.kl_penalty"),
    to("algorithm.kl.controller", "algorithm.kl_ctrl.type"),
    to("algorithm.kl.target", "algorithm.kl_ctrl.target_kl"),
    to("algorithm.kl.horizon", "algorithm.kl_ctrl.horizon"),
    to("algorithm.entropy_coefficient", f"{ACTOR}.entropy_coeff"),
    to("algorithm.log_entropy", f"{ACTOR}.calculate_entropy"),
    to("algorithm.critic.learning_rate", f"{CRITIC}.optim.lr", role=Role.CRITIC),
    *_optimizer("algorithm.critic.optimizer", CRITIC, Role.CRITIC),
    to("algorithm.critic.warmup_steps", "trainer.critic_warmup", role=Role.CRITIC),
    to("algorithm.critic.updates", f"{CRITIC}.ppo_epochs", role=Role.CRITIC),
    to("algorithm.critic.minibatch", f"{CRITIC}.ppo_mini_batch_size", role=Role.CRITIC),
    to("algorithm.critic.clip", f"{CRITIC}.cliprange_value", role=Role.CRITIC),
    to("algorithm.critic.aggregation", f"{CRITIC}.loss_agg_mode", role=Role.CRITIC),
    to("algorithm.filter_groups.metric", "algorithm.filter_groups.metric"),
    to("algorithm.filter_groups.max_batches", "algorithm.filter_groups.max_num_gen_batches"),
    to("algorithm.filter_groups.inflight_batches", "algorithm.filter_groups.max_inflight_gen_batches"),
    to("algorithm.overlong.buffer_tokens", "reward.reward_kwargs.overlong_buffer_cfg.len"),
    to("algorithm.overlong.penalty", "reward.reward_kwargs.overlong_buffer_cfg.penalty_factor"),
    to("algorithm.overlong.max_tokens", "reward.reward_kwargs.max_resp_len"),
    to("algorithm.overlong.log", "reward.reward_kwargs.overlong_buffer_cfg.log"),
    to("algorithm.rollout_correction.importance", "algorithm.rollout_correction.rollout_is"),
    to("algorithm.rollout_correction.threshold", "algorithm.rollout_correction.rollout_is_threshold"),
    to("algorithm.rollout_correction.rejection", "algorithm.rollout_correction.rollout_rs"),
    to("algorithm.rollout_correction.rejection_threshold", "algorithm.rollout_correction.rollout_rs_threshold"),
    to("algorithm.rollout_correction.normalize", "algorithm.rollout_correction.rollout_is_batch_normalize"),
    to("algorithm.rollout_correction.bypass", "algorithm.rollout_correction.bypass_mode"),
    to("algorithm.rollout_correction.loss", "algorithm.rollout_correction.loss_type"),
    to("algorithm.preference_feedback.method", "algorithm.pf_ppo.reweight_method"),
    to("algorithm.preference_feedback.power", "algorithm.pf_ppo.weight_pow"),
)
