"""`run`, `project` and `seed` in verl's keys."""

from __future__ import annotations

from orbiter_spec.lower.setting import (
    ACTOR,
    CRITIC,
    REFERENCE,
    ROLLOUT,
    Mapped,
    Role,
    Setting,
    below,
    optional,
    to,
    worded,
)

PROFILED = (
    ("actor", ACTOR, Role.ALWAYS),
    ("reference", REFERENCE, Role.REFERENCE),
    ("rollout", ROLLOUT, Role.ALWAYS),
    ("critic", CRITIC, Role.CRITIC),
)

RUN: tuple[Setting, ...] = (
    to("project", "trainer.project_name"),
    to("name", "trainer.experiment_name"),
    worded("run.checkpoint.every", "trainer.save_freq", word="never", value=-1),
    to("run.checkpoint.keep", "trainer.max_actor_ckpt_to_keep"),
    to("run.checkpoint.strict", f"{ACTOR}.checkpoint.strict"),
    to("run.checkpoint.remote_folder", "trainer.default_hdfs_dir"),
    to("run.checkpoint.delete_after_load", "trainer.del_local_ckpt_after_load"),
    to("run.checkpoint.expiry_seconds", "trainer.esi_redundant_time"),
    to("run.checkpoint.contents", f"{ACTOR}.checkpoint.save_contents"),
    to("run.checkpoint.load", f"{ACTOR}.checkpoint.load_contents"),
    to("run.checkpoint.asynchronous", f"{ACTOR}.checkpoint.async_save"),
    worded("run.evaluate.every", "trainer.test_freq", word="never", value=-1),
    to("run.evaluate.before_training", "trainer.val_before_train"),
    to("run.evaluate.only", "trainer.val_only"),
    to("run.evaluate.samples", f"{ROLLOUT}.val_kwargs.n"),
    to("run.evaluate.temperature", f"{ROLLOUT}.val_kwargs.temperature"),
    to("run.evaluate.top_p", f"{ROLLOUT}.val_kwargs.top_p"),
    to("run.evaluate.top_k", f"{ROLLOUT}.val_kwargs.top_k"),
    to("run.evaluate.sample", f"{ROLLOUT}.val_kwargs.do_sample"),
    to("run.evaluate.log_samples", "trainer.log_val_generations"),
    to("run.evaluate.limit", "data.val_max_samples"),
    to("run.evaluate.batch", "data.val_batch_size"),
    to("run.log", "trainer.logger"),
    to("run.deterministic", f"{ROLLOUT}.full_determinism"),
    to("run.profile.tool", "global_profiler.tool"),
    to("run.profile.steps", "global_profiler.steps"),
    to("run.profile.folder", "global_profiler.save_path"),
    to("run.profile.join_steps", "global_profiler.profile_continuous_steps"),
    *(
        to(f"run.profile.roles.{name}.{field}", f"{base}.profiler.{key}", role=role)
        for name, base, role in PROFILED
        for field, key in (
            ("enabled", "enable"),
            ("ranks", "ranks"),
            ("all_ranks", "all_ranks"),
            ("folder", "save_path"),
        )
    ),
    to("run.timeline", "ray_kwargs.timeline_json_file"),
    to("run.trace.backend", f"{ROLLOUT}.trace.backend"),
    to("run.trace.text", f"{ROLLOUT}.trace.token2text"),
    to("run.trace.samples_per_worker", f"{ROLLOUT}.trace.max_samples_per_step_per_worker"),
    to("seed", f"{ACTOR}.data_loader_seed"),
    optional(to("seed", f"{ROLLOUT}.seed")),
)

CRITIC_CHECKPOINT: tuple[Setting, ...] = (
    to("run.checkpoint.keep", "trainer.max_critic_ckpt_to_keep", role=Role.CRITIC),
    to("run.checkpoint.contents", f"{CRITIC}.checkpoint.save_contents", role=Role.CRITIC),
    to("run.checkpoint.load", f"{CRITIC}.checkpoint.load_contents", role=Role.CRITIC),
)

RUN_MAPPED: tuple[Mapped, ...] = (
    below("run.checkpoint.mbridge", megatron=f"{ACTOR}.checkpoint.mbridge_config"),
    below("run.profile.options", "global_profiler.global_tool_config.{profiler}"),
    *(
        below(f"run.profile.roles.{name}.options", f"{base}.profiler.tool_config.{{profiler}}", role=role)
        for name, base, role in PROFILED
    ),
)
