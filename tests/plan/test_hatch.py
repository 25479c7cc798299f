"""verl's older key for the size of sequence parallelism counts as the field does, in plan, rules and checks."""

from __future__ import annotations

import pytest

from orbiter_spec.lower.checks.orb678_budget_below_sequence import check
from orbiter_spec.lower.lowering import lower
from orbiter_spec.plan.hatch import OLDER_KEYS
from orbiter_spec.rules import run_rules
from tests.rules.conftest import plan_of

ACTOR = "actor_rollout_ref.actor"
OLDER = f"{ACTOR}.ulysses_sequence_parallel_size"
PRESENT = f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size"
SPEC = (
    "agent: {{limits: {{prompt_tokens: 2048, response_tokens: 20480}}}}\nalgorithm: {{batch: {{prompts: 4}}}}\n"
    "hardware: {{train: {{engine: {engine}, micro_batch: {{tokens: 2816, dynamic: true}}{field}}}}}\n"
    "verl: {{overrides: {{{hatch}}}}}"
)


def written(*, field: str = "", hatch: str = "", engine: str = "fsdp2"):
    return plan_of(SPEC.format(field=field, hatch=hatch, engine=engine))


def test_the_older_key_plans_as_the_field_does_and_the_hatch_alone_says_it() -> None:
    by_field, by_hatch = written(field=", sequence_parallel: 8"), written(hatch=f"{OLDER}: 8")
    assert by_hatch.batches == by_field.batches and by_field.batches.data_parallel_size == 1
    assert by_hatch.memory == by_field.memory
    assert [found.id for found in run_rules(by_hatch, lambda _: None)] == [
        found.id for found in run_rules(by_field, lambda _: None)
    ]
    assert lower(by_field).settings[PRESENT] == 8
    settings = lower(by_hatch).settings
    assert settings[OLDER] == 8 and PRESENT not in settings


def test_the_field_wins_where_both_are_there_and_other_engines_do_not_read_it() -> None:
    both = written(field=", sequence_parallel: 2", hatch=f"{OLDER}: 8")
    assert both.get("hardware.train.sequence_parallel") == 2
    assert written(hatch=f"{OLDER}: 8", engine="megatron").get("hardware.train.sequence_parallel") is None


@pytest.mark.parametrize(("size", "found"), [(8, 0), (4, 1), (1, 1)])
def test_the_budget_is_that_of_all_who_share_a_sequence(size: int, found: int) -> None:
    settings = {
        OLDER: size,
        f"{ACTOR}.strategy": "fsdp2",
        f"{ACTOR}.use_dynamic_bsz": True,
        f"{ACTOR}.ppo_max_token_len_per_gpu": 2816,
        "data.max_prompt_length": 2048,
        "data.max_response_length": 20480,
    }
    assert len(list(check(settings))) == found


@pytest.mark.parametrize("key", OLDER_KEYS)
def test_verl_copies_the_older_key(key: str) -> None:
    pytest.importorskip("verl")
    from omegaconf import OmegaConf
    from verl.utils.config import omega_conf_to_dataclass

    from tests.lower.oracle import composed

    role = key.rpartition(".")[0]
    section = OmegaConf.select(OmegaConf.create(composed([f"{key}=8"])), role)
    worker = {name: value for name, value in section.items() if not name.startswith("log_prob_")}
    built = omega_conf_to_dataclass(OmegaConf.create({**worker, "ppo_micro_batch_size_per_gpu": 1}))
    assert built.fsdp_config.ulysses_sequence_parallel_size == 8
