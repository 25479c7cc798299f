"""The list of overrides composes to the same configuration under Hydra, and nothing in it can be left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from orbiter_spec.lower.compose import REMOVED, ComposeError, compose, minimal_overrides
from orbiter_spec.lower.overrides import OverrideError
from orbiter_spec.lower.target import TARGET_VERSIONS, load_target
from orbiter_spec.lower.tree import same
from tests.lower.oracle import ENGINES, applied, composed
from tests.lower.strategies import settings as random_settings
from tests.lower.test_compose import corpus, overrides_of, settings_of

TARGET = load_target("0.9.1")
SLOW = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("entry", corpus(), ids=lambda entry: entry["id"])
def test_launch_commands(entry: Any) -> None:
    engine, chosen = settings_of(overrides_of(entry))
    shortest = minimal_overrides(TARGET, engine, chosen)
    assert len(shortest) <= len(overrides_of(entry))
    assert same(applied(shortest), compose(TARGET, engine, chosen))


@pytest.mark.parametrize("release", TARGET_VERSIONS)
@SLOW
@given(data=st.data(), engine=st.sampled_from(ENGINES))
def test_random_settings(data: st.DataObject, engine: str, release: str) -> None:
    target = load_target(release)
    chosen = data.draw(random_settings(engine, release))
    try:
        ours = compose(target, engine, chosen)
        shortest = minimal_overrides(target, engine, chosen)
    except (ComposeError, OverrideError):
        assume(False)
    assert same(applied(shortest, release), ours)


@pytest.mark.parametrize("entry", corpus()[::6], ids=lambda entry: entry["id"])
def test_each_override_is_needed(entry: Any) -> None:
    engine, chosen = settings_of(overrides_of(entry))
    whole = compose(TARGET, engine, chosen)
    shortest = [text for text in minimal_overrides(TARGET, engine, chosen) if not text.startswith("model_engine=")]
    for left_out in shortest:
        _, rest = settings_of([text for text in shortest if text != left_out])
        assert not same(compose(TARGET, engine, rest), whole), left_out


def shortest(engine: str = "dp", **chosen: Any) -> list[str]:
    found = minimal_overrides(TARGET, engine, {key.replace("__", "."): value for key, value in chosen.items()})
    assert same(
        applied(found), compose(TARGET, engine, {key.replace("__", "."): value for key, value in chosen.items()})
    )
    return found


def test_what_equals_the_default_is_left_out() -> None:
    assert shortest(trainer__nnodes=1, data__max_prompt_length=512) == []
    assert shortest("megatron") == ["model_engine=megatron"]


def test_a_number_of_another_kind_is_not_the_default() -> None:
    assert shortest(trainer__nnodes=1.0) == ["trainer.nnodes=1.0"]


def test_what_follows_from_another_setting_is_left_out() -> None:
    found = shortest(data__max_prompt_length=99, actor_rollout_ref__rollout__prompt_length=99)
    assert found == ["data.max_prompt_length=99"]


def test_what_would_follow_but_must_not_is_kept() -> None:
    found = shortest(data__max_prompt_length=99, actor_rollout_ref__rollout__prompt_length=512)
    assert found == ["actor_rollout_ref.rollout.prompt_length=512", "data.max_prompt_length=99"]


def test_two_keys_that_would_follow_from_each_other_are_not_both_left_out() -> None:
    found = shortest(
        data__max_prompt_length="${actor_rollout_ref.rollout.prompt_length}",
        actor_rollout_ref__rollout__prompt_length=7,
    )
    assert len(found) == 2


def test_new_keys_get_a_plus_and_known_ones_do_not() -> None:
    found = shortest(
        actor_rollout_ref__rollout__enable_sleep_mode=False,
        actor_rollout_ref__rollout__engine_kwargs={"vllm": {"max_model_len": 4096}},
        actor_rollout_ref__rollout__mtp={"enable": True},
        actor_rollout_ref__model__override_config={},
    )
    assert found == [
        "+actor_rollout_ref.rollout.engine_kwargs.vllm.max_model_len=4096",
        "++actor_rollout_ref.rollout.mtp.enable=true",
        "+actor_rollout_ref.rollout.enable_sleep_mode=false",
    ]


def test_the_order_of_settings_does_not_matter() -> None:
    chosen = {"trainer.nnodes": 2, "data.shuffle": False, "trainer.new": 1}
    backwards = dict(reversed(chosen.items()))
    assert minimal_overrides(TARGET, "dp", chosen) == minimal_overrides(TARGET, "dp", backwards)


@pytest.mark.parametrize(
    "chosen",
    [
        {"actor_rollout_ref.model.lora": REMOVED, "trainer.total_training_steps": REMOVED},
        {"actor_rollout_ref.model.lora": [1, 2]},
        {"trainer.logger": {"a": 1}},
        {"actor_rollout_ref.model.lora": None},
        {"actor_rollout_ref.model.lora": 5},
        {"trainer.total_training_steps": {"a": {"b": {}}}},
        {"actor_rollout_ref.model.override_config": {"a b": 1, "x.y": {"z": 2, "v": [{}]}, "c": {"d e": 1, "f": 2}}},
        {"actor_rollout_ref.rollout.mtp": {"a b": {"c": 1}}},
        {"trainer.project_name": "line\nbreak 'and' \"quotes\" \\"},
    ],
)
def test_changes_of_kind(chosen: dict[str, Any]) -> None:
    assert same(applied(minimal_overrides(TARGET, "dp", chosen)), compose(TARGET, "dp", chosen))


@pytest.mark.parametrize("value", [{"": 1}, {"é": 1}, [{"7": 1}]])
def test_what_no_override_can_say_is_refused(value: Any) -> None:
    with pytest.raises(OverrideError, match="no way to write"):
        minimal_overrides(TARGET, "dp", {"actor_rollout_ref.model.override_config": value})


def test_hydra_itself_takes_the_list() -> None:
    chosen = {
        "trainer.nnodes": 2,
        "trainer.logger": ["console"],
        "reward.reward_kwargs.a": "it's, ${x}".replace("$", "\\$"),
    }
    assert same(composed(minimal_overrides(TARGET, "veomni", chosen)), compose(TARGET, "veomni", chosen))
