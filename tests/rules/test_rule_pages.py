"""The pages in docs/rules are made from the docstrings, and none is left over."""

from __future__ import annotations

from pathlib import Path

import pytest

from orbiter_spec.devtools.rule_pages import FOLDER, rule_files

ROOT = Path(__file__).resolve().parents[2]
PAGES = rule_files()


@pytest.mark.parametrize("path", sorted(PAGES))
def test_page_is_current(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == PAGES[path], "run python -m orbiter_spec.devtools regenerate"


def test_no_page_is_left_over() -> None:
    assert {str(path.relative_to(ROOT)) for path in (ROOT / FOLDER).glob("*.md")} == set(PAGES)
