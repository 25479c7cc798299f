"""Numbers of the policy model that rules compare with.

Heads come from the plan's facts about the model. What those leave out (positions, prediction layers, architectures) is
read from config.json of a local folder, or stands in a short table of families whose positions never vary. Where
nothing is known the numbers are None, and the rules that need them say nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orbiter_spec.plan.model import Plan
from orbiter_spec.plan.model_facts import find_facts

POSITIONS: tuple[tuple[str, int], ...] = (
    (r"Qwen/Qwen2(\.5)?-Math-[\w.-]+", 4096),
    (r"Qwen/Qwen2\.5-(0\.5|1\.5|3|7|14|32|72)B-Instruct", 32_768),
    (r"Qwen/Qwen3-(0\.6B|1\.7B|4B|8B|14B|32B|30B-A3B|235B-A22B)", 40_960),
    (r"Qwen/Qwen3-(0\.6B|1\.7B|4B|8B|14B|30B-A3B)-Base", 32_768),
    (r"google/gemma-2-[\w.-]+", 8192),
    (r"meta-llama/Llama-2-[\w.-]+", 4096),
    (r"(meta-llama/)?(Meta-)?Llama-3-[\w.-]+", 8192),
    (r"meta-llama/(Meta-)?Llama-3\.[123]-[\w.-]+", 131_072),
)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of one model; None for each thing that is not."""

    heads: int | None
    kv_heads: int | None
    positions: int | None
    mtp_layers: int | None
    architectures: tuple[str, ...] | None


def model_facts(plan: Plan) -> ModelFacts:
    """Facts of the policy model of `plan`."""
    path = str(plan.path("agent.model.path"))
    replaced: Mapping[str, Any] = plan.get("agent.model.config_overrides") or {}
    config = _config(str(plan.path("agent.model.config") or path))
    known = plan.model or find_facts(path, replaced)
    if config is None:
        listed = next((positions for name, positions in POSITIONS if re.fullmatch(name, path)), None)
        positions = _number(replaced.get("max_position_embeddings")) or listed
        heads, kv_heads = (known.heads, known.kv_heads) if known else (None, None)
        return ModelFacts(heads, kv_heads, positions, None, None)
    whole = {**config, **replaced}
    text = {**whole, **(whole["text_config"] if isinstance(whole.get("text_config"), dict) else {})}
    heads = _number(text.get("num_attention_heads"))
    names = whole.get("architectures")
    return ModelFacts(
        heads=heads,
        kv_heads=_number(text.get("num_key_value_heads")) or heads,
        positions=_number(text.get("max_position_embeddings")),
        mtp_layers=_number(text.get("num_nextn_predict_layers") or text.get("mtp_num_hidden_layers")) or 0,
        architectures=tuple(map(str, names)) if isinstance(names, list) else (),
    )


def _config(folder: str) -> Mapping[str, Any] | None:
    try:
        config = json.loads((Path(folder).expanduser() / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return config if isinstance(config, dict) else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
