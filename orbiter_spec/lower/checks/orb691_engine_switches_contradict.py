"""switches of the inference engine that contradict each other

## What it checks

`cudagraph_capture_sizes` are positive numbers and stand with captured graphs (`enforce_eager: false`);
`free_cache_engine` stands with `enable_sleep_mode`; log-probabilities of the rollout that are trained on are those of
the distribution that was drawn from (`logprobs_mode: processed_logprobs`). The first holds for reward models and
teachers too.

## Why it matters

No graph is captured; the engine cannot give its memory back while the model trains; or ratios compare two different
distributions wherever the temperature is not 1.

## Bad

```yaml
actor_rollout_ref.rollout.enforce_eager: true
actor_rollout_ref.rollout.cudagraph_capture_sizes: [1, 2, 4, 8]
```

## Good

```yaml
actor_rollout_ref.rollout.cudagraph_capture_sizes: [1, 2, 4, 8]
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import engine_of, engines_served

ROLLOUT = "actor_rollout_ref.rollout"
CORRECTION = "algorithm.rollout_correction"
USES = (f"{CORRECTION}.bypass_mode", f"{CORRECTION}.rollout_is", f"{CORRECTION}.rollout_rs")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at each engine that is started, then at what the trainer does with the rollout's."""
    for home in engines_served(settings):
        engine = engine_of(settings, home)
        if engine in ("vllm", "trtllm"):
            yield from _graphs(settings, home, engine)
    engine = engine_of(settings, ROLLOUT)
    asleep = f"{ROLLOUT}.enable_sleep_mode"
    if (
        engine in ("vllm", "trtllm")
        and settings.get(asleep) is False
        and settings.get(f"{ROLLOUT}.free_cache_engine", True)
    ):
        note = "the engine cannot sleep, and is asked to while the model trains"
        related = ((f"{ROLLOUT}.free_cache_engine", "true"),)
        yield KeyFinding(asleep, note, "leave it out", related=related, severity=Severity.WARNING)
    if engine == "vllm":
        yield from _log_probs(settings)


def _graphs(settings: Mapping[str, Any], home: str, engine: str) -> Iterator[KeyFinding]:
    key, eager = f"{home}.cudagraph_capture_sizes", f"{home}.enforce_eager"
    sizes = settings.get(key)
    if not sizes:
        return
    listed = sizes if isinstance(sizes, list) else [sizes]
    if not all(isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in listed):
        yield KeyFinding(key, f"{sizes!r}", "use a list of sequences of a step, as [1, 2, 4, 8]")
    elif engine == "vllm" and settings.get(eager):
        cure = f"set {eager} to false, or leave this out"
        yield KeyFinding(key, "no graph is captured", cure, related=((eager, "true"),), severity=Severity.WARNING)


def _log_probs(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    key = f"{ROLLOUT}.logprobs_mode"
    mode = str(settings.get(key, "processed_logprobs"))
    used = next((name for name in USES if settings.get(name)), None)
    if used is None or mode == "processed_logprobs":
        return
    drawn = settings.get(f"{ROLLOUT}.temperature", 1.0)
    if mode == "raw_logprobs" and drawn == 1.0 and settings.get(f"{ROLLOUT}.top_p", 1.0) == 1.0:
        return
    note = f"{mode} at temperature {drawn} are not those of the answers that were drawn"
    related = ((used, "compares them"),)
    yield KeyFinding(key, note, "use processed_logprobs", related=related, severity=Severity.WARNING)
