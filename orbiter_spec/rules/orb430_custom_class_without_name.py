"""dataset class without a file or a name

## What it checks

`dataset.custom_class` has the form `path/to/file.py:Name`.

## Why it matters

verl imports the class in its task runner, once the cluster is up.

## Bad

```yaml
dataset: {custom_class: rows.py}
```

## Good

```yaml
dataset: {custom_class: "rows.py:Rows"}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from orbiter_spec.plan.model import Plan
from orbiter_spec.rules.finding import Finding


def check(plan: Plan) -> Iterator[Finding]:
    """Look at the form."""
    wish = plan.get("dataset.custom_class")
    if wish is None or re.fullmatch(r".+:[A-Za-z_]\w*", wish):
        return
    yield Finding(
        route="dataset.custom_class", note=f"{wish} names no class", help=f"write {wish.partition(':')[0]}:Name"
    )
