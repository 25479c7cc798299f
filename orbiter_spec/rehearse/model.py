"""The model of a rehearsal: the spec's family with layers and widths cut, random weights, and its own tokenizer.

config.json comes from where the plan has it (a folder, the Hugging Face cache, the shipped table). The vocabulary is
never cut where the tokenizer is here, since ids would no longer fit. Where it is not, the byte-level tokenizer of
`builtin:tiny-llama` stands in, and the vocabulary is its own. Weights are made by transformers in a process of its
own, so that this one stays small, and are kept by the hash of what they were made from.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orbiter_spec.data.tiny_model import END_ID, PAD_ID, VOCABULARY_SIZE, write_tiny_tokenizer
from orbiter_spec.launch.write import staged
from orbiter_spec.plan.model_facts import cached_folder, find_config
from orbiter_spec.plan.weights import ARCHITECTURES

LAYERS, HIDDEN, INTERMEDIATE, HEADS, HEAD_DIM, EXPERTS = 2, 64, 128, 2, 32, 4
MAKING_SECONDS = 180
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
)
SIZES: Mapping[str, int] = {
    "num_hidden_layers": LAYERS,
    "hidden_size": HIDDEN,
    "intermediate_size": INTERMEDIATE,
    "num_attention_heads": HEADS,
    "head_dim": HEAD_DIM,
    "moe_intermediate_size": HIDDEN,
    "shared_expert_intermediate_size": HIDDEN,
    "num_experts": EXPERTS,
    "num_local_experts": EXPERTS,
    "n_routed_experts": EXPERTS,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "first_k_dense_replace": 1,
    "q_lora_rank": HIDDEN,
    "kv_lora_rank": HEAD_DIM,
    "qk_nope_head_dim": HEAD_DIM,
    "qk_rope_head_dim": HEAD_DIM,
    "v_head_dim": HEAD_DIM,
    "num_nextn_predict_layers": 0,
    "mtp_num_layers": 0,
    "max_window_layers": LAYERS,
}
SPREAD = 0.2
"""Standard deviation of the weights. With the usual 0.02 a model this narrow gives every token the same probability,
and rollout and trainer would agree whatever either of them did."""
ROUTED_EXPERTS = {"n_group": 1, "topk_group": 1}
"""Written even where the published file leaves them to the defaults of its class, which suit hundreds of experts."""
BY_LAYER = ("layer_types", "mlp_layer_types", "no_rope_layers")
DROPPED = ("quantization_config", "auto_map", "attn_implementation", "_attn_implementation")


class ModelError(Exception):
    """A small model cannot be made; the message says why in the user's words."""


@dataclass(frozen=True, slots=True)
class SmallModel:
    """The folder of a small model and where its parts are from; `byte_tokens` when a byte-level tokenizer stands in."""

    folder: Path
    family: str
    config_from: str
    tokenizer_from: str
    byte_tokens: bool


def make_small_model(
    path: str,
    root: Path,
    *,
    tokenizer: str | None = None,
    config: str | None = None,
    trust_remote_code: bool = False,
    seed: int = 0,
) -> SmallModel:
    """A small model of the family at `path`, written below `root` unless it is there already.

    `tokenizer` and `config` are folders or repositories where the spec names others. `trust_remote_code` lets
    transformers run code that came with the model.

    Raises:
        ModelError: when nothing is known about the model, or transformers cannot make it.
    """
    found = find_config(config or path)
    if found is None:
        raise ModelError(f"no config.json of {config or path} is on this machine, and its family is not in the table")
    whole, config_from = found
    home = tokenizer_home(tokenizer or path)
    if "vision_config" in whole:
        raise ModelError("models that see images need their processor and are not rehearsed")
    small = small_config(whole, byte_tokens=home is None)
    key = json.dumps([small, seed, _stamp(home)], sort_keys=True)
    folder = root / f"{small['model_type']}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    if not folder.is_dir():
        code = Path(path).expanduser() if trust_remote_code and Path(path).expanduser().is_dir() else None
        _make(folder, small, home, seed, code)
    said = "a byte-level stand-in" if home is None else "its own"
    return SmallModel(folder, str(small["model_type"]), config_from, said, home is None)


def small_config(whole: Mapping[str, Any], *, byte_tokens: bool) -> dict[str, Any]:
    """`whole` with layers and widths cut; with `byte_tokens`, with the vocabulary of the byte-level tokenizer too."""
    small = {name: value for name, value in whole.items() if name not in DROPPED}
    small |= {name: size for name, size in SIZES.items() if isinstance(small.get(name), int)}
    small["initializer_range"] = SPREAD
    if "n_routed_experts" in small:
        small |= ROUTED_EXPERTS
    for name in BY_LAYER:
        if isinstance(small.get(name), list):
            small[name] = _kinds(small[name])
    heads, key_value = whole.get("num_attention_heads"), whole.get("num_key_value_heads")
    if isinstance(heads, int) and isinstance(key_value, int):
        small["num_key_value_heads"] = HEADS if key_value == heads else 1
    if isinstance(small.get("rope_scaling"), dict) and {"short_factor", "long_factor"} & set(small["rope_scaling"]):
        small["rope_scaling"] = None
    if byte_tokens:
        ids = {"eos_token_id": END_ID, "pad_token_id": PAD_ID, "bos_token_id": None}
        small |= {"vocab_size": VOCABULARY_SIZE, **ids}
    if small.get("model_type") in ARCHITECTURES and "architectures" not in small:
        small["architectures"] = None
    return {name: value for name, value in small.items() if value is not None or name == "bos_token_id"}


def _kinds(layers: list[Any]) -> list[Any]:
    """One layer of each of the first kinds, so that a mixture stays one."""
    kinds = list(dict.fromkeys(layers))[:LAYERS]
    return (kinds * LAYERS)[:LAYERS]


def tokenizer_home(name: str) -> Path | None:
    """The folder on this machine that holds the tokenizer of `name`; None when there is none."""
    for folder in (Path(name).expanduser(), cached_folder(name)):
        if folder is not None and any((folder / file).is_file() for file in ("tokenizer.json", "tokenizer.model")):
            return folder.resolve()
    return None


def _stamp(home: Path | None) -> list[Any]:
    if home is None:
        return []
    files = [home / name for name in TOKENIZER_FILES if (home / name).is_file()]
    return [[file.name, hashlib.sha256(file.read_bytes()).hexdigest()] for file in files]


def _make(folder: Path, config: dict[str, Any], home: Path | None, seed: int, code: Path | None) -> None:
    """Write the folder, all of it or nothing."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with staged(folder) as stage:
        if home is None:
            write_tiny_tokenizer(stage)
        else:
            for name in TOKENIZER_FILES:
                if (home / name).is_file():
                    shutil.copyfile(home / name, stage / name)
        for file in code.glob("*.py") if code else ():
            shutil.copyfile(file, stage / file.name)
        (stage / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "orbiter_spec.rehearse.make_weights", str(stage), str(seed)]
        try:
            done = subprocess.run(
                [*command, *(["--trust-remote-code"] if code else [])],
                capture_output=True,
                text=True,
                timeout=MAKING_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ModelError(f"making a small {config['model_type']} took over {MAKING_SECONDS} s") from error
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise ModelError(f"transformers cannot make a small {config['model_type']}: {last}")
