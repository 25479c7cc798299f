"""engine argument that verl writes over

## What it checks

`rollout.engine_kwargs` of the engine in use does not hold what verl sets itself after it has laid these arguments
over its own: expert parallelism, adapters, images of a prompt, captured graphs, speculative decoding, the worker
extension, and beside fp8 no overrides of the model. The same for reward models and teachers that are on.

## Why it matters

The argument is lost without a word. The worker extension of vLLM is the other way round: the argument wins, and
weights cannot be sent any more.

## Bad

```yaml
actor_rollout_ref.rollout.engine_kwargs.vllm.enable_expert_parallel: true
```

## Good

```yaml
actor_rollout_ref.rollout.tensor_model_parallel_size: 8
actor_rollout_ref.rollout.expert_parallel_size: 8
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import engine_of, engines_served

MODEL, ROLLOUT = "actor_rollout_ref.model", "actor_rollout_ref.rollout"
Words = tuple[str, ...]
ALWAYS: Mapping[str, Words] = {
    "vllm": (),
    "sglang": ("enable_weights_cpu_backup",),
    "trtllm": ("ray_worker_extension_cls", "cuda_graph_config", "scheduler_config"),
}
ADAPTERS: Mapping[str, Words] = {
    "vllm": ("enable_lora", "max_loras", "max_lora_rank"),
    "sglang": ("enable_lora", "max_lora_rank", "lora_target_modules"),
}
DRAFTS: Mapping[str, Words] = {
    "sglang": (
        "speculative_algorithm",
        "speculative_num_steps",
        "speculative_eagle_topk",
        "speculative_num_draft_tokens",
    )
}


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each engine that is started."""
    for home in engines_served(settings):
        engine = engine_of(settings, home)
        start = f"{home}.engine_kwargs.{engine}"
        for word, writer in _written_over(settings, home, engine):
            whole = f"{start}.{word}"
            parts = (other for other in sorted(settings) if other == whole or other.startswith(f"{whole}."))
            key = next((other for other in parts if settings[other] is not None), None)
            if key is not None:
                related = ((writer, "this decides"),) if writer in settings else ()
                cure = f"leave it out, and set {writer}" if writer else "leave it out"
                note = f"{settings[key]!r}, and verl sets it" + (f" from {writer}" if writer else "")
                yield KeyFinding(key, note, cure, related=related, severity=Severity.WARNING)
        yield from _blocks(settings, home, engine)
        extension = f"{start}.worker_extension_cls"
        if engine == "vllm" and settings.get(extension) is not None:
            note = f"{settings[extension]!r} in the place of verl's own, by which weights arrive"
            yield KeyFinding(extension, note, "leave it out")


def _written_over(settings: Mapping[str, Any], home: str, engine: str) -> Iterator[tuple[str, str]]:
    """Arguments of `engine` that are lost, each with the key that decides."""
    yield from ((word, "") for word in ALWAYS.get(engine, ()))
    if home == ROLLOUT and _serves_adapters(settings):
        yield from ((word, f"{MODEL}.lora_rank") for word in ADAPTERS.get(engine, ()))
    if home == ROLLOUT and settings.get(f"{MODEL}.mtp.enable") and settings.get(f"{MODEL}.mtp.enable_rollout"):
        yield from ((word, f"{MODEL}.mtp.{word}") for word in DRAFTS.get(engine, ()))
    if engine != "vllm":
        return
    wide = (settings.get(f"{home}.expert_parallel_size") or 1) > 1
    if settings.get(f"{home}.engine_kwargs.vllm.enable_expert_parallel") not in (None, wide):
        yield "enable_expert_parallel", f"{home}.expert_parallel_size"
    if settings.get(f"{home}.limit_images"):
        yield "limit_mm_per_prompt", f"{home}.limit_images"
    if settings.get(f"{home}.cudagraph_capture_sizes"):
        yield "compilation_config.cudagraph_capture_sizes", f"{home}.cudagraph_capture_sizes"
    if settings.get(f"{home}.disaggregation.enabled"):
        yield "kv_transfer_config", f"{home}.disaggregation.enabled"


def _blocks(settings: Mapping[str, Any], home: str, engine: str) -> Iterator[KeyFinding]:
    """Overrides of the model take the place of those in which verl says how weights are quantised."""
    word = {"vllm": "hf_overrides", "sglang": "json_model_override_args"}.get(engine)
    kind, start = f"{home}.quantization", f"{home}.engine_kwargs.{engine}.{word}"
    given = sorted(key for key in settings if (key == start or key.startswith(f"{start}.")) and settings[key])
    if word and settings.get(kind) == "fp8" and given:
        note = f"{word} takes the place of verl's, which says that weights are fp8 in blocks"
        cure = "leave one of them out, or repeat quantization_config in it"
        yield KeyFinding(given[0], note, cure, related=((kind, "fp8"),), severity=Severity.WARNING)


def _serves_adapters(settings: Mapping[str, Any]) -> bool:
    ranks = (settings.get(f"{MODEL}.lora_rank"), settings.get(f"{MODEL}.lora.rank"))
    return any((rank or 0) > 0 for rank in ranks) and not settings.get(f"{MODEL}.lora.merge")
