"""verl's own launch commands, where they lie beside the project."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpus" / "dev.json"


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    if not CORPUS.is_file():
        pytest.skip("the corpus is not here")
    spec = importlib.util.spec_from_file_location("corpus_benchmark", ROOT / "benchmarks" / "corpus.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    target = module.load_target("0.9.1")
    return dict(module.run(json.loads(CORPUS.read_text(encoding="utf-8")), module.own_composer(target), target))


def test_every_entry_is_equal_or_its_engine_is_gone(rows: dict[str, Any]) -> None:
    assert rows["all"].wrong == []
    assert rows["all"].equal + rows["all"].gone == rows["all"].entries


def test_fields_say_it(rows: dict[str, Any]) -> None:
    for engine, row in rows.items():
        assert row.changed == 0 or (row.changed - row.hatched) / row.changed >= 0.95, engine


def test_specs_are_shorter(rows: dict[str, Any]) -> None:
    lines, overrides = sorted(rows["all"].spec_lines), sorted(rows["all"].overrides)
    assert lines[len(lines) // 2] < overrides[len(overrides) // 2]


def test_stale_keys_are_told(rows: dict[str, Any]) -> None:
    assert rows["all"].stale_told == rows["all"].stale
