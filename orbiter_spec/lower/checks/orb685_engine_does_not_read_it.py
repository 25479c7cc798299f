"""setting of the rollout that its engine does not read

## What it checks

Settings of the rollout, of reward models and of teachers that only some inference engines read stand with those, and
`engine_kwargs` are written for the engine that runs. What the engines read is what verl hands to them
(`workers/rollout/*/…_server.py`).

## Why it matters

Nothing is said, and the engine does what it does without the setting.

## Bad

```yaml
actor_rollout_ref.rollout.name: sglang
actor_rollout_ref.rollout.enable_prefix_caching: false
```

## Good

```yaml
actor_rollout_ref.rollout.name: vllm
actor_rollout_ref.rollout.enable_prefix_caching: false
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import engine_of, engines_served

ENGINES = ("vllm", "sglang", "trtllm")
VLLM, NOT_SGLANG, NOT_TRTLLM = ("vllm",), ("vllm", "trtllm"), ("vllm", "sglang")
READERS: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "enable_chunked_prefill": (True, NOT_SGLANG),
    "enable_prefix_caching": (True, NOT_SGLANG),
    "max_num_batched_tokens": (8192, NOT_SGLANG),
    "cudagraph_capture_sizes": (None, NOT_SGLANG),
    "enable_sleep_mode": (True, NOT_SGLANG),
    "enforce_eager": (False, NOT_TRTLLM),
    "enable_rollout_routing_replay": (False, NOT_TRTLLM),
    "logprobs_mode": ("processed_logprobs", VLLM),
    "scheduling_policy": ("fcfs", VLLM),
    "limit_images": (None, VLLM),
    "quantization_config_file": (None, VLLM),
    "ignore_eos": (False, VLLM),
    "full_determinism": (False, VLLM),
}
"""What a setting is when it is left out, and the engines that are told of it."""
IN_THE_KEYS_OF: Mapping[str, str] = {
    "enable_chunked_prefill": "chunked_prefill_size",
    "enable_prefix_caching": "disable_radix_cache",
    "max_num_batched_tokens": "chunked_prefill_size",
    "cudagraph_capture_sizes": "cuda_graph_bs",
    "scheduling_policy": "schedule_policy",
}
"""What SGLang calls it; -1 tokens of a prefill switch chunks off."""


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each engine that is started."""
    for home in engines_served(settings):
        engine = engine_of(settings, home)
        if engine in ENGINES:
            yield from _settings(settings, home, engine)
            yield from _arguments(settings, home, engine)


def _settings(settings: Mapping[str, Any], home: str, engine: str) -> Iterator[KeyFinding]:
    for word, (default, readers) in READERS.items():
        key = f"{home}.{word}"
        value = settings.get(key, default)
        if engine in readers or value in (default, None):
            continue
        own = IN_THE_KEYS_OF.get(word) if engine == "sglang" else None
        cure = f"set {home}.engine_kwargs.sglang.{own}" if own else f"leave it out, or use {' or '.join(readers)}"
        yield _unread(key, f"{value!r}, and verl does not tell {engine}", cure, home)


def _arguments(settings: Mapping[str, Any], home: str, engine: str) -> Iterator[KeyFinding]:
    for other in ENGINES:
        start = f"{home}.engine_kwargs.{other}."
        given = [key for key in settings if key.startswith(start) and settings[key] is not None]
        if other != engine and given:
            words = ", ".join(sorted(key.removeprefix(start) for key in given)[:4])
            yield _unread(min(given), f"{words} for {other}, and the engine is {engine}", "leave them out", home)


def _unread(key: str, note: str, cure: str, home: str) -> KeyFinding:
    return KeyFinding(key, note, cure, related=((f"{home}.name", "the engine"),), severity=Severity.WARNING)
