"""Keys of older releases and keys that do not do what they say."""

from __future__ import annotations

import pytest

from orbiter_spec.importing.check import check_import
from orbiter_spec.importing.stale import CHANGES, ENGINES, SKIP, change_of, moved
from orbiter_spec.lower.target import TARGET_VERSIONS, load_target
from tests.importing.helpers import BASE, TARGET, ids, imported

CAP = "actor_rollout_ref.actor.tis_imp_ratio_cap"
MEGATRON = ("model_engine=megatron", *BASE)


def messages(*overrides: str) -> str:
    return "\n".join(found.message for found in imported("\n".join(overrides)).diagnostics)


def test_a_key_that_is_gone_is_told_and_left_out() -> None:
    told = messages(*MEGATRON, "actor_rollout_ref.actor.megatron.grad_offload=True")
    assert "actor_rollout_ref.actor.megatron.grad_offload is gone: param_offload moves gradients too" in told


def test_a_key_that_moved_keeps_its_value() -> None:
    found = imported("\n".join((*BASE, "+actor_rollout_ref.actor.policy_loss.tau_pos=0.7")))
    assert found.original["actor_rollout_ref.actor.tau_pos"] == 0.7
    assert found.fields["algorithm.loss.tau_positive"] == 0.7
    assert ids(found) == ["ORB657"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("actor_rollout_ref.actor.use_token_level_loss=True", {"actor_rollout_ref.actor.loss_agg_mode": "token-mean"}),
        ("trainer.remove_previous_ckpt_in_save=True", {"trainer.max_actor_ckpt_to_keep": 1}),
        ("trainer.remove_previous_ckpt_in_save=False", {"trainer.max_actor_ckpt_to_keep": None}),
        ("trainer.val_generations_to_log_to_wandb=7", {"trainer.log_val_generations": 7}),
        (
            "actor_rollout_ref.rollout.multi_turn.enable_tokenization_sanity_check=False",
            {"actor_rollout_ref.rollout.multi_turn.tokenization_sanity_check_mode": "disable"},
        ),
        ("critic.checkpoint.contents=[model]", {"critic.checkpoint.save_contents": ["model"]}),
        ("ray_init.num_cpus=8", {"ray_kwargs.ray_init.num_cpus": 8}),
        (
            "+actor_rollout_ref.actor.tis_imp_ratio_cap=2",
            {
                "algorithm.rollout_correction.rollout_is": "token",
                "algorithm.rollout_correction.rollout_is_threshold": 2,
            },
        ),
        ("algorithm.rollout_is=True", {"algorithm.rollout_correction.rollout_is": "token"}),
        ("algorithm.rollout_is=False", {"algorithm.rollout_correction.rollout_is": None}),
        ("actor_rollout_ref.rollout.load_format=dummy_dtensor", {"actor_rollout_ref.rollout.load_format": "dummy"}),
        ("actor_rollout_ref.rollout.mode=sync", {"actor_rollout_ref.rollout.mode": "async"}),
        ("reward_model.overlong_buffer.len=64", {"reward.reward_kwargs.overlong_buffer_cfg.len": 64}),
        (
            "actor_rollout_ref.rollout.engine_kwargs.vllm.swap_space=4",
            {"actor_rollout_ref.rollout.engine_kwargs.vllm.swap_space": 4},
        ),
    ],
)
def test_keys_of_the_first_releases_keep_their_meaning(old: str, new: dict[str, object]) -> None:
    found = imported("\n".join((*BASE, old)))
    assert {key: found.original[key] for key in new} == new
    assert set(ids(found)) == {"ORB657"}
    assert check_import(found, TARGET) == []


def test_an_engine_that_older_releases_took_by_default_is_named() -> None:
    found = imported("\n".join(line for line in BASE if "rollout.name" not in line))
    assert found.original["actor_rollout_ref.rollout.name"] == "vllm"
    assert ["vllm is taken" in problem.message for problem in found.diagnostics if problem.id == "ORB657"] == [True]


def test_what_a_run_says_itself_stands_before_what_a_move_needs() -> None:
    mode = "algorithm.rollout_correction.rollout_is"
    for lines in ((f"{mode}=sequence", f"+{CAP}=2"), (f"+{CAP}=2", f"{mode}=sequence")):
        assert imported("\n".join((*BASE, *lines))).original[mode] == "sequence"


@pytest.mark.parametrize("home", ["actor_rollout_ref.actor.fsdp_config", "critic.model.fsdp_config", "critic.fsdp"])
def test_a_moved_section_is_not_followed_into_keys_that_are_gone(home: str) -> None:
    found = imported("\n".join((*BASE, f"{home}.grad_offload=False")))
    assert ids(found) == ["ORB657"]
    assert "is gone" in found.diagnostics[0].message
    found = imported("\n".join((*BASE, "critic.model.fsdp_config.no_such_key=1")))
    assert ids(found) == ["ORB658"]


def test_the_engine_named_at_the_actor() -> None:
    found = imported("\n".join((*BASE, "actor_rollout_ref.actor.model_engine=megatron")))
    assert found.engine == "megatron"
    assert ids(found) == ["ORB657"]


def test_a_plus_on_a_key_that_is_there() -> None:
    found = imported("\n".join((*BASE, "+trainer.nnodes=2")))
    assert found.original["trainer.nnodes"] == 2
    assert ids(found) == ["ORB657"]


def test_an_unknown_key_is_an_error_that_names_the_nearest() -> None:
    found = imported("\n".join((*BASE, "trainer.nodes=2")))
    assert ids(found) == ["ORB658"]
    assert "trainer.nnodes" in found.diagnostics[0].help
    assert found.spec_text is not None
    assert "Look here: verl 0.9.1 has no key trainer.nodes" in found.spec_text


def test_an_engine_that_is_gone() -> None:
    found = imported("\n".join((*BASE, "model_engine=mindspeed", "actor_rollout_ref.actor.mindspeed.x=1")))
    assert found.spec_text is None
    assert ids(found) == ["ORB660"]


def test_what_composes_and_does_nothing() -> None:
    told = messages(
        *BASE,
        "reward_model.reward_manager=dapo",
        "actor_rollout_ref.rollout.expert_parallel_size=3",
        "actor_rollout_ref.rollout.val_kwargs.do_sample=True",
        "actor_rollout_ref.actor.grad_clip=0.3",
        "custom_reward_function.path=/code/reward.py",
    )
    for words in ("section reward_model", "expert_parallel_size", "do_sample", "grad_clip", "custom_reward_function"):
        assert words in told


def test_moves_lead_to_keys_of_the_target() -> None:
    for change in CHANGES:
        to = moved(change, change.key.replace("*", "param_offload"))
        assert to is None or to == "model_engine" or any(TARGET.accepts(engine, to) for engine in ENGINES), change
        assert all(TARGET.has("dp", key) for key, _ in change.also), change


def _gone() -> list[tuple[str, str]]:
    """Keys of older releases that the newest does not have, each with an engine that had it."""
    found: dict[str, str] = {}
    for version in TARGET_VERSIONS[:-1]:
        older = load_target(version)
        for engine in ENGINES:
            found |= {key: engine for key in older.keys(engine) if not TARGET.has(engine, key)}
    return sorted(found.items())


def test_every_key_that_left_has_an_answer() -> None:
    assert len(_gone()) > 20
    assert [key for key, _ in _gone() if change_of(key) is None] == []


@pytest.mark.parametrize(("key", "engine"), _gone())
def test_a_key_that_left_is_told_and_nothing_breaks(key: str, engine: str) -> None:
    value = "1" if key.endswith(("step", "interval", "limit")) else "{}" if key.endswith("config") else "cache"
    found = imported("\n".join((*BASE, f"model_engine={engine}", f"++{key}={value}")))
    told = [problem for problem in found.diagnostics if problem.id == "ORB657"]
    assert len(told) == 1
    assert key in told[0].message
    assert found.spec_text is not None
    assert check_import(found, TARGET) == []


def test_reused_answers_keep_their_steps() -> None:
    found = imported("\n".join((*BASE, f"{SKIP}.enable=True", f"{SKIP}.max_dump_step=3", f"{SKIP}.dump_dir=/dump")))
    assert found.original["skip.rollout_tq.enable"] is True
    assert found.original["skip.rollout_tq.steps"] == [1, 2, 3]
    assert found.original["skip.rollout_tq.dump_dir"] == "/dump"
