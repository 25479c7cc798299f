"""verl's FSDP2 engine in this process: one rank over gloo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig
from verl.trainer.config import CheckpointConfig
from verl.workers.config import FSDPEngineConfig, FSDPOptimizerConfig, HFModelConfig
from verl.workers.engine import EngineRegistry

from orbiter_spec.runtime.engine import CpuEngineWithLMHead, CpuEngineWithValueHead, load_value_model

FP32 = {"param_dtype": "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"}


@pytest.fixture(scope="module", autouse=True)
def process_group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    store = tmp_path_factory.mktemp("group") / "store"
    torch.distributed.init_process_group("cpu:gloo", init_method=f"file://{store}", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def build(folder: Path, kind: str = "language_model", forward_only: bool = False, **model: Any) -> Any:
    model = {"use_remove_padding": False, "enable_gradient_checkpointing": False, **model}
    model_config = HFModelConfig(path=str(folder), **model)
    model_config.model_type = kind
    return EngineRegistry.new(
        model_type=kind,
        backend="fsdp2",
        model_config=model_config,
        engine_config=FSDPEngineConfig(strategy="fsdp2", forward_only=forward_only, mixed_precision=FP32),
        optimizer_config=FSDPOptimizerConfig(lr=1e-3),
        checkpoint_config=CheckpointConfig(),
    )


def test_actor(model_folder: Path) -> None:
    engine = build(model_folder)
    assert type(engine) is CpuEngineWithLMHead
    engine.initialize()
    weights = dict(engine.get_per_tensor_param()[0])
    assert weights["lm_head.weight"].shape == (259, 64)
    assert {value.dtype for value in weights.values()} == {torch.float32}
    assert {value.device.type for value in weights.values()} == {"cpu"}
    assert engine.module.config._attn_implementation == "sdpa"
    assert torch.get_num_threads() == 1, "a tiny model takes one thread"


def test_reference_model_is_not_offloaded(model_folder: Path) -> None:
    engine = build(model_folder, forward_only=True)
    engine.initialize()
    assert engine.optimizer is None
    assert not engine._uses_fsdp2_cpu_offload_policy
    with torch.no_grad():
        logits = engine.module(input_ids=torch.tensor([[1, 2, 3]]), use_cache=False).logits
    assert logits.shape == (1, 3, 259)


def test_critic(model_folder: Path) -> None:
    engine = build(model_folder, "value_model")
    assert type(engine) is CpuEngineWithValueHead
    engine.initialize()
    with torch.no_grad():
        values = engine.module(input_ids=torch.tensor([[1, 2, 3]]), use_cache=False).logits
    assert values.shape == (1, 3, 1)


def test_value_head_comes_from_the_seed_alone(model_folder: Path) -> None:
    config = AutoConfig.from_pretrained(model_folder, attn_implementation="sdpa", num_labels=1)
    state = torch.get_rng_state()
    heads = [load_value_model(str(model_folder), torch.float32, config, False, seed).score.weight for seed in (1, 1, 2)]
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])
    assert torch.equal(torch.get_rng_state(), state), "nobody else's random numbers are used up"


def test_another_attention_is_kept(model_folder: Path) -> None:
    engine = build(model_folder, override_config={"attn_implementation": "eager"})
    engine.initialize()
    assert engine.module.config._attn_implementation == "eager"


def test_packed_sequences_are_refused(model_folder: Path) -> None:
    with pytest.raises(ValueError, match=r"set model\.use_remove_padding=False on the CPU"):
        build(model_folder, use_remove_padding=True)


def test_fsdp1_is_not_offered() -> None:
    with pytest.raises(ValueError, match="No engine registered"):
        EngineRegistry.get_engine_cls("language_model", "fsdp")


def sent(engine: Any) -> dict[str, torch.Tensor]:
    weights, peft_config = engine.get_per_tensor_param()
    assert peft_config is None
    return {name: value.clone() for name, value in weights}


def test_every_weight_of_the_rollout_model_is_sent(model_folder: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tied = AutoConfig.from_pretrained(model_folder, tie_word_embeddings=True)
    AutoModelForCausalLM.from_config(tied).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(model_folder).save_pretrained(tmp_path)
    lora = {"lora_rank": 4, "lora": {"rank": 4, "merge": True}}
    for folder, options in ((model_folder, {}), (tmp_path, {}), (model_folder, lora)):
        engine = build(folder, **options)
        engine.initialize()
        expected = AutoModelForCausalLM.from_pretrained(folder).state_dict()
        weights = sent(engine)
        assert set(weights) == set(expected)
        for name, value in weights.items():
            torch.testing.assert_close(value.float(), expected[name], atol=1e-3, rtol=1e-2)
