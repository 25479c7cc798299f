"""model override that not every engine hears of

## What it checks

An entry of `model.override_config` that changes what the model computes (positions, window, experts, layers) reaches
both sides: the training engine is FSDP or Megatron's legacy bridge, and the rollout is told the same in
`engine_kwargs` (`hf_overrides` of vLLM, `json_model_override_args` of SGLang).

## Why it matters

verl changes the configuration that it has read. VeOmni, torchtitan and Megatron-Bridge build the model from its folder
again, and so does every inference engine: one side trains a model, the other answers with another.

## Bad

```yaml
actor_rollout_ref.model.override_config.rope_scaling.factor: 4.0
```

## Good

```yaml
actor_rollout_ref.model.override_config.rope_scaling.factor: 4.0
actor_rollout_ref.rollout.engine_kwargs.vllm.hf_overrides.rope_scaling.factor: 4.0
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

MODEL, ROLLOUT = "actor_rollout_ref.model", "actor_rollout_ref.rollout"
CHANGES = (
    "rope_scaling",
    "rope_parameters",
    "rope_theta",
    "partial_rotary_factor",
    "sliding_window",
    "use_sliding_window",
    "layer_types",
    "num_hidden_layers",
    "num_experts_per_tok",
    "hidden_act",
)
HEARD_IN: Mapping[str, str] = {
    "vllm": f"{ROLLOUT}.engine_kwargs.vllm.hf_overrides",
    "sglang": f"{ROLLOUT}.engine_kwargs.sglang.json_model_override_args",
}
DEAF = ("veomni", "torchtitan")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each entry that changes the model."""
    start = f"{MODEL}.override_config."
    found: dict[str, str] = {}
    for key in sorted(settings):
        word = key.removeprefix(start).removeprefix("model_config.").partition(".")[0]
        if key.startswith(start) and word in CHANGES and settings[key] is not None:
            found.setdefault(word, key)
    trainer, engine = str(settings.get("actor_rollout_ref.actor.strategy", "fsdp")), settings.get(f"{ROLLOUT}.name")
    bridge = trainer == "megatron" and not settings.get("actor_rollout_ref.actor.megatron.vanilla_mbridge")
    told = HEARD_IN.get(str(engine), "")
    for word, key in found.items():
        if trainer in DEAF or bridge:
            by = "Megatron-Bridge" if bridge else trainer
            cure = "change config.json in a copy of the folder" + (
                ", or use override_transformer_config" if bridge else ""
            )
            yield _finding(key, f"{by} builds the model from its folder", cure)
        elif told and not any(other == told or other.startswith(f"{told}.") for other in settings if settings[other]):
            yield _finding(key, f"{engine} reads the model's folder, where {word} is another", f"set {told} too")


def _finding(key: str, note: str, cure: str) -> KeyFinding:
    return KeyFinding(key, note, cure, severity=Severity.WARNING)
