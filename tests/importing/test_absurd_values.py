"""Absurd values for the keys that launch scripts set end in a spec that holds them or in a finding, never in a crash.

A spec that comes out is read again and compiled; what it says must be the run's own configuration.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orbiter_spec.diagnostics import Severity
from orbiter_spec.importing.check import check_import
from tests.importing.helpers import BASE, TARGET, ids, imported

COMMON = sorted(
    key
    for key in TARGET.keys("dp")
    if key.startswith(("data.", "trainer.", "algorithm.", "actor_rollout_ref.", "critic.", "reward.", "distillation."))
    and "profiler" not in key
)
ABSURD = (
    "0", "-1", "", "word", "1e99", "null", "1.5", "[]", "{}", "[1,2]", "true", "'0'", "nan", "-inf",
    "99999999999999999999999", "9007199254740993", "{a:1}", "'${oc.env:X}'", "'${trainer.nnodes}'", "' '", "[null]",
)  # fmt: skip

overrides = st.lists(st.tuples(st.sampled_from(COMMON), st.sampled_from(ABSURD)), min_size=1, max_size=4)
also = st.sampled_from(["", "model_engine=megatron", "algorithm.use_kl_in_reward=True", "algorithm.adv_estimator=gae"])


def hold(*lines: str) -> None:
    found = imported("\n".join((*BASE, *lines)))
    if found.spec_text is None:
        assert any(problem.severity is Severity.ERROR for problem in found.diagnostics)
        assert all(problem.message and problem.place for problem in found.diagnostics)
    else:
        assert check_import(found, TARGET) == []


@example([("actor_rollout_ref.actor.fsdp_config.fsdp_size", "0")], "")
@example([("trainer.nnodes", "9007199254740993")], "")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(overrides, also)
def test_every_absurd_value_has_an_answer(drawn: list[tuple[str, str]], line: str) -> None:
    hold(*([line] if line else []), *(f"{key}={value}" for key, value in drawn))


@pytest.mark.parametrize("value", ["0", "-1", "", "word", "1e99", "null", "[8]", "{a:8}", "1000000"])
def test_a_number_of_gpus_that_no_spec_can_hold_is_told_at_its_line(value: str) -> None:
    found = imported("\n".join((*BASE, f"trainer.n_gpus_per_node={value}")))
    told = [problem for problem in found.diagnostics if problem.severity is Severity.ERROR]
    assert {problem.id for problem in told} <= {"ORB661", "ORB662"}
    assert [problem.place.line for problem in told if problem.place] == [len(BASE) + 1]
    assert "trainer.n_gpus_per_node" in told[0].message


def test_numbers_beyond_64_bits_are_left_out() -> None:
    found = imported("\n".join((*BASE, "data.train_batch_size=99999999999999999999999")))
    assert ids(found) == ["ORB661"]
    assert found.original["data.train_batch_size"] == 1024
