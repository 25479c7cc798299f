"""sampler setting that nothing reads

## What it checks

`trainer.v1.sampler.custom_sampler` has a path and a name. Beside a custom sampler there is no group filter and no
`sync_refill_failed_groups`; that switch stands with the trainer mode `sync`.

## Why it matters

With only one of the two verl takes its own sampler. Its own is also the one that filters groups: a custom sampler is
not told of it, and untold groups are trained on.

## Bad

```yaml
trainer.v1.sampler.custom_sampler.path: sampler.py
```

## Good

```yaml
trainer.v1.sampler.custom_sampler.path: sampler.py
trainer.v1.sampler.custom_sampler.name: Newest
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity
from orbiter_spec.lower.checks.finding import KeyFinding

HOME = "trainer.v1.sampler"
PATH, NAME, REFILL = f"{HOME}.custom_sampler.path", f"{HOME}.custom_sampler.name", f"{HOME}.sync_refill_failed_groups"
FILTER = "algorithm.filter_groups.enable"
OURS = ("RewardReplayBuffer", "RewardReplayBufferAsync", "FastReplayBuffer", "FastReplayBufferAsync")
"""Samplers that we compile in; they ask the trainer for the filter themselves (runtime/reward_metrics.py)."""


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at the custom sampler and at what goes with verl's own."""
    path, name = settings.get(PATH), settings.get(NAME)
    if bool(path) != bool(name):
        given, missing = (PATH, NAME) if path else (NAME, PATH)
        yield _unread(given, f"without {missing} verl's own sampler is used", f"set {missing}")
    elif path and name not in OURS:
        for key in (FILTER, REFILL):
            if settings.get(key):
                yield _unread(key, f"the sampler {name} is not told of it", "do it in the sampler, and leave this out")
    if settings.get(REFILL) and settings.get("trainer.v1.trainer_mode", "sync") != "sync" and not path:
        yield _unread(REFILL, "an asynchronous trainer replaces failed groups anyway", "leave it out")


def _unread(key: str, note: str, cure: str) -> KeyFinding:
    return KeyFinding(key, note, cure, severity=Severity.WARNING)
