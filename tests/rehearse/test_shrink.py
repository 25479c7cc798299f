"""Every example shrinks to a spec without errors, and what is shrunk away is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from orbiter_spec.compilation import Compilation
from orbiter_spec.compiler import check
from orbiter_spec.rehearse.changes import Shrunk
from orbiter_spec.rehearse.shrink import shrink
from orbiter_spec.rehearse.stand_in import StandIn

SPECS = sorted(Path("specs").resolve().glob("*.yaml"))


def shrunk(spec: Path, *sets: str) -> tuple[Shrunk, Compilation]:
    state = check(spec, sets=sets)
    assert state.plan is not None
    made = shrink(state.plan, "builtin:tiny-llama", byte_tokens=True, stand_in=StandIn(Path("answers")))
    return made, check(spec, sets=(*sets, *made.sets))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_every_example_shrinks_to_a_small_run_on_a_cpu(spec: Path) -> None:
    _, state = shrunk(spec)
    assert [found.message for found in state.report if found.severity == "error"] == []
    assert state.plan is not None and state.plan.batches is not None
    assert state.plan.on_cpu
    assert state.plan.gpus == 1
    assert state.plan.batches.sequences <= 16
    assert state.plan.batches.total_steps == 2


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_the_algorithm_stays(spec: Path) -> None:
    before = check(spec).plan
    after = shrunk(spec)[1].plan
    assert before is not None and after is not None
    for route in ("algorithm.name", "algorithm.estimator", "algorithm.loss.kind", "algorithm.kl.apply"):
        assert after.get(route) == before.get(route), route
    several = before.get("algorithm.batch.samples_per_prompt", 1) > 1
    assert (after.get("algorithm.batch.samples_per_prompt", 1) > 1) == several


def test_what_needs_gpus_is_named() -> None:
    said = {left.what for left in shrunk(Path("specs/separate-async-2nodes.yaml"))[0].left_out}
    assert "generating while training" in said
    assert any("GPUs" in what for what in said)
    lora, state = shrunk(Path("specs/lora-1gpu.yaml"))
    assert "sending adapters to the engine" in {left.what for left in lora.left_out}
    assert state.plan is not None
    assert state.plan.get("agent.model.lora.rank") == 8


def test_halves_stay_halves() -> None:
    state = shrunk(Path("specs/ppo-7b-2nodes.yaml"))[1]
    assert state.plan is not None and state.plan.batches is not None
    assert state.plan.batches.optimizer_steps == 2


def test_a_limit_that_is_smaller_already_stays() -> None:
    made, _ = shrunk(Path("specs/quickstart.yaml"), "dataset.train.limit=8")
    assert "dataset.train.limit" not in {change.route for change in made.changes}


def test_every_change_says_why() -> None:
    made, _ = shrunk(Path("specs/dapo-8gpu.yaml"))
    assert all(change.why for change in made.changes)
    assert all(left.why for left in made.left_out)
