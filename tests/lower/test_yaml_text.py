"""The YAML text means the same to PyYAML, OmegaConf and a YAML 1.2 reader."""

from __future__ import annotations

import io
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from ruamel.yaml import YAML

from orbiter_spec.lower.compose import compose
from orbiter_spec.lower.target import load_target
from orbiter_spec.lower.tree import same
from orbiter_spec.lower.yaml_text import dump_verl_yaml
from tests.lower.strategies import ODD_TEXTS

TEXTS = st.one_of(st.sampled_from(ODD_TEXTS), st.text(max_size=15)).filter(lambda text: text != "???")
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=10,
)
CONFIGS = st.dictionaries(st.one_of(st.sampled_from(["a", "b-c", "on", "1", "_target_"]), TEXTS), VALUES, max_size=5)


def yaml_1_2(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def omegaconf(text: str) -> Any:
    return OmegaConf.to_container(OmegaConf.load(io.StringIO(text)), resolve=True)


def without_interpolations(value: Any) -> bool:
    return "${" not in repr(value)


@settings(max_examples=300, deadline=None)
@given(CONFIGS)
def test_random_configurations(config: dict[str, Any]) -> None:
    text = dump_verl_yaml(config)
    if without_interpolations(config):
        assert same(yaml_1_2(text), config), text
        assert same(yaml.safe_load(text), config), text
    if "${" not in "".join(_keys(config)):
        assert same(omegaconf(text), config), text


def _keys(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [*node, *(key for value in node.values() for key in _keys(value))]
    return [key for value in node for key in _keys(value)] if isinstance(node, list) else []


@pytest.mark.parametrize(
    "value", [*ODD_TEXTS, 1e-06, 1e16, 1e300, 5e-324, -0.0, 0.1, 1.0, -7, 10**30, None, True, [], {}]
)
def test_every_reader_takes_the_same(value: Any) -> None:
    config = {"a": value, "b": [value, [value]], "c": {"d": value}, "e": [{"f": value}]}
    text = dump_verl_yaml(config)
    assert same(omegaconf(text), config)
    if without_interpolations(config):
        assert same(yaml_1_2(text), config)
        assert same(yaml.safe_load(text), config)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-06, "1.0e-06"),
        (1e16, "1.0e+16"),
        (1.5e-7, "1.5e-07"),
        (float("inf"), ".inf"),
        (float("-inf"), "-.inf"),
        ("vllm", "vllm"),
        ("1e-6", '"1e-6"'),
        ("on", '"on"'),
        ("${x}", '"\\\\${x}"'),
        ("a\nb\u2028", '"a\\nb\\u2028"'),
        ("Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B"),
        (["console", "wandb"], "[console, wandb]"),
        ({}, "{}"),
        (None, "null"),
    ],
)
def test_form(value: Any, text: str) -> None:
    assert dump_verl_yaml({"a": value}) == f"a: {text}\n"


def test_missing_stays_missing() -> None:
    config = {"name": "???"}
    assert OmegaConf.is_missing(OmegaConf.create(dump_verl_yaml(config)), "name")


def test_what_is_no_plain_data_is_refused() -> None:
    with pytest.raises(TypeError, match="set"):
        dump_verl_yaml({"a": {1}})


@pytest.mark.parametrize("engine", load_target().engines)
def test_whole_configurations(engine: str) -> None:
    config = compose(
        load_target(), engine, {"trainer.experiment_name": "a ${x} b".replace("$", "\\$"), "data.seed": 1e-06}
    )
    text = dump_verl_yaml(config)
    assert same(omegaconf(text), config)
    assert list(yaml_1_2(text)) == list(config)
    assert dump_verl_yaml({}) == "{}\n"
