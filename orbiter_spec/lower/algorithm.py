"""`algorithm` in verl's keys."""

from __future__ import annotations

from orbiter_spec.lower.setting import ACTOR, CRITIC, ROLLOUT, Mapped, Role, Setting, Switch, below, switch, to

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
    ("decay_ratio", {"veomni": "lr_decay_ratio"}),
    ("start_rate", {"megatron": "lr_warmup_init", "veomni": "lr_start"}),
    ("decay_tail", {"megatron": "lr_wsd_decay_style"}),
    ("decay_tail_steps", {"megatron": "lr_wsd_decay_steps"}),
    ("weight_decay_schedule", {"megatron": "weight_decay_incr_style"}),
    ("resume_schedule", {"megatron": "use_checkpoint_opt_param_scheduler"}),
    ("epsilon", {"torchtitan": "eps"}),
    ("cpu_offload", {"megatron": "override_optimizer_config.optimizer_cpu_offload"}),
    ("offload_fraction", {"megatron": "override_optimizer_config.optimizer_offload_fraction"}),
    ("overlap_transfers", {"megatron": "override_optimizer_config.overlap_cpu_optimizer_d2h_h2d"}),
    ("precision_aware", {"megatron": "override_optimizer_config.use_precision_aware_optimizer"}),
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
    to("algorithm.loss.sum_of_squares", f"{ACTOR}.calculate_sum_pi_squared"),
    to("algorithm.clip.ratio", f"{ACTOR}.clip_ratio"),
    to("algorithm.clip.low", f"{ACTOR}.clip_ratio_low"),
    to("algorithm.clip.high", f"{ACTOR}.clip_ratio_high"),
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
    to("algorithm.filter_groups.enabled", "algorithm.filter_groups.enable"),
    to("algorithm.filter_groups.metric", "algorithm.filter_groups.metric"),
    to("algorithm.filter_groups.max_batches", "algorithm.filter_groups.max_num_gen_batches"),
    to("algorithm.filter_groups.inflight_batches", "algorithm.filter_groups.max_inflight_gen_batches"),
    to("algorithm.overlong.enabled", "reward.reward_kwargs.overlong_buffer_cfg.enable"),
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
    to("algorithm.preference_feedback.enabled", "algorithm.use_pf_ppo"),
    to("algorithm.preference_feedback.method", "algorithm.pf_ppo.reweight_method"),
    to("algorithm.preference_feedback.power", "algorithm.pf_ppo.weight_pow"),
    *(
        to(f"algorithm.staleness.{name}", f"trainer.v1.{key}")
        for name, key in (
            ("max_versions", "sampler.max_off_policy_threshold"),
            ("strategy", "sampler.max_off_policy_strategy"),
            ("refill_failed", "sampler.sync_refill_failed_groups"),
            ("sync_every", "separate_async.parameter_sync_step"),
        )
    ),
    *(
        to(f"algorithm.distillation.{name}", f"distillation.{key}")
        for name, key in (
            ("nodes", "nnodes"),
            ("gpus_per_node", "n_gpus_per_node"),
            ("column", "teacher_key"),
            ("loss", "distillation_loss.loss_mode"),
            ("top_k", "distillation_loss.topk"),
            ("coefficient", "distillation_loss.distillation_loss_coef"),
            ("task_rewards", "distillation_loss.use_task_rewards"),
            ("largest_loss", "distillation_loss.loss_max_clamp"),
            ("lowest_log_prob", "distillation_loss.log_prob_min_clamp"),
            ("policy_gradient", "distillation_loss.use_policy_gradient"),
            ("policy_loss", "distillation_loss.policy_loss_mode"),
            ("clip.ratio", "distillation_loss.clip_ratio"),
            ("clip.low", "distillation_loss.clip_ratio_low"),
            ("clip.high", "distillation_loss.clip_ratio_high"),
        )
    ),
)

ALGORITHM_MAPPED: tuple[Mapped, ...] = (
    below("algorithm.optimizer.options", f"{ACTOR}.optim.override_optimizer_config"),
    below("algorithm.critic.optimizer.options", f"{CRITIC}.optim.override_optimizer_config", role=Role.CRITIC),
    below("algorithm.optimizer.further", f"{ACTOR}.optim"),
    below("algorithm.critic.optimizer.further", f"{CRITIC}.optim", role=Role.CRITIC),
    below("algorithm.staleness.sampler_args", "trainer.v1.sampler.sampler_kwargs"),
)
ALGORITHM_SWITCHES: tuple[Switch, ...] = (
    switch("algorithm.filter_groups", "algorithm.filter_groups.enable"),
    switch("algorithm.overlong", "reward.reward_kwargs.overlong_buffer_cfg.enable"),
    switch("algorithm.preference_feedback", "algorithm.use_pf_ppo"),
)
