"""Small models keep their family, and transformers loads and runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orbiter_spec.data.tiny_model import write_tiny_model
from orbiter_spec.rehearse.model import ModelError, make_small_model, small_config

FAMILIES = {
    "Qwen/Qwen3-30B-A3B": "Qwen3MoeForCausalLM",
    "google/gemma-3-1b-it": "Gemma3ForCausalLM",
    "deepseek-ai/DeepSeek-V3": "DeepseekV3ForCausalLM",
}


@pytest.mark.parametrize("name", FAMILIES)
def test_family_is_kept_and_answers(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    made = make_small_model(name, tmp_path)
    model = AutoModelForCausalLM.from_pretrained(made.folder)
    tokenizer = AutoTokenizer.from_pretrained(made.folder)
    assert type(model).__name__ == FAMILIES[name]
    assert sum(parameter.numel() for parameter in model.parameters()) < 2_000_000
    assert made.byte_tokens
    ids = tokenizer.apply_chat_template(
        [{"role": "user", "content": "say 5"}], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )["input_ids"]
    answer = model.generate(ids, max_new_tokens=4, do_sample=False)
    assert ids.shape[1] < answer.shape[1] <= ids.shape[1] + 4
    assert torch.isfinite(model(ids).logits).all()


def test_a_folder_keeps_its_tokenizer_and_vocabulary(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    write_tiny_model(tmp_path / "mine")
    made = make_small_model(str(tmp_path / "mine"), tmp_path / "small")
    assert not made.byte_tokens
    kept, own = ((folder / "tokenizer.json").read_bytes() for folder in (made.folder, tmp_path / "mine"))
    assert kept == own
    assert json.loads((made.folder / "config.json").read_text())["vocab_size"] == 259


def test_the_same_model_is_made_once(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    first = make_small_model("Qwen/Qwen2.5-7B-Instruct", tmp_path)
    stamp = (first.folder / "model.safetensors").stat().st_mtime_ns
    assert make_small_model("Qwen/Qwen2.5-7B-Instruct", tmp_path) == first
    assert (first.folder / "model.safetensors").stat().st_mtime_ns == stamp


def test_grouped_query_attention_stays_grouped() -> None:
    whole = {"model_type": "llama", "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256}
    small = small_config(whole, byte_tokens=False)
    assert (small["num_attention_heads"], small["num_key_value_heads"], small["vocab_size"]) == (2, 1, 128256)


def test_layer_kinds_stay_mixed() -> None:
    kinds = ["sliding_attention"] * 5 + ["full_attention"]
    small = small_config({"model_type": "gemma3_text", "layer_types": kinds * 4}, byte_tokens=False)
    assert small["layer_types"] == ["sliding_attention", "full_attention"]


def test_an_unknown_model_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no config\.json of nobody/nothing"):
        make_small_model("nobody/nothing", tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_model_that_transformers_cannot_make_leaves_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    write_tiny_model(tmp_path / "odd")
    config = tmp_path / "odd" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "model_type": "no-such-type"}))
    with pytest.raises(ModelError, match="no-such-type"):
        make_small_model(str(tmp_path / "odd"), tmp_path / "small")
    assert not any((tmp_path / "small").iterdir())
