"""`run`, `project` and `seed` in verl's keys."""

from __future__ import annotations

from orbiter_spec.lower.setting import ACTOR, CRITIC, ROLLOUT, Role, Setting, to

RUN: tuple[Setting, ...] = (
    to("project", "trainer.project_name"),
    to("name", "trainer.experiment_name"),
    to("run.checkpoint.every", "trainer.save_freq"),
    Setting(
        "run.checkpoint.keep",
        {"*": ("trainer.max_actor_ckpt_to_keep",)},
    ),
    to("run.checkpoint.contents", f"{ACTOR}.checkpoint.save_contents"),
    to("run.checkpoint.load", f"{ACTOR}.checkpoint.load_contents"),
    to("run.checkpoint.asynchronous", f"{ACTOR}.checkpoint.async_save"),
    to("run.checkpoint.folder", "trainer.default_local_dir"),
    to("run.evaluate.every", "trainer.test_freq"),
    to("run.evaluate.before_training", "trainer.val_before_train"),
    to("run.evaluate.only", "trainer.val_only"),
    to("run.evaluate.samples", f"{ROLLOUT}.val_kwargs.n"),
    to("run.evaluate.temperature", f"{ROLLOUT}.val_kwargs.temperature"),
    to("run.evaluate.top_p", f"{ROLLOUT}.val_kwargs.top_p"),
    to("run.evaluate.top_k", f"{ROLLOUT}.val_kwargs.top_k"),
    to("run.evaluate.sample", f"{ROLLOUT}.val_kwargs.do_sample"),
    to("run.evaluate.log_samples", "trainer.log_val_generations"),
    to("run.evaluate.limit", "data.val_max_samples"),
    to("run.log", "trainer.logger"),
    to("run.deterministic", f"{ROLLOUT}.full_determinism"),
    to("run.profile.tool", "global_profiler.tool"),
    to("run.profile.steps", "global_profiler.steps"),
    to("run.profile.folder", "global_profiler.save_path"),
    to("run.profile.join_steps", "global_profiler.profile_continuous_steps"),
    to("run.trace.backend", f"{ROLLOUT}.trace.backend"),
    to("run.trace.text", f"{ROLLOUT}.trace.token2text"),
    to("run.trace.samples_per_worker", f"{ROLLOUT}.trace.max_samples_per_step_per_worker"),
    to("seed", "data.seed", f"{ACTOR}.data_loader_seed", f"{ROLLOUT}.seed"),
)

CRITIC_CHECKPOINT: tuple[Setting, ...] = (
    to("run.checkpoint.keep", "trainer.max_critic_ckpt_to_keep", role=Role.CRITIC),
    to("run.checkpoint.contents", f"{CRITIC}.checkpoint.save_contents", role=Role.CRITIC),
)
