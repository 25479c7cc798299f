"""Numbers of the policy model that rules compare with: from config.json of a local folder, else a short table.

The table holds families that are used often and whose sizes do not change; a model that is in neither gives None, and
the rules that need it say nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orbiter_spec.plan.model import Plan


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Attention heads, key-value heads, longest position; None where it is not known."""

    source: str
    heads: int | None = None
    kv_heads: int | None = None
    positions: int | None = None
    mtp_layers: int | None = None
    architectures: tuple[str, ...] | None = None


# family and size: attention heads, key-value heads, longest position (None where it differs inside the family)
_KNOWN: dict[str, tuple[int, int, int | None]] = {
    "qwen2.5-0.5b": (14, 2, None),
    "qwen2.5-1.5b": (12, 2, None),
    "qwen2.5-3b": (16, 2, None),
    "qwen2.5-7b": (28, 4, None),
    "qwen2.5-14b": (40, 8, None),
    "qwen2.5-32b": (40, 8, None),
    "qwen2.5-72b": (64, 8, None),
    "qwen2.5-math-1.5b": (12, 2, 4096),
    "qwen2.5-math-7b": (28, 4, 4096),
    "qwen2.5-math-72b": (64, 8, 4096),
    "qwen3-0.6b": (16, 8, None),
    "qwen3-1.7b": (16, 8, None),
    "qwen3-4b": (32, 8, None),
    "qwen3-8b": (32, 8, None),
    "qwen3-14b": (40, 8, None),
    "qwen3-32b": (64, 8, None),
    "llama-3.1-8b": (32, 8, 131_072),
    "llama-3.1-70b": (64, 8, 131_072),
    "llama-3.2-1b": (32, 8, 131_072),
    "llama-3.2-3b": (24, 8, 131_072),
}


def model_facts(plan: Plan) -> ModelFacts | None:
    """Facts of the policy model, or None when neither its folder nor the table knows it."""
    path = str(plan.path("agent.model.config") or plan.path("agent.model.path"))
    facts = _from_folder(path) or _from_table(path)
    replaced = plan.get("agent.model.config_overrides") or {}
    if facts and "max_position_embeddings" in replaced:
        return ModelFacts(
            facts.source, facts.heads, facts.kv_heads, int(replaced["max_position_embeddings"]), facts.mtp_layers
        )
    return facts


def _from_folder(path: str) -> ModelFacts | None:
    file = Path(path).expanduser() / "config.json"
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(config, dict):
        return None
    text = config.get("text_config") if isinstance(config.get("text_config"), dict) else config
    assert isinstance(text, dict)
    heads = _number(text.get("num_attention_heads"))
    mtp = text.get("num_nextn_predict_layers", text.get("mtp_num_hidden_layers", 0))
    listed = config.get("architectures")
    return ModelFacts(
        source=str(file),
        heads=heads,
        kv_heads=_number(text.get("num_key_value_heads")) or heads,
        positions=_number(text.get("max_position_embeddings")),
        mtp_layers=_number(mtp) or 0,
        architectures=tuple(str(item) for item in listed) if isinstance(listed, list) else (),
    )


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _from_table(path: str) -> ModelFacts | None:
    name = path.rstrip("/").rpartition("/")[2].lower()
    name = re.sub(r"^meta-", "", name)
    for suffix in ("-instruct", "-base", ""):
        if name.endswith(suffix) and (known := _KNOWN.get(name.removesuffix(suffix))):
            return ModelFacts(path, *known)
    return None
