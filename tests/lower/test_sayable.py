"""Text of the user's reaches verl as it is written; what makes no configuration is a finding with a place."""

from __future__ import annotations

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from orbiter_spec.compiler import check, compile_spec
from orbiter_spec.importing.check import check_import
from tests.conftest import MINIMAL
from tests.importing.helpers import TARGET, equal, imported
from tests.lower.oracle import applied

ODD = "a ${x} ${oc.env:HOME} $HOME ${ {{ b }}"
KEYS = {
    "data.apply_chat_template_kwargs.style": ODD,
    "actor_rollout_ref.rollout.engine_kwargs.vllm.deep.er": ["${y}", {"k": ODD}],
    "actor_rollout_ref.model.custom_chat_template": ODD,
    "data.tokenizer": "${tokenizer}",
}


def write(project: Path, verl: str = "") -> Path:
    text = MINIMAL.replace("prompt:", "chat_template_args: {style: ODD}, prompt:").replace(
        "model: Qwen/Qwen2.5-0.5B-Instruct", "model: {path: Qwen/Qwen2.5-0.5B-Instruct, chat_template: ODD}"
    )
    text = text.replace("train: rows.jsonl", "train: rows.jsonl, tokenizer: '${tokenizer}'")
    text = text.replace("8xH100", "{gpus_per_node: 8, rollout: {engine_args: {deep: {er: ['${y}', {k: ODD}]}}}}")
    project.write_text(text.replace("ODD", f"'{ODD}'") + verl, encoding="utf-8")
    return project


def test_text_reaches_verl_literally(project: Path) -> None:
    done = compile_spec(write(project), project.parent / "out")
    assert done.folder is not None, list(done.report)
    written = OmegaConf.load(done.folder / "verl.yaml")
    composed = applied((done.folder / "overrides.txt").read_text(encoding="utf-8").splitlines())
    for key, value in KEYS.items():
        found = OmegaConf.select(written, key)
        assert (OmegaConf.to_container(found, resolve=True) if OmegaConf.is_config(found) else found) == value, key
        assert plain(composed, key) == value


def plain(node: object, key: str) -> object:
    for part in key.split("."):
        assert isinstance(node, dict)
        node = node[part]
    return node


@pytest.mark.parametrize(
    ("overrides", "identifier", "words"),
    [
        ('trainer.default_hdfs_dir: "${oc.env:HOME}"', "ORB648", "oc.select"),
        ('trainer.default_hdfs_dir: "${no.such.key}"', "ORB648", "no.such.key"),
        ('trainer.default_hdfs_dir: "${trainer.nnodes"', "ORB648", "not closed"),
        ('trainer.default_hdfs_dir: "${trainer.default_hdfs_dir}"', "ORB648", "leads back"),
        ("model_engine: megatron", "ORB648", "cannot be set"),
        ('data.mm_processor_kwargs: {"": 1}', "ORB649", "no way to write the key"),
        ('data.mm_processor_kwargs: {"a b": {"": [1]}}', "ORB649", "no way to write the key"),
    ],
)
def test_what_makes_no_configuration_has_a_place(project: Path, overrides: str, identifier: str, words: str) -> None:
    report = check(write(project, f"verl:\n  overrides:\n    {overrides}\n")).report
    found = next(found for found in report if found.id == identifier)
    assert words in found.note
    assert found.help
    assert found.place is not None
    assert found.place.line == len(project.read_text(encoding="utf-8").splitlines())


def test_the_hatch_may_take_values_from_other_keys(project: Path) -> None:
    state = check(write(project, 'verl: {overrides: {trainer.default_hdfs_dir: "/n/${trainer.nnodes}"}}\n'))
    assert state.config is not None
    assert state.config["trainer"]["default_hdfs_dir"] == "/n/1"


def test_an_import_keeps_literal_text() -> None:
    found = equal(
        "trainer.project_name='a \\${x}'",
        "trainer.default_hdfs_dir='/x/${trainer.nnodes}'",
        "+actor_rollout_ref.rollout.engine_kwargs.vllm.foo='\\${y}'",
        "data.mm_processor_kwargs={a:'\\${z}'}",
    )
    assert found.original["trainer.project_name"] == "a ${x}"
    assert found.original["trainer.default_hdfs_dir"] == "/x/1"


def test_an_import_of_what_makes_no_configuration_points_at_its_line() -> None:
    found = imported("actor_rollout_ref.rollout.name=vllm\ntrainer.project_name='${no.such}'\nalgorithm.gamma=1.0\n")
    assert found.spec_text is None
    assert [(problem.id, problem.place and problem.place.line) for problem in found.diagnostics] == [("ORB661", 2)]


def test_one_logger_may_stand_alone() -> None:
    found = equal("trainer.logger=console")
    assert found.fields["run.log"] == "console"
    assert not found.hatch
    assert check_import(found, TARGET) == []
