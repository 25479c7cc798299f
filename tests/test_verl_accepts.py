"""What is compiled is proved against the installed verl: Hydra's composition, validate_config, and every dataclass."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.compiler import compile_spec
from tests.conftest import SPECS

pytest.importorskip("verl")

NEVER_BUILT = {
    "reward": "its manager's dataclass calls a method that its base class does not have; verl reads it as it is",
    "reward.reward_manager": "the same",
    "global_profiler": "verl reads it as plain configuration; its nsys node has keys its dataclass does not take",
    "global_profiler.global_tool_config.nsys": "the same",
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("compiled")
    return {spec.stem: compile_spec(spec, base / spec.stem).folder or base for spec in SPECS}


def compose(overrides: list[str]) -> Any:
    import verl
    from hydra import compose, initialize_config_dir

    config = Path(verl.__file__).parent / "trainer" / "config"
    with initialize_config_dir(str(config), version_base=None):
        return compose("ppo_trainer", overrides=overrides)


@pytest.mark.parametrize("name", [spec.stem for spec in SPECS])
def test_verl_yaml_is_hydras_composition(name: str, folders: dict[str, Path]) -> None:
    from omegaconf import OmegaConf

    folder = folders[name]
    ours = OmegaConf.to_container(OmegaConf.load(folder / "verl.yaml"))
    overrides = (folder / "overrides.txt").read_text(encoding="utf-8").splitlines()
    theirs = OmegaConf.to_container(compose(overrides), resolve=True, throw_on_missing=False)
    assert ours == theirs


@pytest.mark.parametrize("name", [spec.stem for spec in SPECS])
def test_validate_config_accepts(name: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from omegaconf import OmegaConf
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    config = OmegaConf.load(folders[name] / "verl.yaml")
    lora = config.actor_rollout_ref.model.lora_rank
    if lora and config.actor_rollout_ref.rollout.name == "vllm":
        config.actor_rollout_ref.model.lora_rank = 0  # verl imports vllm to look the rank up
    if need_critic(config):
        monkeypatch.chdir(folders[name])
        config.critic.model.path = local_model(config.critic.model.path, folders)
    validate_config(config, need_reference_policy(config), need_critic(config))


def local_model(path: str, folders: dict[str, Path]) -> str:
    """The critic's dataclass reads config.json; repository names stand for the tiny model here."""
    return path if Path(path).is_dir() else str(folders["quickstart"] / "model")


def targets(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        if "_target_" in node:
            yield path, node
        for key, value in node.items():
            yield from targets(value, f"{path}.{key}" if path else key)


@pytest.mark.parametrize("name", [spec.stem for spec in SPECS])
def test_every_dataclass_can_be_built(name: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from omegaconf import OmegaConf
    from verl.utils.config import omega_conf_to_dataclass

    monkeypatch.chdir(folders[name])
    config = OmegaConf.to_container(OmegaConf.load(folders[name] / "verl.yaml"))
    off = switched_off(config)
    rename_like_the_worker(config)
    for model in (config["actor_rollout_ref"]["model"], config["critic"]["model"]):
        model["path"] = local_model(model["path"], folders)
    built = 0
    for path, node in targets(config):
        if path in NEVER_BUILT or any(path == role or path.startswith(f"{role}.") for role in off):
            continue
        omega_conf_to_dataclass(OmegaConf.create(node))
        built += 1
    assert built > 20


def rename_like_the_worker(config: dict[str, Any]) -> None:
    """verl's worker turns the reference's keys into an actor's before it builds the dataclass (engine_workers.py)."""
    actor, reference = config["actor_rollout_ref"]["actor"], config["actor_rollout_ref"]["ref"]
    reference["ppo_mini_batch_size"] = actor["ppo_mini_batch_size"]
    for old, new in (
        ("log_prob_micro_batch_size", "ppo_micro_batch_size"),
        ("log_prob_micro_batch_size_per_gpu", "ppo_micro_batch_size_per_gpu"),
        ("log_prob_use_dynamic_bsz", "use_dynamic_bsz"),
        ("log_prob_max_token_len_per_gpu", "ppo_max_token_len_per_gpu"),
    ):
        reference[new] = reference.pop(old)


def switched_off(config: dict[str, Any]) -> list[str]:
    """Roles that are off keep verl's placeholders (`???`, names of models nobody has) and are never built by verl."""
    off = []
    if not config["reward"]["reward_model"]["enable"]:
        off += ["reward.reward_model", "reward"]
    if not config["distillation"]["enabled"]:
        off.append("distillation")
    if config["algorithm"]["adv_estimator"] != "gae":
        off.append("critic")
    if not (config["algorithm"]["use_kl_in_reward"] or config["actor_rollout_ref"]["actor"]["use_kl_loss"]):
        off.append("actor_rollout_ref.ref")
    return off
