"""Every example on every release: what Hydra composes from its own files, or a diagnostic that says why not."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from orbiter_spec.cli import main
from orbiter_spec.compilation import Compilation
from orbiter_spec.compiler import check
from orbiter_spec.diagnostics import Diagnostic, Severity
from orbiter_spec.lower.compose import compose, minimal_overrides
from orbiter_spec.lower.target import TARGET_VERSIONS, load_target
from orbiter_spec.lower.tree import same
from tests.conftest import SPECS
from tests.lower.oracle import applied, updated

NEWEST = TARGET_VERSIONS[-1]
SUPPORTED_AT_LEAST = {"0.8.0": 38, "0.9.0": 42, "0.9.1": 43}
TOLD_OTHERWISE = {
    "0.8.0": {
        "actor_rollout_ref.rollout.max_num_seqs": "its default is another",
        "actor_rollout_ref.rollout.calculate_log_probs": "its default is another",
        "actor_rollout_ref.actor.megatron.vanilla_mbridge": "its default is another",
        "critic.megatron.vanilla_mbridge": "its default is another",
        "trainer.v1.sampler.custom_sampler.path": "it does not log reward parts",
        "trainer.v1.sampler.custom_sampler.name": "it does not log reward parts",
        "trainer.use_v1": "it has the older trainer only",
        "actor_rollout_ref.rollout.seed": "it does not seed generation",
        "ray_kwargs.ray_init.num_cpus": "it has no TransferQueue",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units": "it has no TransferQueue",
    },
    "0.9.0": {"algorithm.filter_groups.metric": "it calls the reward score"},
}
"""Overrides that differ from the newest release's, and why."""


@cache
def compilation(spec: Path, release: str) -> Compilation:
    return check(spec, target=release)


def errors_of(state: Compilation) -> list[Diagnostic]:
    return [found for found in state.report if found.severity is Severity.ERROR]


@pytest.mark.parametrize("release", TARGET_VERSIONS)
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_an_example_composes_as_hydra_does_or_is_refused(spec: Path, release: str) -> None:
    state = compilation(spec, release)
    for found in errors_of(state):
        said = f"{found.note} {found.help}"
        assert any(f"verl {later}" in said for later in TARGET_VERSIONS[TARGET_VERSIONS.index(release) + 1 :]), found
    if errors_of(state):
        return
    assert state.lowered is not None and state.config is not None and state.target is not None
    engine, settings = state.lowered.engine, dict(state.lowered.settings)
    assert same(state.config, updated(engine, settings, release))
    assert same(state.config, applied(minimal_overrides(state.target, engine, settings), release))


@pytest.mark.parametrize("release", TARGET_VERSIONS)
def test_most_examples_are_supported(release: str) -> None:
    supported = [spec for spec in SPECS if not errors_of(compilation(spec, release))]
    assert len(supported) >= SUPPORTED_AT_LEAST[release]


@pytest.mark.parametrize("release", TARGET_VERSIONS[:-1])
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_what_an_older_release_is_told_otherwise_has_a_reason(spec: Path, release: str) -> None:
    if errors_of(compilation(spec, release)):
        return
    differ = set(overrides(spec, release)) ^ set(overrides(spec, NEWEST))
    assert {text.lstrip("+~").partition("=")[0] for text in differ} <= set(TOLD_OTHERWISE[release])


def overrides(spec: Path, release: str) -> list[str]:
    state = compilation(spec, release)
    assert state.lowered is not None and state.target is not None
    return minimal_overrides(state.target, state.lowered.engine, state.lowered.settings)


@pytest.mark.parametrize(
    ("release", "setting", "identifier", "words"),
    [
        ("0.8.0", "algorithm.loss.kind=dro", "ORB646", "no policy loss dro"),
        ("0.8.0", "agent.turns.tool_format=kimi", "ORB646", "no tool format kimi"),
        ("0.8.0", "run.log=[console, rl_insight]", "ORB646", "no logger rl_insight"),
        ("0.8.0", "hardware.rollout.asynchronous=true", "ORB350", "work of the newer trainer"),
        ("0.8.0", "algorithm.trainer=v1", "ORB601", "no key trainer.use_v1"),
        ("0.8.0", "run.deterministic=true", "ORB601", "full_determinism"),
        ("0.9.0", "algorithm.filter_groups.metric=reward", "ORB314", "did you mean 'score'"),
    ],
)
def test_what_a_release_cannot_do(project: Path, release: str, setting: str, identifier: str, words: str) -> None:
    report = check(project, sets=[setting], target=release).report
    told = [found for found in report if found.severity is Severity.ERROR and found.id == identifier]
    assert words in " ".join(f"{found.message} {found.note}" for found in told)
    assert all(found.place is not None and found.place.file == "--set" for found in told)


def test_a_seed_of_the_users_that_reaches_only_training_is_a_note(project: Path) -> None:
    report = check(project, sets=["seed=7"], target="0.8.0").report
    assert [(found.id, found.severity) for found in report] == [("ORB647", Severity.NOTE)]
    assert not list(check(project, target="0.8.0").report)


def test_the_spec_may_name_its_release_and_the_command_overrules_it(project: Path) -> None:
    state = check(project, sets=["verl.version=0.8.0"])
    assert state.plan is not None and state.plan.is_legacy
    assert state.config is not None and "use_v1" not in state.config["trainer"]
    state = check(project, sets=["verl.version=0.8.0"], target="0.9.1")
    assert state.plan is not None and not state.plan.is_legacy


def test_rewards_of_parts_need_nothing_that_a_release_lacks(project: Path) -> None:
    for release in TARGET_VERSIONS:
        state = check(project, target=release)
        assert state.report.ok
        assert state.config is not None
        assert state.config["reward"]["custom_reward_function"]["path"] == "reward.py"
    assert "v1" not in _trainer(check(project, target="0.8.0"))


def _trainer(state: Compilation) -> Any:
    assert state.config is not None
    return state.config["trainer"]


SCRIPT = """python3 -m verl.trainer.main_ppo \\
  data.train_files=/data/train.parquet data.val_files=/data/test.parquet data.train_batch_size=512 \\
  actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.rollout.name=vllm \\
  actor_rollout_ref.rollout.tensor_model_parallel_size=4 actor_rollout_ref.actor.use_kl_loss=True \\
  actor_rollout_ref.actor.optim.lr=2e-6 algorithm.adv_estimator=grpo trainer.nnodes=2 trainer.total_epochs=4
"""


@pytest.mark.parametrize("release", TARGET_VERSIONS)
def test_import_for_a_release(tmp_path: Path, release: str) -> None:
    script, spec = tmp_path / "run.sh", tmp_path / "spec.yaml"
    script.write_text(SCRIPT)
    done = CliRunner().invoke(main, ["import", str(script), "-o", str(spec), "--check", "--target", release])
    assert done.exit_code == 0, done.output
    assert " 0 differ" in done.output
    assert ("version: " in spec.read_text().partition("verl:")[2]) == (release != NEWEST)
    wanted = SCRIPT.replace("\\\n", " ").split()[3:]
    state = check(spec, sets=["dataset.train=/dev/null"])
    assert state.plan is not None and state.plan.release == release
    assert state.lowered is not None
    settings = {
        **state.lowered.settings,
        "data.train_files": "/data/train.parquet",
        "data.val_files": "/data/test.parquet",
    }
    ours = compose(load_target(release), state.lowered.engine, settings)
    theirs = applied(wanted, release)
    for tree in (ours, theirs):
        for prefix in ("critic", "experiment_name"):
            (tree if prefix in tree else tree["trainer"]).pop(prefix)
    assert same(ours, theirs)
