"""Generated files are what the code generates."""

from __future__ import annotations

import pytest

from orbiter_spec.devtools.regenerate import ROOT, generated


@pytest.mark.parametrize("path", sorted(generated()))
def test_generated_file_is_current(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == generated()[path], (
        "run python -m orbiter_spec.devtools regenerate"
    )
