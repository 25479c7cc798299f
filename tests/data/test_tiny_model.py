"""The built-in model: the same bytes everywhere, and a model that transformers reads without a complaint."""

import hashlib
import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from orbiter_spec.data.tiny_model import END_ID, VOCABULARY_SIZE, vocabulary, write_tiny_model

FILES = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


def digest(folder: Path) -> str:
    assert sorted(path.name for path in folder.iterdir()) == FILES
    return hashlib.sha256(b"".join((folder / name).read_bytes() for name in FILES)).hexdigest()


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        write_tiny_model(tmp_path / name, seed)
    assert digest(tmp_path / "a") == digest(tmp_path / "b") != digest(tmp_path / "c")


def test_bytes_are_the_known_ones(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "model")
    weights = (tmp_path / "model" / "model.safetensors").read_bytes()
    assert hashlib.sha256(weights).hexdigest()[:16] == "52f86f06cd8bac3e"


def test_writing_needs_the_standard_library_only(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from orbiter_spec.data.tiny_model import write_tiny_model\n"
        f"write_tiny_model(Path({str(tmp_path)!r}))\n"
        "print([m for m in ('torch', 'numpy', 'transformers', 'safetensors', 'pyarrow') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_header_covers_the_file(tmp_path: Path) -> None:
    write_tiny_model(tmp_path)
    content = (tmp_path / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    assert length % 8 == 0
    assert max(ends) == len(content) - 8 - length


def test_one_token_per_byte() -> None:
    assert len(vocabulary()) == VOCABULARY_SIZE == 259
    assert vocabulary()["\u010a"] == 3 + ord("\n")
    assert vocabulary()["A"] == 3 + ord("A")


def test_transformers_reads_it(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    write_tiny_model(tmp_path)
    model, info = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert model.config.hidden_size // model.config.num_attention_heads >= 32
    weight = model.lm_head.weight
    assert abs(float(weight.mean())) < 1e-3
    assert abs(float(weight.std()) - 0.02) < 1e-3


def test_text_round_trips(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    write_tiny_model(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = "Héllo,\n  wörld \u4e16 123\t!"
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text
    assert tokenizer.encode("\n", add_special_tokens=False) == [13]
    assert tokenizer.eos_token_id == END_ID
    chat = tokenizer.apply_chat_template(
        [{"role": "user", "content": "7+1"}], tokenize=False, add_generation_prompt=True
    )
    assert chat == "<|im_start|>u\n7+1<|im_end|>\n<|im_start|>a\n"
