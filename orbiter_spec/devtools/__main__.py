"""`python -m orbiter_spec.devtools regenerate` writes every generated file."""

from __future__ import annotations

import sys

from orbiter_spec.devtools.regenerate import regenerate

if sys.argv[1:] != ["regenerate"]:
    raise SystemExit("usage: python -m orbiter_spec.devtools regenerate")
for path in regenerate():
    print(path)
