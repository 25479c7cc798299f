"""Facts of models: counts equal transformers' own, published sizes, and the places where facts are found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.data import tiny_model
from orbiter_spec.plan import model_facts
from orbiter_spec.plan.model_facts import CACHE, FOLDER, TABLE, facts_of, find_facts
from orbiter_spec.plan.weights import ARCHITECTURES

PUBLISHED = {
    "Qwen/Qwen2.5-0.5B-Instruct": 494_032_768,
    "Qwen/Qwen2.5-Coder-7B-Instruct": 7_615_616_512,
    "Qwen/Qwen2.5-32B": 32_763_876_352,
    "Qwen/Qwen2-72B-Instruct": 72_706_203_648,
    "Qwen/Qwen2-VL-7B-Instruct": 8_291_375_616,
    "Qwen/Qwen2.5-VL-72B-Instruct": 73_410_777_344,
    "Qwen/Qwen3-0.6B": 596_049_920,
    "Qwen/Qwen3-30B-A3B": 30_532_122_624,
    "Qwen/Qwen3-235B-A22B": 235_093_634_560,
    "Qwen/Qwen3-VL-8B-Instruct": 8_767_123_696,
    "meta-llama/Llama-2-7b-hf": 6_738_415_616,
    "meta-llama/Llama-3.1-8B-Instruct": 8_030_261_248,
    "meta-llama/Llama-3.2-1B": 1_235_814_400,
    "meta-llama/Llama-3.1-405B": 405_853_388_800,
    "mistralai/Mistral-7B-v0.1": 7_241_732_096,
    "mistralai/Mixtral-8x7B-v0.1": 46_702_792_704,
    "google/gemma-2-9b-it": 9_241_705_984,
    "google/gemma-3-27b-it": 27_432_406_640,
    "microsoft/phi-4": 14_659_507_200,
    "deepseek-ai/DeepSeek-V3": 671_026_404_352,
    "openai/gpt-oss-20b": 20_914_757_184,
}
ON_META = (
    "Qwen/Qwen2.5-0.5B",
    "Qwen/Qwen2.5-7B",
    "Qwen/Qwen1.5-MoE-A2.7B",
    "Qwen/Qwen3-1.7B",
    "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen2-VL-2B",
    "Qwen/Qwen2.5-VL-3B-Instruct",
    "Qwen/Qwen3-VL-2B-Instruct",
    "Qwen/Qwen3-VL-30B-A3B-Instruct",
    "meta-llama/Llama-3.2-3B",
    "mistralai/Mistral-Nemo-Base-2407",
    "mistralai/Mixtral-8x7B-v0.1",
    "google/gemma-2b",
    "google/gemma-2-2b",
    "google/gemma-3-1b-it",
    "google/gemma-3-4b-it",
    "microsoft/phi-2",
    "microsoft/Phi-4-mini-instruct",
    "deepseek-ai/DeepSeek-V2-Lite",
    "deepseek-ai/DeepSeek-R1",
    "moonshotai/Moonlight-16B-A3B",
    "HuggingFaceTB/SmolLM3-3B",
    "zai-org/GLM-4-9B-0414",
    "zai-org/GLM-4.5-Air",
    "openai/gpt-oss-20b",
    "allenai/OLMo-2-1124-7B",
)


@pytest.mark.parametrize(("name", "parameters"), PUBLISHED.items())
def test_table_gives_the_published_size(name: str, parameters: int) -> None:
    facts = find_facts(name)
    assert facts is not None
    assert facts.parameters == parameters
    assert facts.source == TABLE


@pytest.mark.parametrize("name", ON_META)
def test_count_equals_transformers_on_meta(name: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = listed_config(name)
    built = transformers.AutoConfig.for_model(**nested(config))
    loader = transformers.AutoModelForCausalLM
    if "vision_config" in config:
        loader = transformers.AutoModelForImageTextToText
    with torch.device("meta"):
        model = loader.from_config(built)
    facts = facts_of(config, "test")
    assert facts is not None
    assert facts.parameters == sum(parameter.numel() for parameter in model.parameters())


def test_tensors_equal_transformers_on_meta() -> None:
    """Shapes matter, not only the sum: they decide what FSDP2 pads."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    for name in ("Qwen/Qwen2.5-0.5B", "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V2-Lite", "microsoft/phi-4"):
        config = listed_config(name)
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**config))
        real = sorted((parameter.shape[0], parameter.numel()) for parameter in model.parameters())
        facts = facts_of(config, "test")
        assert facts is not None
        ours = sorted((w.rows, w.rows * w.columns) for w in facts.weights for _ in range(w.count))
        assert ours == real, name


def test_every_architecture_is_compared() -> None:
    compared = {listed_config(name)["model_type"] for name in ON_META}
    inner = {str(listed_config(name).get("text_config", {}).get("model_type")) for name in ON_META}
    assert set(ARCHITECTURES) <= compared | inner


def test_active_parameters_of_experts() -> None:
    facts = find_facts("Qwen/Qwen3-30B-A3B")
    assert facts is not None
    assert 3.2e9 < facts.active_parameters < 3.5e9


def test_local_folder_comes_first(tmp_path: Path) -> None:
    tiny_model.write_tiny_model(tmp_path / "model")
    facts = find_facts(str(tmp_path / "model"))
    assert facts is not None
    assert facts.source == FOLDER
    weights = json.loads((tmp_path / "model" / "model.safetensors").read_bytes()[8:].split(b"}}", 1)[0] + b"}}")
    elements = sum(
        entry["data_offsets"][1] - entry["data_offsets"][0] for name, entry in weights.items() if name[:2] != "__"
    )
    assert facts.parameters * 4 == elements
    listed = find_facts(tiny_model.NAME)
    assert listed is not None
    assert (listed.parameters, listed.vocab, listed.dtype) == (facts.parameters, facts.vocab, facts.dtype)


def test_cache_of_hugging_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    repository = tmp_path / "hub" / "models--acme--small"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc\n")
    snapshot = repository / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(json.dumps(listed_config("Qwen/Qwen2.5-0.5B")))
    facts = find_facts("acme/small")
    assert facts is not None
    assert (facts.parameters, facts.source) == (494_032_768, CACHE)


@pytest.mark.parametrize("path", ["/models/Qwen2.5-7B-Instruct", "mirror/Qwen2.5-7B-Instruct/", "Qwen2.5-7B-Instruct"])
def test_last_name_is_enough(path: str) -> None:
    facts = find_facts(path)
    assert facts is not None
    assert facts.parameters == 7_615_616_512


def test_unknown_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert find_facts("acme/does-not-exist") is None
    for text in ("not json", "[]", "{}", '{"model_type": "qwen2"}', '{"model_type": "brand-new"}'):
        (tmp_path / "config.json").write_text(text)
        assert find_facts(str(tmp_path)) is None, text


def test_overrides_replace_entries() -> None:
    facts = find_facts("Qwen/Qwen2.5-0.5B", {"num_hidden_layers": 2})
    assert facts is not None
    assert facts.layers == 2


def listed_config(name: str) -> dict[str, Any]:
    found = model_facts._listed(name)
    assert found is not None, name
    return dict(found[0])


def nested(config: Mapping[str, Any]) -> dict[str, Any]:
    """Old flat files of vision-language models as transformers 5 wants them."""
    if config["model_type"] not in ("qwen2_vl", "qwen2_5_vl"):
        return dict(config)
    outer = ("model_type", "vision_config", "tie_word_embeddings")
    text = {name: value for name, value in config.items() if name not in outer}
    return {**{name: config[name] for name in outer}, "text_config": text}
