"""Batch, parallel and pool numbers drawn at random: our verdict is verl's, and what we suggest works."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from orbiter_spec.diagnostics import Severity
from orbiter_spec.plan import Plan
from orbiter_spec.rules.finding import Finding
from tests.rules import verl_verdict
from tests.rules.conftest import findings_of, merge, plan_of

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("verl") is None, reason="compares with verl"),
    pytest.mark.timeout(600),
]

SMALL = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
)
FEW = st.sampled_from([1, 2, 3, 4, 8])


def divisors(whole: int) -> list[int]:
    return [size for size in range(1, whole + 1) if whole % size == 0]


def mostly(draw: st.DrawFn, fitting: list[Any], others: list[Any]) -> Any:
    """One that fits in five draws of six."""
    return draw(st.sampled_from(others if draw(st.integers(0, 5)) == 0 else fitting))


def micro_batch(draw: st.DrawFn, held: int, longest: int, counted: bool) -> dict[str, Any]:
    if counted:
        return {"sequences": mostly(draw, divisors(held), [1, 3, 5, 8, 24, 48]), "dynamic": False}
    return {"tokens": mostly(draw, [longest, 2 * longest], [longest // 2, longest - 1]), "dynamic": True}


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """Numbers of a spec, about half of which fit together."""
    megatron = mostly(draw, [False], [True])
    nodes, each = mostly(draw, [1], [2]), draw(st.sampled_from([1, 2, 4, 6, 8]))
    gpus, samples = nodes * each, draw(st.sampled_from([2, 3, 4, 8]))
    words = ["tensor_parallel", "pipeline_parallel", "context_parallel"] if megatron else ["sequence_parallel"]
    engine = "megatron" if megatron else draw(st.sampled_from(["fsdp", "fsdp2"]))
    train: dict[str, Any] = {"engine": engine} | {word: mostly(draw, [1], [1, 2, 3, 4]) for word in words}
    if not megatron:
        train["shard_size"] = mostly(draw, [-1, *divisors(gpus)], [2, 3, 4, 16])
        train["remove_padding"] = mostly(draw, [True], [False])
    tensor, data = mostly(draw, divisors(each), [2, 3, 8, 12]), mostly(draw, [1], [1, 2, 3])
    rollout: dict[str, Any] = {"tensor_parallel": tensor, "data_parallel": data}
    rollout["expert_parallel"] = mostly(draw, [1, tensor * data], [2, 4])
    rollout["pipeline_parallel"] = mostly(draw, [1], [1, 2])
    prompts = mostly(draw, [gpus, 2 * gpus, 4 * gpus], [1, 3, 12, 40])
    minibatch = mostly(
        draw, [size for size in divisors(prompts) if size * samples % gpus == 0] or [prompts], [2, 5, 48]
    )
    limits = {"prompt_tokens": draw(st.sampled_from([256, 512])), "response_tokens": draw(st.sampled_from([256, 1536]))}
    longest, held = sum(limits.values()), max(1, minibatch * samples // gpus)
    counted = draw(st.booleans())
    sections: dict[str, Any] = {"train": train, "rollout": rollout, "reference": {}}
    for name, section in sections.items():
        if name == "train" or draw(st.booleans()):
            other = name != "reference" and mostly(draw, [False], [True])
            section["micro_batch"] = micro_batch(draw, held, longest, counted != other)
    name = draw(st.sampled_from(["grpo", "grpo", "opo", "ppo"]))
    if name in ("opo", "ppo"):
        del sections["reference"]
    batch = {"prompts": prompts, "minibatch": minibatch, "samples_per_prompt": samples}
    hardware = {"nodes": nodes, "gpus_per_node": each, **sections}
    algorithm: dict[str, Any] = {"name": name, "batch": batch}
    if name == "ppo" and draw(st.booleans()):
        algorithm["critic"] = {"minibatch": mostly(draw, [minibatch, prompts], [3, 64])}
    return {"agent": {"limits": limits}, "algorithm": algorithm, "hardware": hardware}


def errors(plan: Plan) -> list[tuple[str, Finding]]:
    return [(name, finding) for name, finding in findings_of(plan) if finding.severity is Severity.ERROR]


@given(specs())
@SMALL
def test_verdicts_agree(spec: dict[str, Any]) -> None:
    plan = plan_of(spec)
    ours, theirs = errors(plan), verl_verdict.refusal(plan)
    assert bool(ours) == bool(theirs), (ours, theirs)


@given(specs(), st.sampled_from([1, 2]), FEW)
@SMALL
def test_verdicts_agree_with_a_separate_rollout(spec: dict[str, Any], nodes: int, each: int) -> None:
    spec = merge(spec, {"hardware": {"rollout": {"placement": "separate", "nodes": nodes, "gpus_per_node": each}}})
    minibatch = spec["algorithm"]["batch"].get("minibatch")
    prompts = spec["algorithm"]["batch"].get("prompts")
    assume(minibatch and prompts)
    if prompts % minibatch == 0:
        spec = merge(spec, {"algorithm": {"staleness": {"sync_every": prompts // minibatch}}})
    plan = plan_of(spec)
    ours, theirs = errors(plan), verl_verdict.refusal(plan)
    assert bool(ours) == bool(theirs), (ours, theirs)


SUGGESTED = re.compile(r"^use (?:at least |at most )?((?:\d+, )*\d+(?: or \d+)?)")


@given(specs())
@SMALL
def test_suggestions_work(spec: dict[str, Any]) -> None:
    """With a suggested value in place the finding is gone, unless another one points at the same field."""
    for name, finding in errors(plan_of(spec)):
        words = SUGGESTED.match(finding.help)
        if words is None or "replica of" in finding.help:
            continue
        for value in map(int, re.findall(r"\d+", words[1])):
            patch: Any = value
            for part in reversed(finding.route.split(".")):
                patch = {part: patch}
            again = [other.route for other_name, other in errors(plan_of(merge(spec, patch))) if other_name == name]
            assert finding.route not in again, (name, finding, value)


def test_repeated_conditions_are_still_verls() -> None:
    import verl

    root = Path(verl.__file__).parent
    for path, lines in verl_verdict.PINNED.items():
        source = (root / path).read_text(encoding="utf-8")
        for line in lines:
            assert line in source, (path, line)
