"""Whatever is thrown at `validate`, it answers with diagnostics or success, never with an exception."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orbiter_spec.compiler import check
from orbiter_spec.source import read
from tests.conftest import SPECS

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(max_size=12)
    | st.sampled_from(["cpu", "grpo", "8xH100", "0x0xA", "none", "all", "verl", "builtin:x", "~", "a.py:b", "{{ x }}"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
DOCUMENTS: list[dict[str, Any]] = [read(spec)[0].data for spec in SPECS]  # type: ignore[union-attr]
BOUNDS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def routes(node: Any, route: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [route] if route else []
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        found += routes(value, (*route, key))
    return found


def answers(folder: Path, document: Any) -> None:
    spec = folder / "spec.yaml"
    spec.write_text(json.dumps(document), encoding="utf-8")
    state = check(spec)
    if not state.report.ok:
        assert all(found.message and found.id.startswith("ORB") for found in state.report)
    else:
        assert state.config is not None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any")


@BOUNDS
@given(document=VALUES)
def test_any_document(document: Any, folder: Path) -> None:
    answers(folder, document)


@BOUNDS
@given(data=st.data())
def test_mutated_specs(data: st.DataObject, folder: Path) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from(DOCUMENTS)))
    document["rewards"] = [{"builtin": "exact_match"}]
    document["dataset"] = {"train": "absent.parquet", "prepared": True}
    for _ in range(data.draw(st.integers(1, 3))):
        route = data.draw(st.sampled_from(routes(document)))
        holder = document
        for part in route[:-1]:
            holder = holder[part]
        if data.draw(st.booleans()):
            holder[route[-1]] = data.draw(VALUES)
        elif isinstance(holder, dict):
            del holder[route[-1]]
    answers(folder, document)
