"""`builtin:tiny-llama`: a two-layer language model and its tokenizer, written with the standard library alone.

Quickstarts, rehearsals and tests need a model that no hub has to serve and that compiles to the same bytes on every
machine, where neither torch nor transformers is installed. So the four JSON files and the safetensors file are written
by hand. Numbers come from sums of `random.random()`, which is exact everywhere; `random.gauss` would go through the
platform's libm.

The architecture is Qwen2, a Llama with biases on its queries, keys and values: verl logs one warning per sample for
plain Llama, whose chat turns it has no rule for. Attention heads are 32 wide because vLLM on a CPU takes no less.
The vocabulary is one token per byte, under the names that byte-level BPE tokenizers give to bytes and without a single
merge: transformers reads a Qwen2 folder with its own byte-level class whatever the folder says, and so reads this one
as written. Any text round-trips. A role is its first letter in the chat template: each byte costs a token.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

NAME = "builtin:tiny-llama"

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
PAD_ID, END_ID = 0, 2
BYTE_COUNT = 256
VOCABULARY_SIZE = len(SPECIAL_TOKENS) + BYTE_COUNT

HIDDEN, INTERMEDIATE, LAYERS, HEADS, KEY_VALUE_HEADS, HEAD_DIM = 64, 128, 2, 2, 2, 32
CONTEXT_TOKENS = 4096
INITIAL_STD = 0.02

CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'][0] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>a\n{% endif %}"
)


def write_tiny_model(folder: Path, seed: int = 0) -> None:
    """Write config, generation config, tokenizer and float32 weights into `folder`, which is created.

    The same `seed` gives the same bytes on every machine. About 0.5 MB and 0.1 s.
    """
    write_tiny_tokenizer(folder)
    _write_json(folder / "config.json", _config())
    _write_json(folder / "generation_config.json", {"eos_token_id": [END_ID, PAD_ID], "pad_token_id": PAD_ID})
    (folder / "model.safetensors").write_bytes(_safetensors(seed))


def write_tiny_tokenizer(folder: Path) -> None:
    """Write the byte-level tokenizer with its chat template into `folder`, which is created."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "tokenizer.json", _tokenizer())
    _write_json(folder / "tokenizer_config.json", _tokenizer_config())


def vocabulary() -> dict[str, int]:
    """Token text to id: the special tokens, then the 256 bytes in order."""
    return {token: index for index, token in enumerate((*SPECIAL_TOKENS, *_byte_names()))}


def _byte_names() -> list[str]:
    """GPT-2's name for each byte: printable Latin-1 as itself, the rest as U+0100 and on (a newline is U+010A)."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    names: list[str] = []
    for byte in range(BYTE_COUNT):
        names.append(chr(byte if byte in printable else 0x100 + sum(name >= "\u0100" for name in names)))
    return names


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=True) + "\n", encoding="utf-8", newline="\n")


def _config() -> dict[str, Any]:
    return {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "vocab_size": VOCABULARY_SIZE,
        "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_VALUE_HEADS,
        "hidden_act": "silu",
        "max_position_embeddings": CONTEXT_TOKENS,
        "rms_norm_eps": 1e-06,
        "rope_theta": 10000.0,
        "attention_dropout": 0.0,
        "initializer_range": INITIAL_STD,
        "use_sliding_window": False,
        "tie_word_embeddings": False,
        "use_cache": True,
        "eos_token_id": END_ID,
        "pad_token_id": PAD_ID,
        "torch_dtype": "float32",
    }


def _tokenizer() -> dict[str, Any]:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_special_token(index, text) for index, text in enumerate(SPECIAL_TOKENS)],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": byte_level,
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary(), "merges": []},
    }


def _special_token(index: int, text: str) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": index, "content": text, **flags, "special": True}


def _tokenizer_config() -> dict[str, Any]:
    return {
        "tokenizer_class": "Qwen2Tokenizer",
        "model_max_length": CONTEXT_TOKENS,
        "clean_up_tokenization_spaces": False,
        "pad_token": "<|endoftext|>",
        "eos_token": "<|im_end|>",
        "chat_template": CHAT_TEMPLATE,
    }


def _shapes() -> Iterator[tuple[str, tuple[int, ...]]]:
    yield "lm_head.weight", (VOCABULARY_SIZE, HIDDEN)
    yield "model.embed_tokens.weight", (VOCABULARY_SIZE, HIDDEN)
    for layer in range(LAYERS):
        yield from _layer_shapes(f"model.layers.{layer}.")
    yield "model.norm.weight", (HIDDEN,)


def _layer_shapes(prefix: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield prefix + "input_layernorm.weight", (HIDDEN,)
    yield prefix + "mlp.down_proj.weight", (HIDDEN, INTERMEDIATE)
    yield prefix + "mlp.gate_proj.weight", (INTERMEDIATE, HIDDEN)
    yield prefix + "mlp.up_proj.weight", (INTERMEDIATE, HIDDEN)
    yield prefix + "post_attention_layernorm.weight", (HIDDEN,)
    for name, heads in (("k", KEY_VALUE_HEADS), ("q", HEADS), ("v", KEY_VALUE_HEADS)):
        yield prefix + f"self_attn.{name}_proj.bias", (heads * HEAD_DIM,)
        yield prefix + f"self_attn.{name}_proj.weight", (heads * HEAD_DIM, HIDDEN)
    yield prefix + "self_attn.o_proj.weight", (HIDDEN, HEADS * HEAD_DIM)


def _safetensors(seed: int) -> bytes:
    """The file format by hand: header length (8 bytes, little endian), JSON header padded to 8 bytes, raw data."""
    draw = random.Random(seed).random
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    blocks: list[bytes] = []
    end = 0
    for name, shape in _shapes():
        block = _values(name, shape, draw)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [end, end + len(block)]}
        blocks.append(block)
        end += len(block)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(blocks)


def _twelve(d: Callable[[], float]) -> float:
    """The sum of twelve draws, added one after the other: `sum` is slower here, and rounds as each Python likes."""
    return d() + d() + d() + d() + d() + d() + d() + d() + d() + d() + d() + d()


def _values(name: str, shape: tuple[int, ...], draw: Callable[[], float]) -> bytes:
    """Norms are one, biases zero, matrices normal with `INITIAL_STD` (the sum of twelve uniforms, less six)."""
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    if len(shape) == 1:
        numbers = array("f", [0.0 if name.endswith("bias") else 1.0]) * count
    else:
        numbers = array("f", (INITIAL_STD * (_twelve(draw) - 6.0) for _ in range(count)))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
