"""Weights, gradients and optimiser state to the byte: beside torch's own allocations under FSDP2 and AdamW."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.data import tiny_model
from orbiter_spec.plan import Plan, Rows, make_plan
from orbiter_spec.plan.accelerators import gpu_bytes
from orbiter_spec.plan.model_facts import facts_of
from orbiter_spec.plan.sharding import layout, training_state
from orbiter_spec.spec.experiment import Experiment

torch = pytest.importorskip("torch")
TOLERANCE = 0.02


def plan_of(hardware: Any, model: Any = tiny_model.NAME, algorithm: Any = "grpo") -> Plan:
    return make_plan(
        Experiment.model_validate(
            {
                "version": 1,
                "name": "bytes",
                "agent": {"model": model},
                "dataset": {"train": "rows.parquet"},
                "rewards": ["rewards.py:score"],
                "algorithm": algorithm,
                "hardware": hardware,
            }
        ),
        Rows(1000, None),
    )


@pytest.fixture
def one_process() -> Iterator[None]:
    """A process group of gloo with this process alone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    torch.distributed.init_process_group("gloo", init_method=address, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.fixture
def three_workers() -> Iterator[None]:
    """The first of three workers; what the others would send never comes, and sharding does not need it."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group("fake", rank=0, world_size=3, store=FakeStore())
    yield
    torch.distributed.destroy_process_group()


def load_tiny(tmp_path: Path) -> Any:
    transformers = pytest.importorskip("transformers")
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tiny_model.write_tiny_model(tmp_path / "model")
    return transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float32)


def shard(model: Any) -> None:
    from torch.distributed.fsdp import fully_shard

    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (torch.distributed.get_world_size(),))
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)


def local_bytes(tensors: Any) -> int:
    return sum(held.numel() * held.element_size() for held in map(local, tensors))


def local(tensor: Any) -> Any:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def test_fsdp2_step_allocates_what_the_plan_says(tmp_path: Path, one_process: None) -> None:
    model = load_tiny(tmp_path)
    shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.arange(16).reshape(2, 8)
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    plan = plan_of("cpu")
    assert plan.model is not None
    predicted = training_state(plan.model, layout(plan))
    moments = [value for state in optimizer.state.values() for value in state.values()]
    assert predicted.weights == local_bytes(model.parameters())
    assert predicted.gradients == local_bytes(parameter.grad for parameter in model.parameters())
    assert predicted.optimizer == pytest.approx(local_bytes(moments), rel=TOLERANCE)


def test_fsdp2_pads_rows_that_do_not_divide(tmp_path: Path, three_workers: None) -> None:
    model = load_tiny(tmp_path)
    shard(model)
    plan = plan_of({"accelerator": "cpu", "workers": 3})
    assert plan.model is not None
    assert training_state(plan.model, layout(plan)).weights == local_bytes(model.parameters())


def test_adapters_are_counted_as_peft_makes_them(tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    model = peft.get_peft_model(
        load_tiny(tmp_path), peft.LoraConfig(task_type="CAUSAL_LM", r=8, target_modules="all-linear")
    )
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    plan = plan_of("cpu", {"path": tiny_model.NAME, "lora": {"rank": 8}})
    assert plan.model is not None
    state = training_state(plan.model, layout(plan), lora_rank=8)
    assert state.gradients == trained * 4
    assert state.weights == sum(parameter.numel() for parameter in model.parameters()) * 4


def test_shipped_facts_of_the_tiny_model_are_its_config(tmp_path: Path) -> None:
    tiny_model.write_tiny_model(tmp_path)
    facts = facts_of(json.loads((tmp_path / "config.json").read_text()), "test")
    plan = plan_of("cpu")
    assert facts is not None
    assert plan.model is not None
    assert facts.weights == plan.model.weights


def test_megatron_divides_before_it_shards() -> None:
    hardware = {"accelerator": "H100", "train": {"engine": "megatron", "tensor_parallel": 4, "pipeline_parallel": 1}}
    plan = plan_of(hardware, "Qwen/Qwen2.5-7B")
    assert plan.model is not None
    state = training_state(plan.model, layout(plan))
    parameters = plan.model.parameters / 4
    assert state.weights == pytest.approx(parameters * 2, rel=0.001)
    assert state.gradients == pytest.approx(parameters * 4, rel=0.001)
    assert state.optimizer == pytest.approx(parameters * 12 / 2, rel=0.001)


def test_critic_costs_a_second_model() -> None:
    both, one = (plan_of("8xH100", "Qwen/Qwen2.5-7B", name).memory for name in ("ppo", "gpg"))
    assert both is not None
    assert one is not None
    assert [phase.name for phase in both.phases][-1] == "critic update"
    assert both.checkpoint_bytes > 1.8 * one.checkpoint_bytes


@pytest.mark.parametrize(
    ("name", "gibibytes"),
    [
        ("H100", 80),
        ("H100-80GB", 80),
        ("NVIDIA-A100-SXM4-40GB", 40),
        ("A100-80GB", 80),
        ("H200", 141),
        ("RTX4090", 24),
        ("L40S", 46),
        ("MI300X", 192),
        ("Novelty-32GB", 32),
    ],
)
def test_accelerators_by_name(name: str, gibibytes: int) -> None:
    found = gpu_bytes(name)
    assert found is not None
    assert found / 1024**3 == pytest.approx(gibibytes, rel=0.03)


def test_unknown_accelerator_has_no_verdict() -> None:
    assert gpu_bytes("Novelty") is None
    memory = plan_of("8xNovelty", "Qwen/Qwen2.5-7B").memory
    assert memory is not None
    assert memory.verdict == "unknown"


def test_unknown_model_has_no_memory() -> None:
    plan = plan_of("8xH100", "acme/unheard-of")
    assert plan.model is None
    assert plan.memory is None
    assert plan.get("hardware.rollout.memory_fraction") == 0.5


def test_offload_only_when_it_does_not_fit_without() -> None:
    small, large = plan_of("8xH100", "Qwen/Qwen2.5-7B"), plan_of("8x8xH200", "Qwen/Qwen3-235B-A22B")
    assert small.get("hardware.train.offload.optimizer") is None
    assert large.get("hardware.train.offload.optimizer") is True
    assert large.memory is not None
    assert large.memory.verdict == "fits"


def test_given_offload_is_kept() -> None:
    hardware = {"accelerator": "H200", "nodes": 8, "train": {"offload": "none"}}
    plan = plan_of(hardware, "Qwen/Qwen3-235B-A22B")
    assert plan.get("hardware.train.offload.optimizer") is False


@pytest.mark.parametrize("hardware", ["1xRTX4090", "8xL40S", "8xH100", "3xA100", "2x4xMI300X", "16x8xH200"])
@pytest.mark.parametrize(
    "model", ["Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-72B", "deepseek-ai/DeepSeek-V3"]
)
def test_rollout_width_divides_node_and_heads(model: str, hardware: str) -> None:
    plan = plan_of(hardware, model)
    width = plan.get("hardware.rollout.tensor_parallel")
    assert plan.model is not None
    assert plan.get("hardware.gpus_per_node") % width == 0
    assert plan.model.heads % width == 0
    assert 0 < plan.get("hardware.rollout.memory_fraction") <= 0.7


def test_policy_of_the_engine_keeps_all_state_in_host_memory() -> None:
    train = {"offload": {"policy": True}}
    streamed = plan_of({"accelerator": "H100", "train": train}, "Qwen/Qwen2.5-32B").memory
    assert streamed is not None
    held = {use.kind for phase in streamed.phases for use in phase.uses if use.role == "actor" and use.high}
    assert held == {"gathered layers", "activations and logits"}
    assert streamed.host_bytes_low > 32e9 * 16 * 0.9


def test_given_share_of_the_rollout_does_not_cause_offload() -> None:
    hardware = {"accelerator": "H100", "rollout": {"memory_fraction": 0.25}}
    plan = plan_of(hardware, "Qwen/Qwen2.5-7B")
    assert plan.memory is not None
    assert plan.memory.verdict == "fits"
    assert plan.get("hardware.train.offload.parameters") is None
