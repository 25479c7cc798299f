"""What the planner writes down of verl by hand is what the catalogues say: names, defaults, and how releases differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orbiter_spec.lower.lowering import TABLE
from orbiter_spec.lower.target import TARGET_VERSIONS, load_target
from orbiter_spec.plan.inherit import VERL_DEFAULTS
from orbiter_spec.plan.model import NEWEST_RELEASE
from orbiter_spec.plan.release import OTHER_DEFAULTS
from orbiter_spec.plan.trainer import ONLY_LEGACY
from orbiter_spec.spec import names

NEWEST = load_target(NEWEST_RELEASE)
SAID_BY_CODE = {
    "algorithm.kl.coefficient": ("actor_rollout_ref.actor.kl_loss_coef", 0.001),
    "hardware.train.engine": ("actor_rollout_ref.actor.strategy", "fsdp"),
    "hardware.rollout.engine": ("actor_rollout_ref.rollout.name", "???"),
    "run.save_rollouts": ("trainer.rollout_data_dir", None),
    "run.save_validations": ("trainer.validation_data_dir", None),
    "run.checkpoint.folder": ("trainer.default_local_dir", "checkpoints/verl_examples/gsm8k"),
    "run.checkpoint.resume": ("trainer.resume_mode", "auto"),
}
"""Fields that no row of a table says, their keys, and verl's defaults."""


def keys_of(route: str) -> Iterator[tuple[str, str, Any]]:
    """Engine, key and encoder of each key that a field sets."""
    for row in TABLE:
        if row.field == route:
            for engine in NEWEST.engines:
                for key in row.keys_for(engine):
                    yield engine, key, row.encode


@pytest.mark.parametrize("release", TARGET_VERSIONS)
@pytest.mark.parametrize("route", VERL_DEFAULTS)
def test_inherited_defaults_are_the_catalogues(route: str, release: str) -> None:
    target = load_target(release)
    if route in SAID_BY_CODE:
        key, default = SAID_BY_CODE[route]
        assert target.default("dp", key) == default
        return
    found = list(keys_of(route))
    assert found, f"no row says {route}"
    for engine, key, encode in found:
        if VERL_DEFAULTS[route] is not None and target.has(engine, key):
            assert target.default(engine, key) == encode(VERL_DEFAULTS[route]), key


@pytest.mark.parametrize("release", TARGET_VERSIONS[:-1])
def test_other_defaults_of_a_release_are_those_that_a_field_would_take(release: str) -> None:
    target = load_target(release)
    differ = {
        row.field: NEWEST.default(engine, key)
        for row in TABLE
        for engine in NEWEST.engines
        for key in row.keys_for(engine)
        if target.has(engine, key) and NEWEST.has(engine, key)
        if target.default(engine, key) != NEWEST.default(engine, key)
    }
    differ.pop("algorithm.filter_groups.metric", None)  # decided only where groups are filtered
    assert OTHER_DEFAULTS.get(release, {}) == differ


def test_releases_with_the_older_trainer_only() -> None:
    without = [release for release in TARGET_VERSIONS if not load_target(release).has("dp", "trainer.use_v1")]
    assert list(ONLY_LEGACY) == without


@pytest.mark.parametrize(
    ("known", "registry"),
    [
        (names.ESTIMATORS, "advantage_estimators"),
        (names.LOSSES, "policy_losses"),
        (names.AGGREGATIONS, "loss_aggregations"),
        (names.TOOL_FORMATS, "tool_formats"),
        (names.TRAINER_MODES, "trainer_modes"),
        (names.REWARD_MANAGERS[:-1], "reward_managers"),
    ],
)
def test_names_are_those_of_the_registries(known: tuple[str, ...], registry: str) -> None:
    assert sorted(known) == sorted(NEWEST.registry(registry))
