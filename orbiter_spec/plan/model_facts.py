"""What is known about a model before its weights are.

Facts come from config.json in a local folder, else in the Hugging Face cache of this machine, else from the table of
families that ships with us (model_families.json), else there are none: the plan then says that it does not know, and
keeps plain defaults. Nothing is downloaded. Where the facts were found is named without a path, so that a plan reads
the same on every machine.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from orbiter_spec.plan.vision_weights import text_config, vision_weights
from orbiter_spec.plan.weights import (
    ARCHITECTURES,
    Config,
    Weight,
    cache_width,
    expert_count,
    head_size,
    key_value_heads,
    text_weights,
)

FOLDER, CACHE, TABLE = "its config.json", "the Hugging Face cache", "the table of model families"
USUAL_DTYPE = "bfloat16"
OWNER = re.compile(r"([\w-]+)(?=/)")


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Sizes of one model. Parameters are counts, not bytes; `dtype` is how the weights are published.

    `active_parameters` are those a token passes through, the same as `parameters` for a dense model. `cache_width` is
    what the KV cache keeps per token and layer, in numbers. `weights` lists every tensor.
    """

    architecture: str
    parameters: int
    embedding_parameters: int
    active_parameters: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    cache_width: int
    vocab: int
    intermediate: int
    experts: int
    active_experts: int
    tied_embeddings: bool
    dtype: str
    source: str
    weights: tuple[Weight, ...]


def find_config(path: str) -> tuple[Config, str] | None:
    """config.json of the model at `path` (folder or repository) and where it was found; None if it is nowhere here."""
    return _local(path) or _cached(path) or _listed(path)


def find_facts(path: str, overrides: Config | None = None) -> ModelFacts | None:
    """Facts about the model at `path` (folder or repository), with entries of its config replaced by `overrides`."""
    found = find_config(path)
    if found is None:
        return None
    config, source = found
    try:
        return facts_of({**config, **(overrides or {})}, source)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def facts_of(config: Config, source: str) -> ModelFacts | None:
    """Facts from the fields of a config.json; None for an architecture we do not know.

    Raises KeyError or TypeError where a field that the architecture cannot do without is missing or malformed.
    """
    text = text_config(config)
    if text.get("model_type") not in ARCHITECTURES:
        return None
    weights = (*text_weights(text), *vision_weights(config))
    experts, active = expert_count(text), int(text.get("num_experts_per_tok") or 0)
    return ModelFacts(
        architecture=str(config["model_type"]),
        parameters=sum(weight.parameters for weight in weights),
        embedding_parameters=sum(weight.parameters for weight in weights if weight.kind in ("embedding", "head")),
        active_parameters=sum(
            weight.parameters * active // experts if weight.kind == "expert" else weight.parameters
            for weight in weights
        ),
        layers=int(text["num_hidden_layers"]),
        hidden=int(text["hidden_size"]),
        heads=int(text["num_attention_heads"]),
        kv_heads=key_value_heads(text),
        head_dim=head_size(text),
        cache_width=cache_width(text),
        vocab=int(text["vocab_size"]),
        intermediate=int(text["intermediate_size"]),
        experts=experts,
        active_experts=active,
        tied_embeddings=bool(text.get("tie_word_embeddings")),
        dtype=str(text.get("dtype") or text.get("torch_dtype") or USUAL_DTYPE),
        source=source,
        weights=weights,
    )


def _local(path: str) -> tuple[Config, str] | None:
    config = _read(Path(path).expanduser() / "config.json")
    return None if config is None else (config, FOLDER)


def _cached(path: str) -> tuple[Config, str] | None:
    folder = cached_folder(path)
    config = None if folder is None else _read(folder / "config.json")
    return None if config is None else (config, CACHE)


def cached_folder(repository: str) -> Path | None:
    """Where the Hugging Face cache of this machine would keep `repository`; None if it does not."""
    if repository.count("/") != 1:
        return None
    kept = _hub() / f"models--{repository.replace('/', '--')}"
    try:
        commit = (kept / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    return kept / "snapshots" / commit


def _hub() -> Path:
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()


def _read(path: Path) -> Config | None:
    """The file's fields, with what its class assumes where it is silent; None if it cannot be read."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return with_defaults(config) if isinstance(config, dict) else None


def with_defaults(config: Config) -> Config:
    """`config` over the defaults of its class in transformers, where published files rely on them."""
    defaults: Mapping[str, Config] = _families()["defaults"]
    filled = {**defaults.get(str(config.get("model_type")), {}), **config}
    for part in ("text_config", "vision_config"):
        if isinstance(filled.get(part), dict):
            inner = filled[part]
            filled[part] = {**defaults.get(str(inner.get("model_type")), {}), **inner}
    return filled


@cache
def _listed(path: str) -> tuple[Config, str] | None:
    """The family of a repository, or of a folder or mirror on another machine that kept the repository's last name."""
    last = path.rstrip("/").rpartition("/")[2]
    for name in (path, *(f"{owner}/{last}" for owner in _owners())):
        for family in _families()["families"]:
            if re.fullmatch(family["repositories"], name, re.IGNORECASE):
                return with_defaults(family["config"]), TABLE
    return None


@cache
def _owners() -> tuple[str, ...]:
    """Owners that the table's repository names begin with, in its order."""
    names = (owner for family in _families()["families"] for owner in OWNER.findall(family["repositories"]))
    return tuple(dict.fromkeys(names))


@cache
def _families() -> dict[str, Any]:
    """The shipped table: `defaults` by model type and `families` by repository name, the first match wins."""
    table: dict[str, Any] = json.loads((files("orbiter_spec.plan") / "model_families.json").read_text(encoding="utf-8"))
    return table
