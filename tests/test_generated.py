"""Generated files are what the code generates."""

from __future__ import annotations

import pytest

from orbiter_spec.devtools.regenerate import ROOT, generated

GENERATED = generated()


@pytest.mark.parametrize("path", sorted(GENERATED))
def test_generated_file_is_current(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == GENERATED[path], (
        "run python -m orbiter_spec.devtools regenerate"
    )
