"""Our composition against Hydra's and OmegaConf's: every engine, random settings, real launch commands."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from omegaconf.errors import OmegaConfBaseException

from orbiter_spec.lower.compose import REMOVED, ComposeError, compose, dump_verl_yaml
from orbiter_spec.lower.overrides import parse_override
from orbiter_spec.lower.target import TARGET_VERSIONS, load_target
from orbiter_spec.lower.tree import same
from tests.lower.oracle import CORPUS, ENGINES, applied, composed, updated
from tests.lower.strategies import settings as random_settings

TARGET = load_target("0.9.1")
SLOW = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


def corpus() -> list[Any]:
    """The launch commands that compose on 0.9.1 without another package's configuration."""
    entries = json.loads(CORPUS.read_text(encoding="utf-8")) if CORPUS.exists() else []
    return [entry for entry in entries if overrides_of(entry) and entry["engine"] not in ("mindspeed", "mlite")]


def overrides_of(entry: Any) -> list[str]:
    written = entry["overrides"] if entry["composes"] else (entry["repaired"] or {}).get("overrides", [])
    named = any(text.startswith("model_engine=") for text in written)
    return (
        ["model_engine=megatron", *written] if entry["config_name"] == "ppo_megatron_trainer" and not named else written
    )


def settings_of(overrides: list[str]) -> tuple[str, dict[str, Any]]:
    parsed = [parse_override(text) for text in overrides]
    engines = [found.value for found in parsed if found.key == "model_engine"]
    rest = {found.key: REMOVED if found.delete else found.value for found in parsed if found.key != "model_engine"}
    return (engines[-1] if engines else "dp"), rest


def order(node: Any) -> Any:
    return [(key, order(value)) for key, value in node.items()] if isinstance(node, dict) else None


@pytest.mark.parametrize("release", TARGET_VERSIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_defaults_and_their_order(engine: str, release: str) -> None:
    theirs = composed([f"model_engine={engine}"], release)
    ours = compose(load_target(release), engine, {})
    assert same(ours, theirs)
    assert order(ours) == order(theirs)


@pytest.mark.parametrize("entry", corpus()[::12], ids=lambda entry: entry["id"])
def test_the_oracle_is_hydra(entry: Any) -> None:
    assert same(applied(overrides_of(entry)), composed(overrides_of(entry)))


@pytest.mark.skipif(not CORPUS.exists(), reason="the launch commands are not in this checkout")
def test_there_is_a_corpus() -> None:
    assert len(corpus()) >= 40


@pytest.mark.parametrize("entry", corpus(), ids=lambda entry: entry["id"])
def test_launch_commands(entry: Any) -> None:
    engine, chosen = settings_of(overrides_of(entry))
    theirs = applied(overrides_of(entry))
    ours = compose(TARGET, engine, chosen)
    assert same(ours, theirs)
    assert order(ours) == order(theirs)


def test_a_mapping_inside_a_text_keeps_its_interpolations() -> None:
    chosen = {"trainer.experiment_name.deep": {"er": "${trainer.project_name}", "list": ["${trainer.nnodes}"]}}
    assert same(compose(TARGET, "dp", chosen), updated("dp", chosen))


@pytest.mark.parametrize("release", TARGET_VERSIONS)
@SLOW
@given(data=st.data(), engine=st.sampled_from(ENGINES))
def test_random_settings(data: st.DataObject, engine: str, release: str) -> None:
    chosen = data.draw(random_settings(engine, release))
    try:
        theirs = updated(engine, chosen, release)
    except (OmegaConfBaseException, TypeError, RecursionError):
        # Interpolations in a loop or into a null, a list on top of a mapping.
        assume(False)
    assert same(compose(load_target(release), engine, chosen), theirs)


def test_mappings_merge_lists_replace_and_null_clears() -> None:
    section = "actor_rollout_ref.rollout.engine_kwargs"
    chosen: dict[str, Any] = {
        section: {"vllm": {"a": {"b": 1}}, "other": {}},
        f"{section}.vllm": {"a": {"c": 2}},
        "trainer.logger": ["console"],
        "actor_rollout_ref.model.mtp": None,
        "data.train_files": {"a": 1},
    }
    ours = compose(TARGET, "dp", chosen)
    assert same(ours, updated("dp", chosen))
    assert ours["actor_rollout_ref"]["rollout"]["engine_kwargs"]["vllm"] == {"a": {"b": 1, "c": 2}}


def test_a_key_below_an_interpolation_replaces_it() -> None:
    chosen = {"actor_rollout_ref.rollout.mtp.enable": True}
    ours = compose(TARGET, "dp", chosen)
    assert ours["actor_rollout_ref"]["rollout"]["mtp"] == {"enable": True}
    assert same(ours, applied(["++actor_rollout_ref.rollout.mtp.enable=true"]))


def test_missing_values_do_not_overwrite_in_a_merge() -> None:
    chosen = {"actor_rollout_ref.rollout": {"name": "???", "n": "???", "dtype": "half"}}
    assert same(compose(TARGET, "dp", chosen), updated("dp", chosen))


def test_removed_keys() -> None:
    ours = compose(TARGET, "dp", {"actor_rollout_ref.model.lora": REMOVED, "no.such.key": REMOVED})
    assert same(ours, applied(["~actor_rollout_ref.model.lora"]))


def test_items_of_a_list() -> None:
    chosen = {"trainer.logger.1": "file"}
    assert same(compose(TARGET, "dp", chosen), applied(["trainer.logger.1=file"]))
    with pytest.raises(ComposeError, match="2 items"):
        compose(TARGET, "dp", {"trainer.logger.5": "file"})


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("${no.such.key}", "no.such.key"),
        ("${oc.env:HOME}", "oc.select"),
        ("${trainer.nnodes", "not closed"),
        ("${trainer.project_name}", "leads back to itself"),
    ],
)
def test_an_interpolation_that_cannot_be_resolved_names_its_key(value: str, says: str) -> None:
    with pytest.raises(ComposeError, match=says) as caught:
        compose(TARGET, "dp", {"trainer.project_name": value})
    assert caught.value.key == "trainer.project_name"


def test_the_engine_cannot_be_a_setting() -> None:
    assert compose(TARGET, "veomni", {"model_engine": "veomni"})["model_engine"] == "veomni"
    with pytest.raises(ComposeError, match="veomni"):
        compose(TARGET, "dp", {"model_engine": "veomni"})


def test_the_tree_stays_as_it_was() -> None:
    before = TARGET.tree("dp")
    ours = compose(TARGET, "dp", {"trainer.logger.0": "file", "data.mm_processor_kwargs": {"a": 1}})
    ours["data"]["mm_processor_kwargs"]["b"] = 2
    assert same(TARGET.tree("dp"), before)


def test_fast_enough() -> None:
    best = min(_timed() for _ in range(5))
    assert best < 0.015, f"{best * 1000:.1f} ms"


def _timed() -> float:
    start = time.perf_counter()
    dump_verl_yaml(compose(TARGET, "megatron", {"trainer.nnodes": 2, "data.train_files": ["a", "b"]}))
    return time.perf_counter() - start
