"""value that is needed and left null

## What it checks

What verl computes with has a value: batches, lengths, nodes and GPUs, epochs, frequencies, the files of rows, the
loggers and the names that it looks things up by. So has what a setting that is on needs: the clipping of gradients, the
schedule, how the loss is summed, budgets where passes are filled by tokens, the KL terms, the generalised advantage,
the group filter, pools of reward models and teachers, a custom class's or function's name, the seed of a run that is
to be deterministic.

## Why it matters

Null is no default. verl multiplies, compares or looks up by it, and asserts some, most without a message: when the
task runner, the workers or the reward loops are built, or in the first update. A seed that is null reaches Python as
`PYTHONHASHSEED=None`, and no worker process starts.

## Bad

```yaml
actor_rollout_ref.actor.optim.clip_grad: null
```

## Good

```yaml
actor_rollout_ref.actor.optim.clip_grad: 1.0
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
FSDP = ("fsdp", "fsdp2", "fsdp_turbo")
MODE = "trainer.v1.trainer_mode"
Needed = tuple[str, str, str]
"""A key, why it is needed, and what to write."""
COMPUTED: Mapping[str, str] = {
    "data.train_batch_size": "256",
    "data.dataloader_num_workers": "8",
    f"{ACTOR}.ppo_mini_batch_size": "256",
    f"{ACTOR}.ppo_epochs": "1",
    f"{ACTOR}.entropy_coeff": "0",
    f"{ROLLOUT}.temperature": "1.0",
    f"{ROLLOUT}.val_kwargs.n": "1",
    f"{ROLLOUT}.agent.num_workers": "8",
    "reward.num_workers": "8",
    "trainer.nnodes": "1",
    "trainer.n_gpus_per_node": "8",
    "trainer.total_epochs": "1",
    "trainer.critic_warmup": "0",
    "trainer.save_freq": "-1, which saves nothing",
    "trainer.test_freq": "-1, which never validates",
}
"""Numbers that every run multiplies, counts to or compares with."""
LOOKED_UP: Mapping[str, str] = {
    "algorithm.adv_estimator": "grpo",
    "reward.reward_manager.source": "register",
    "reward.reward_manager.name": "naive",
    "trainer.logger": "[console]",
    "trainer.resume_mode": "auto",
    MODE: "sync",
    "trainer.v1.sampler.max_off_policy_strategy": "drop",
}
ROWS: Mapping[str, str] = {
    "data.train_files": "a path",
    "data.val_files": "a path, and trainer.test_freq: -1 for no validation",
    "data.prompt_key": "prompt",
    "data.train_max_samples": "-1, which is all rows",
    "data.val_max_samples": "-1, which is all rows",
}
"""What verl's own dataset class reads; another class may take null."""


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at what is null, and not merely left out."""
    for key, reason, cure in dict.fromkeys(_needed(settings)):
        if key in settings and settings[key] is None:
            yield KeyFinding(key, f"{key} is null: {reason}", f"set it, such as {cure}")


def _needed(settings: Mapping[str, Any]) -> Iterator[Needed]:
    for key, cure in COMPUTED.items():
        yield key, "verl computes with it", cure
    for key, cure in LOOKED_UP.items():
        yield key, "verl looks it up by name", cure
    yield from _updates(settings)
    yield from _lengths_and_rows(settings)
    yield from _terms(settings)
    yield from _named_code(settings)
    yield from _pools(settings)
    if settings.get("trainer.resume_mode", "auto") == "auto" or (settings.get("trainer.save_freq") or -1) > 0:
        yield "trainer.default_local_dir", "checkpoints are looked for and written there", "checkpoints/run"
    switches = (f"{ROLLOUT}.full_determinism", "reward.reward_model.rollout.full_determinism")
    if any(settings.get(switch) for switch in switches):
        yield f"{ROLLOUT}.seed", "PYTHONHASHSEED is set to it, and Python takes a number", "42"


def _updates(settings: Mapping[str, Any]) -> Iterator[Needed]:
    for role in (ACTOR, "critic") if uses_critic(settings) else (ACTOR,):
        if settings.get(f"{role}.strategy", "fsdp") in FSDP:
            yield f"{role}.optim.clip_grad", "the update asserts it", "1.0"
            yield f"{role}.optim.lr_scheduler_type", "the schedule has no other default", "constant"
            section = "fsdp" if role == "critic" else "fsdp_config"
            yield f"{role}.{section}.strategy", "the engine is chosen by it", "fsdp"
    yield f"{ACTOR}.loss_agg_mode", "the loss is summed by it", "token-mean"
    if settings.get(f"{ACTOR}.policy_loss.loss_mode", "vanilla") == "vanilla":
        yield f"{ACTOR}.clip_ratio_c", "the loss compares with it", "3.0"
    if settings.get(f"{ACTOR}.use_dynamic_bsz"):
        for key in (f"{ACTOR}.ppo_max_token_len_per_gpu", f"{ROLLOUT}.log_prob_max_token_len_per_gpu"):
            yield key, "passes are filled by tokens", "16384"
    if uses_critic(settings):
        yield "critic.model.path", "the critic is on", "the path of the policy"


def _lengths_and_rows(settings: Mapping[str, Any]) -> Iterator[Needed]:
    filtered = settings.get("data.filter_overlong_prompts")
    if filtered or settings.get(f"{ROLLOUT}.prompt_length") is None:
        yield "data.max_prompt_length", "prompts are measured by it", "1024"
    if settings.get(f"{ROLLOUT}.response_length") is None:
        yield "data.max_response_length", "answers end there", "1024"
    if settings.get("data.custom_cls.path") is None:
        for key, cure in ROWS.items():
            yield key, "verl's dataset class reads it", cure


def _terms(settings: Mapping[str, Any]) -> Iterator[Needed]:
    """Numbers and names of the terms that are on."""
    if settings.get("algorithm.adv_estimator") == "gae":
        for key in ("algorithm.gamma", "algorithm.lam"):
            yield key, "the advantage is computed with it", "1.0"
    if settings.get("algorithm.use_kl_in_reward"):
        reason = "KL is taken off the reward"
        yield "algorithm.kl_ctrl.type", reason, "fixed"
        yield "algorithm.kl_ctrl.kl_coef", reason, "0.001"
        yield "algorithm.kl_penalty", reason, "kl"
    if settings.get(f"{ACTOR}.use_kl_loss"):
        yield f"{ACTOR}.kl_loss_coef", "KL is part of the loss", "0.001"
        yield f"{ACTOR}.kl_loss_type", "KL is part of the loss", "low_var_kl"
    if settings.get("distillation.enabled") and _loss_mode(settings) == "forward_kl_topk":
        yield "distillation.distillation_loss.topk", "the loss is over the largest logits", "32"
    if settings.get("algorithm.filter_groups.enable"):
        yield "algorithm.filter_groups.metric", "groups are compared by it", "reward"
        if settings.get(MODE, "sync") == "sync":
            yield "algorithm.filter_groups.max_inflight_gen_batches", "it bounds what is generated again", "1"


def _named_code(settings: Mapping[str, Any]) -> Iterator[Needed]:
    """The name of what is taken from a file of the user's, and what verl's tool loop needs."""
    if settings.get("reward.custom_reward_function.path") is not None:
        yield "reward.custom_reward_function.name", "the file alone names no function", "compute_score"
    if settings.get("data.custom_cls.path") is not None:
        yield "data.custom_cls.name", "the file alone names no class", "the class's name"
    if settings.get("reward.reward_manager.source") == "importlib":
        yield "reward.reward_manager.module.path", "the manager is imported from it", "manager.py"
    if settings.get(f"{ROLLOUT}.agent.default_agent_loop") == "tool_agent":
        home = f"{ROLLOUT}.multi_turn"
        yield f"{home}.format", "calls are parsed by it", "hermes"
        yield f"{home}.max_tool_response_length", "tools' answers are cut there", "256"


def _pools(settings: Mapping[str, Any]) -> Iterator[Needed]:
    """Sizes of the pools beside the trainer's own."""
    homes = {
        "reward.reward_model": settings.get("reward.reward_model.enable_resource_pool"),
        "distillation": settings.get("distillation.enabled"),
        ROLLOUT: settings.get(MODE) == "separate_async",
    }
    for home in (home for home, separate in homes.items() if separate):
        yield f"{home}.nnodes", "the pool is built of it", "1"
        yield f"{home}.n_gpus_per_node", "the pool is built of it", "8"
    mode = settings.get(MODE)
    if mode in ("colocate_async", "separate_async"):
        yield f"trainer.v1.{mode}.num_warmup_batches", "as many batches are drawn ahead", "1"
    if mode == "separate_async":
        yield "trainer.v1.separate_async.parameter_sync_step", "batches are divided by it", "4"


def _loss_mode(settings: Mapping[str, Any]) -> str:
    return str(settings.get("distillation.distillation_loss.loss_mode", "k3"))
