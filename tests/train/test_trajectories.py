"""Trajectories go out and come back as they were, and nothing is taken or written by halves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbiter_spec.train import DefaultStrategy, TrajectoryDataset, TrajectoryError, TrajectoryItem, TrajectoryStrategy

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
ITEMS = st.builds(
    TrajectoryItem,
    state=TEXT,
    action=TEXT,
    reward=st.floats(allow_nan=False, allow_infinity=False),
    metadata=st.dictionaries(TEXT, JSON, max_size=3),
)
FORMS = ("json", "csv", "parquet")


@pytest.mark.parametrize("form", FORMS)
@settings(deadline=None, max_examples=50)
@given(items=st.lists(ITEMS, max_size=6))
def test_every_form_gives_back_what_went_in(
    form: str, items: list[TrajectoryItem], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("out") / f"items.{form}"
    getattr(TrajectoryDataset(items), f"export_{form}")(path)
    back = TrajectoryDataset()
    assert getattr(back, f"import_{form}")(path) == len(items)
    assert back.items == items


def test_the_default_keeps_everything_as_it_came() -> None:
    item = TrajectoryItem("s", "a", -3)
    assert isinstance(TrajectoryDataset().strategy, DefaultStrategy)
    assert TrajectoryDataset([item]).items == [item]


class Even(TrajectoryStrategy):
    def should_capture(self, item: TrajectoryItem) -> bool:
        return item.reward % 2 == 0

    def process(self, item: TrajectoryItem) -> TrajectoryItem:
        return TrajectoryItem(item.state.upper(), item.action, item.reward / 2)


def test_a_strategy_decides_what_enters_and_how(tmp_path: Path) -> None:
    TrajectoryDataset(TrajectoryItem(f"s{i}", "a", i) for i in range(6)).export_json(tmp_path / "all.json")
    dataset = TrajectoryDataset(strategy=Even())
    assert dataset.import_json(tmp_path / "all.json") == 3
    assert [(item.state, item.reward) for item in dataset.items] == [("S0", 0.0), ("S2", 1.0), ("S4", 2.0)]
    assert dataset.capture(TrajectoryItem("x", "a", 3)) is False


def test_a_strategy_that_makes_something_else_is_told() -> None:
    class Wrong(DefaultStrategy):
        def process(self, item: TrajectoryItem) -> Any:
            return None

    with pytest.raises(TrajectoryError, match=r"Wrong\.process returned a NoneType"):
        TrajectoryDataset(strategy=Wrong()).capture(TrajectoryItem("s", "a"))


def test_the_list_of_items_is_the_callers_own() -> None:
    dataset = TrajectoryDataset([TrajectoryItem("s", "a")])
    dataset.items.clear()
    assert len(dataset) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": 1, "action": "a"},
        {"state": "s", "action": None},
        {"state": "s", "action": "a", "reward": "high"},
        {"state": "s", "action": "a", "reward": float("nan")},
        {"state": "s", "action": "a", "reward": float("inf")},
        {"state": "s", "action": "a", "metadata": [1]},
        {"state": "\ud800", "action": "a"},
    ],
)
def test_an_item_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(TrajectoryError):
        TrajectoryItem(**wrong)


BROKEN = {
    "json": ['[{"state": "s", "action": "a"}, {"state": "t"}]', '{"state": "s"}', '[{"state": "s", "action"', ""],
    "csv": ["state,action,reward\ns,a,high\n", "state,reward\ns,1\n", 'state,action\n"s,a\n'],
    "parquet": ["PAR1 not really"],
}


@pytest.mark.parametrize(("form", "text"), [(form, text) for form, texts in BROKEN.items() for text in texts])
def test_a_broken_file_is_not_taken_in_half(form: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"items.{form}"
    path.write_text(text, encoding="utf-8")
    dataset = TrajectoryDataset([TrajectoryItem("before", "a")])
    with pytest.raises(TrajectoryError, match=str(path)):
        getattr(dataset, f"import_{form}")(path)
    assert [item.state for item in dataset.items] == ["before"]


@pytest.mark.parametrize("form", FORMS)
def test_what_cannot_be_written_replaces_nothing(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"items.{form}"
    path.write_text("precious", encoding="utf-8")
    with pytest.raises(TrajectoryError, match="JSON cannot"):
        getattr(TrajectoryDataset([TrajectoryItem("s", "a", 0, {"x": {1, 2}})]), f"export_{form}")(path)
    assert path.read_text(encoding="utf-8") == "precious"
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


def test_json_is_plain_for_other_readers(tmp_path: Path) -> None:
    TrajectoryDataset([TrajectoryItem("s", "a", 1, {"k": [1]})]).export_json(tmp_path / "x.json")
    (row,) = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert row == {"state": "s", "action": "a", "reward": 1, "metadata": {"k": [1]}}
