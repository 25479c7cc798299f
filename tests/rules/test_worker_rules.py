"""Rules over the plan for what verl's workers assert late, branch by branch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orbiter_spec.diagnostics import Severity
from tests.rules.conftest import findings_of, plan_of

DENSE, EXPERTS = "agent: {model: Qwen/Qwen2.5-7B-Instruct}", "agent: {model: Qwen/Qwen3-30B-A3B}"
ADAPTERS = "agent: {{model: {{path: Qwen/Qwen2.5-7B-Instruct, lora: {{rank: 8, targets: {targets}}}}}}}"
FOUND: tuple[tuple[str, str, Severity, str], ...] = (
    (
        "ORB254",
        "hardware.rollout.weight_bucket_megabytes",
        Severity.ERROR,
        "agent: {model: Qwen/Qwen2.5-7B-Instruct}\n"
        "hardware: {rollout: {placement: separate, sync_backend: mooncake, weight_bucket_megabytes: 1024}}",
    ),
    ("ORB255", "agent.model.path", Severity.WARNING, "agent: {model: org/Some-7B-Instruct-AWQ}"),
    ("ORB255", "agent.model.path", Severity.ERROR, "agent: {model: unsloth/Qwen3-8B-bnb-4bit}"),
    (
        "ORB256",
        "hardware.train.router_replay.mode",
        Severity.ERROR,
        f"{DENSE}\nhardware: {{train: {{engine: megatron, router_replay: {{mode: R2}}}}}}",
    ),
    (
        "ORB256",
        "hardware.rollout.routing_replay",
        Severity.ERROR,
        f"{DENSE}\nhardware: {{rollout: {{engine: sglang, routing_replay: true}}}}",
    ),
    (
        "ORB257",
        "hardware.rollout.tensor_parallel",
        Severity.ERROR,
        "agent: {model: Qwen/Qwen2.5-0.5B-Instruct}\nhardware: {rollout: {tensor_parallel: 2, quantization: fp8}}",
    ),
    (
        "ORB258",
        "hardware.train.engine",
        Severity.ERROR,
        "hardware: {train: {engine: torchtitan, shard_size: 8}, rollout: {placement: separate}}",
    ),
    ("ORB336", "agent.model.lora.targets", Severity.ERROR, ADAPTERS.format(targets="[linear_qkv]")),
    ("ORB336", "agent.model.lora.targets", Severity.WARNING, ADAPTERS.format(targets="[linear_qkv, o_proj]")),
    (
        "ORB336",
        "agent.model.lora.targets",
        Severity.WARNING,
        f"{ADAPTERS.format(targets='all-linear')}\nhardware: {{train: {{engine: megatron}}}}",
    ),
)
SILENT: tuple[tuple[str, str], ...] = (
    ("ORB254", "agent: {model: Qwen/Qwen2.5-7B-Instruct}\nhardware: {rollout: {engine: trtllm}}"),
    ("ORB254", "agent: {model: Qwen/Qwen2.5-7B-Instruct}\nhardware: {rollout: {weight_bucket_megabytes: 64}}"),
    ("ORB256", f"{EXPERTS}\nhardware: {{train: {{engine: megatron, router_replay: {{mode: R2}}}}}}"),
    ("ORB257", "agent: {model: Qwen/Qwen3-8B}\nhardware: {rollout: {tensor_parallel: 8, quantization: fp8}}"),
    (
        "ORB258",
        "hardware: {train: {engine: torchtitan, shard_size: 8}, rollout: {placement: separate}}\n"
        "algorithm: {rollout_correction: {bypass: true}}",
    ),
    ("ORB318", "agent: {model: {path: Qwen/Qwen2.5-7B-Instruct, lora: {rank: 1024, merge: true}}}"),
    ("ORB114", "agent: {model: {path: Qwen/Qwen2.5-7B-Instruct, lora: {rank: 8, merge: true}}}"),
    ("ORB336", ADAPTERS.format(targets="[q_proj, v_proj]")),
    ("ORB337", "agent: {model: {path: Qwen/Qwen2.5-VL-7B-Instruct, lora: {rank: 8, targets: [q_proj]}}}"),
)


@pytest.mark.parametrize(("name", "route", "severity", "text"), FOUND)
def test_it_is_found(name: str, route: str, severity: Severity, text: str) -> None:
    found = [(found_id, item.route, item.severity) for found_id, item in findings_of(plan_of(text))]
    assert (name, route, severity) in found


@pytest.mark.parametrize(("name", "text"), SILENT)
def test_it_is_silent(name: str, text: str) -> None:
    assert name not in [found_id for found_id, _ in findings_of(plan_of(text))]


@pytest.mark.parametrize(("method", "severity"), [("gptq", Severity.ERROR), ("fp8", Severity.WARNING)])
def test_a_folder_says_how_it_is_quantised(method: str, severity: Severity, tmp_path: Path) -> None:
    config = {"architectures": ["Qwen2ForCausalLM"], "quantization_config": {"quant_method": method}}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    found = [(name, item.severity) for name, item in findings_of(plan_of({"agent": {"model": str(tmp_path)}}))]
    assert ("ORB255", severity) in found


def test_the_planner_gives_tensorrt_a_bucket_that_holds_the_embedding() -> None:
    plan = plan_of("agent: {model: Qwen/Qwen2.5-7B-Instruct}\nhardware: {rollout: {engine: trtllm}}")
    assert plan.get("hardware.rollout.weight_bucket_megabytes") == 3072
