"""No error where verl accepts: launch commands of verl's own tree, and plans that keep verl's defaults.

Four published commands are refused by rules over the plan, rightly: verl composes them and fails in the first step, or
while its workers are built. What verl does is called here, entry by entry.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.meaning import flatten
from orbiter_spec.rules import RULES
from tests.rules.conftest import findings_of, merge, plan_of
from tests.rules.recall_cases import SPECS
from tests.rules.test_check_pages import findings_of as key_findings_of
from tests.rules.test_pages import snippet

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "dev.json"
TREES = {"dp": "", "megatron": "_megatron", "veomni": "_veomni", "torchtitan": "_torchtitan"}


def test_no_error_on_published_commands() -> None:
    if not CORPUS.is_file() or importlib.util.find_spec("verl") is None:
        pytest.skip("needs verl and the corpus beside the project")
    import verl
    from omegaconf import OmegaConf

    folder = Path(verl.__file__).parent / "trainer" / "config"
    defaults: dict[str, dict[str, Any]] = {}
    for engine, name in TREES.items():
        tree = OmegaConf.to_container(OmegaConf.load(folder / f"_generated_ppo{name}_trainer.yaml"), resolve=True)
        assert isinstance(tree, dict)
        defaults[engine] = flatten({str(key): value for key, value in tree.items()})
    seen, refused = 0, {}
    for entry in json.loads(CORPUS.read_text(encoding="utf-8")):
        outcome = entry if entry["composes"] else entry.get("repaired") or {}
        difference = entry.get("resolved_diff") or outcome.get("resolved_diff")
        if entry["engine"] not in defaults or not difference:
            continue
        seen += 1
        found = key_findings_of({**defaults[entry["engine"]], **flatten(difference)})
        errors = {name for name, finding in found if finding.severity is Severity.ERROR}
        refused |= {entry["id"]: errors} if errors else {}
    assert seen > 30
    assert refused == REFUSED_BY_NUMBERS


def gdpo_finds_no_parts_of_the_reward() -> None:
    """The trainer hands over `uid` only (trainer/ppo/v1/trainer_base.py, _compute_advantage)."""
    import numpy as np
    import torch
    from verl.trainer.ppo.core_algos import compute_gdpo_outcome_advantage

    config = {"gdpo_reward_keys": ["accuracy_reward", "format_reward"]}
    ones, index = torch.ones(2, 3), np.array(["a", "a"], dtype=object)
    batch = {"prompts": torch.ones(2, 2), "attention_mask": torch.ones(2, 5)}
    with pytest.raises(AssertionError, match="not found in non_tensor_batch"):
        compute_gdpo_outcome_advantage(ones, ones, index, config=config, non_tensor_batch={"uid": index}, batch=batch)


def remax_is_called_without_its_baselines() -> None:
    """Only the older trainer generates greedy answers; the advantage is asked for without them."""
    import torch
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn

    with pytest.raises(TypeError, match="reward_baselines"):
        get_adv_estimator_fn("remax")(token_level_rewards=torch.ones(2, 3), response_mask=torch.ones(2, 3), config=None)


def four_rows_are_not_split_into_passes_of_eight() -> None:
    """32 prompts of one answer over 8 workers, and micro-batches of 8."""
    import torch
    from tensordict import TensorDict
    from verl.utils import tensordict_utils
    from verl.workers.engine.utils import prepare_micro_batches

    rows = TensorDict({"input_ids": torch.zeros(4, 2)}, batch_size=4)
    tensordict_utils.assign_non_tensor(rows, use_dynamic_bsz=False, micro_batch_size_per_gpu=8)
    with pytest.raises(AssertionError, match="must be divisible"):
        prepare_micro_batches(rows)


def experts_of_the_rollout_are_not_its_gpus() -> None:
    """The dataclass refuses 64; Megatron takes expert tensor parallelism from tensor parallelism, 4 x 4 x 8 of 64."""
    from verl.workers.config.rollout import RolloutConfig

    with pytest.raises(AssertionError, match="expert_parallel_size"):
        RolloutConfig(name="vllm", tensor_model_parallel_size=8, expert_parallel_size=64)


REFUSED: dict[str, tuple[set[str], Callable[[], None]]] = {
    "gdpo_trainer/run_qwen3_8b_fsdp": ({"ORB302"}, gdpo_finds_no_parts_of_the_reward),
    "remax_trainer/run_qwen3_8b_fsdp": ({"ORB302"}, remax_is_called_without_its_baselines),
    "rollout_correction/run_qwen2_5_7b_fsdp_multi_rs": ({"ORB205"}, four_rows_are_not_split_into_passes_of_eight),
    "grpo_trainer/run_qwen3_235b_a22b_megatron": ({"ORB213", "ORB228"}, experts_of_the_rollout_are_not_its_gpus),
}

REFUSED_BY_NUMBERS = {
    "rollout_correction/run_qwen2_5_7b_fsdp_multi_rs": {"ORB677"},
    "grpo_trainer/run_qwen3_235b_a22b_megatron": {"ORB669", "ORB677"},
}
"""Those of `REFUSED` whose numbers are wrong: the resolved configuration says it too."""


def test_plan_rules_refuse_published_commands_only_where_verl_fails() -> None:
    if not CORPUS.is_file():
        pytest.skip("needs the corpus beside the project")
    from orbiter_spec.importing import import_text
    from orbiter_spec.importing.candidate import paths_of
    from orbiter_spec.lower.target import load_target
    from orbiter_spec.plan import make_plan
    from orbiter_spec.source import read
    from orbiter_spec.spec import bind

    target, refused, seen = load_target("0.9.1"), {}, 0
    for entry in json.loads(CORPUS.read_text(encoding="utf-8")):
        text = import_text("\n".join(entry["overrides"]), config_name=entry["config_name"], target=target).spec_text
        if text is None:
            continue
        document, problems = read(None, text=text, environ={})
        assert document is not None and not problems, entry["id"]
        experiment, problems = bind(document)
        assert experiment is not None, (entry["id"], problems)
        found = findings_of(make_plan(experiment, paths=paths_of(experiment)))
        errors = {name for name, finding in found if finding.severity is Severity.ERROR}
        refused |= {entry["id"]: errors} if errors else {}
        seen += 1
    assert seen > 40
    assert refused == {name: ids for name, (ids, _) in REFUSED.items()}


@pytest.mark.parametrize("name", REFUSED)
def test_verl_fails_there_too(name: str) -> None:
    pytest.importorskip("verl")
    REFUSED[name][1]()


def test_the_older_trainer_feeds_its_estimators() -> None:
    newer = "algorithm: {name: remax, trainer: v1}"
    assert [name for name, _ in findings_of(plan_of(newer))] == ["ORB302"]
    assert findings_of(plan_of("algorithm: {name: remax}")) == []


@pytest.mark.parametrize("text", [*(pair[0] for pair in SPECS.values()), *(snippet(rule, "Bad") for rule in RULES)])
def test_rules_bear_what_a_plan_leaves_open(text: str, tmp_path: Path) -> None:
    """A plan that keeps verl's defaults decides less; no rule may trip over what is open."""
    from ruamel.yaml import YAML

    findings_of(plan_of(merge(YAML(typ="safe").load(text) or {}, {"verl": {"defaults": True}}), tmp_path))
