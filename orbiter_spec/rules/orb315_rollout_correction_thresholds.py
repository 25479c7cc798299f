"""rollout correction that verl cannot read

## What it checks

`rejection` names verl's statistics, has `rejection_threshold`, one for all or one for each, with two bounds
(`0.5_2.0`) only for the `k1` statistics, whose one bound is at least 1, because the other is its inverse; `threshold`
is a number or two bounds, all above 0 and in order.

## Why it matters

They are text that verl takes apart in the first step, when the batch is already generated.

## Bad

```yaml
algorithm: {name: grpo, rollout_correction: {rejection: token_k1}}
```

## Good

```yaml
algorithm: {name: grpo, rollout_correction: {rejection: token_k1, rejection_threshold: "0.5_2.0"}}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.diagnostics import nearest
from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding

STATISTICS = (
    *(f"token_k{kind}" for kind in (1, 2, 3)),
    *(f"seq_sum_k{kind}" for kind in (1, 2, 3)),
    *(f"seq_mean_k{kind}" for kind in (1, 2, 3)),
    *(f"seq_max_k{kind}" for kind in (2, 3)),
)
HOME = "algorithm.rollout_correction"


def check(plan: Plan) -> Iterator[Finding]:
    """Read both texts as verl will."""
    cut = plan.get(f"{HOME}.threshold")
    if plan.get(f"{HOME}.importance") and cut is not None and not _bounds(str(cut), pair=True):
        yield Finding(
            route=f"{HOME}.threshold",
            note=f"{cut!r} is no bound above 0",
            help='use 2.0, or two bounds such as "0.5_2.0"',
        )
    yield from _rejection(plan)


def _rejection(plan: Plan) -> Iterator[Finding]:
    text, bounds = plan.get(f"{HOME}.rejection"), plan.get(f"{HOME}.rejection_threshold")
    if text is None:
        return
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in STATISTICS]
    if unknown or not names:
        close = nearest(unknown[0], STATISTICS) if unknown else None
        yield Finding(
            route=f"{HOME}.rejection",
            note=f"{(unknown or [''])[0]!r} is no statistic" + (f"; did you mean {close!r}?" if close else ""),
            help=f"use {', '.join(STATISTICS)}, several with commas",
        )
        return
    example = ",".join("0.5_2.0" if name.endswith("k1") else "0.01" for name in names)
    if bounds is None:
        note = "rejection has no bounds"
        yield Finding(route=f"{HOME}.rejection", note=note, help=f'write rejection_threshold: "{example}"')
        return
    given = [part.strip() for part in str(bounds).split(",") if part.strip()]
    if len(given) not in (1, len(names)) or not all(
        _bounds(bound, pair=name.endswith("k1")) and (not name.endswith("k1") or "_" in bound or float(bound) >= 1)
        for name, bound in zip(names, given * (len(names) if len(given) == 1 else 1), strict=False)
    ):
        yield Finding(
            route=f"{HOME}.rejection_threshold",
            note=f"{bounds!r} does not fit {', '.join(names)}",
            help=f'write "{example}"',
            related=((f"{HOME}.rejection", f"{len(names)} statistics"),),
        )


def _bounds(text: str, *, pair: bool) -> bool:
    """True for one number above 0, or where `pair` is allowed two in order."""
    parts = text.split("_", 1)
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        return False
    return (len(numbers) == 1 or pair) and all(number > 0 for number in numbers) and numbers == sorted(numbers)
