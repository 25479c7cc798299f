"""checkpoint content that nothing saves

## What it checks

`save_contents` and `load_contents` hold model, optimizer, extra and hf_model only.

## Why it matters

Other words are passed over: what was meant is not in the checkpoint.

## Bad

```yaml
actor_rollout_ref.actor.checkpoint.save_contents: [model, optimiser, extra]
```

## Good

```yaml
actor_rollout_ref.actor.checkpoint.save_contents: [model, optimizer, extra]
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orbiter_spec.diagnostics import Severity, nearest
from orbiter_spec.lower.checks.finding import KeyFinding
from orbiter_spec.lower.checks.roles import uses_critic

KNOWN = ("model", "optimizer", "extra", "hf_model")


def check(settings: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Look at every word."""
    homes = ["actor_rollout_ref.actor", *(["critic"] if uses_critic(settings) else [])]
    for home in homes:
        for word in ("save_contents", "load_contents"):
            key = f"{home}.checkpoint.{word}"
            saved = settings.get(f"{home}.checkpoint.save_contents")
            contents = settings.get(key) or ()
            if word == "load_contents" and contents == saved:
                continue
            for name in contents:
                if name not in KNOWN:
                    close = nearest(str(name), KNOWN)
                    note = f"{name!r} is none of them" + (f"; did you mean {close!r}?" if close else "")
                    yield KeyFinding(key, note, f"use {', '.join(KNOWN)}", severity=Severity.WARNING)
