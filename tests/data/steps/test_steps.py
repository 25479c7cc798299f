"""Each step on small rows: what it keeps, what it says, and what it refuses."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.data.pipeline import Context, StepError, make_step
from orbiter_spec.data.request import Columns, StepRequest
from orbiter_spec.data.steps.deduplicate import Deduplicate, Keys
from tests.data.test_pipeline import rows, through


def numbers(*steps: StepRequest, items: list[dict[str, Any]], **context: Any) -> list[int]:
    return [row.number for row in through(rows(*items), *steps, **context)[0]]


def step(name: str, **settings: Any) -> StepRequest:
    return StepRequest(name, settings)


def test_equal_rows_are_dropped_whatever_else_they_hold() -> None:
    items = [{"question": "a", "level": 1}, {"question": "b"}, {"question": "a", "level": 2}]
    assert numbers(step("deduplicate"), items=items) == [1, 2]
    assert numbers(step("deduplicate", columns=["level", "question"]), items=items) == [1, 2, 3]
    with pytest.raises(StepError, match="no colour"):
        numbers(step("deduplicate", columns=["colour"]), items=items)


def test_equal_chats_are_dropped() -> None:
    chat = [{"role": "user", "content": "a"}]
    items = [{"messages": chat}, {"messages": [*chat, *chat]}, {"messages": list(chat)}]
    assert numbers(step("deduplicate"), items=items, columns=Columns(chat="messages")) == [1, 2]


def test_similar_rows_are_dropped_and_sums_are_not_similar() -> None:
    text = " ".join(f"word{index}" for index in range(100))
    items = [
        {"question": text},
        {"question": text.upper()},
        {"question": text + " more"},
        {"question": " ".join(reversed(text.split()))},
        {"question": "What is 1 + 1?"},
        {"question": "What is 1 - 1?"},
        {"question": "一" * 40 + "二三四五六七八九十"},
        {"question": "一" * 40 + "二三四五六七八九十百"},
    ]
    kept, reports = through(rows(*items), step("deduplicate", threshold=0.85))
    assert [row.number for row in kept] == [1, 4, 5, 6, 7]
    assert reports[0]["dropped"] == {"similar to an earlier row, by 0.85": 3}


def test_near_duplicates_are_found_as_often_as_promised(tmp_path: Path) -> None:
    draw = random.Random(1)
    items, planted = [], set()
    for index in range(2000):
        words = [f"w{draw.randrange(3000)}" for _ in range(80)]
        items.append({"question": " ".join(words)})
        if index % 4 == 0:
            words[draw.randrange(80)] = "changed"
            planted.add(len(items) + 1)
            items.append({"question": " ".join(words)})
    kept = set(numbers(step("deduplicate", threshold=0.85), items=items, scratch=tmp_path))
    dropped = set(range(1, len(items) + 1)) - kept
    assert len(dropped & planted) / len(planted) > 0.97
    assert len(dropped - planted) == 0
    assert list(tmp_path.iterdir()) == []


def test_keys_are_the_same_set_in_memory_and_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orbiter_spec.data.steps.deduplicate.HELD_KEYS", 10)
    draw = random.Random(0)
    seen: set[bytes] = set()
    with Keys(tmp_path) as keys:
        for _ in range(500):
            key = bytes([draw.randrange(100)]) * 16
            assert keys.add(key) == (key not in seen)
            seen.add(key)
    assert list(tmp_path.iterdir()) == []


def test_a_light_look_needs_no_library_for_near_duplicates() -> None:
    made = make_step(step("deduplicate", threshold=0.5), Context(light=True))
    assert isinstance(made, Deduplicate) and made.threshold == 1


def test_copies_follow_their_rows_and_do_not_depend_on_the_others() -> None:
    items = [{"question": f"How many legs has spider number {index}?", "answer": str(index)} for index in range(20)]
    kept, reports = through(rows(*items), step("augment", noise=0.2, swap=True), seed=5)
    assert [(row.number, row.copy) for row in kept[:4]] == [(1, 0), (1, 1), (1, 2), (2, 0)]
    assert kept[2].fields == {"question": "0", "answer": items[0]["question"]}
    assert (reports[0]["rows_in"], reports[0]["rows_out"], reports[0]["added"]) == (20, 60, 40)
    alone, _ = through(rows(*items)[7:8], step("augment", noise=0.2), seed=5)
    assert alone[1].fields == kept[7 * 3 + 1].fields != items[7]
    assert through(rows(*items), step("augment", noise=0.2), seed=6)[0][1].fields != kept[1].fields
    replaced, _ = through(rows(*items), step("augment", swap=True, keep=False))
    assert [row.fields["answer"] for row in replaced] == [item["question"] for item in items]


def test_noise_reaches_a_nested_column_and_refuses_a_chat() -> None:
    nested, _ = through(rows({"a": {"b": "x" * 50}}), step("augment", noise=0.5), columns=Columns(input="a.b"))
    assert nested[0].fields == {"a": {"b": "x" * 50}} != nested[1].fields
    with pytest.raises(StepError, match="question is not text"):
        through(rows({"question": [1]}), step("augment", noise=0.5))


def test_templates_make_every_combination_once_or_as_many_as_asked() -> None:
    settings = {
        "texts": ["{{ a }} plus {{ b }}?", "Twice {{ a }}?"],
        "variables": {"a": [1, 2, 3], "b": [10, 20]},
        "expected": "{{ a }}",
    }
    kept, reports = through(rows({"question": "own", "answer": "x"}), step("template", **settings), seed=1)
    made = [row.fields["question"] for row in kept[1:]]
    sums = {f"{a} plus {b}?" for a in (1, 2, 3) for b in (10, 20)}
    assert sorted(made) == sorted(sums | {f"Twice {a}?" for a in (1, 2, 3)})
    assert all(row.fields["answer"] == str(row.fields["a"]) for row in kept[1:])
    assert reports[0]["added"] == 9
    few, _ = through([], step("template", **settings, rows=4), seed=1)
    assert [row.fields["question"] for row in few] == made[:4]


def test_templates_over_long_lists_cost_no_more_than_their_rows() -> None:
    many = {name: list(range(1000)) for name in "abcd"}
    kept, _ = through([], step("template", texts=["{{ a }}{{ b }}{{ c }}{{ d }}"], variables=many, rows=50))
    assert len({row.fields["question"] for row in kept}) == 50


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["{{ c }}"], "uses c, which has no values"),
        (["{{ a"], "template syntax"),
        (["{% for i in range(10 ** 9) %}{{ a }}{% endfor %}"], "template"),
        (["{% for i in range(1000) %}{% for j in range(1000) %}{{ a }}{% endfor %}{% endfor %}"], "template"),
        (["{{ a.__class__ }}"], "template"),
    ],
)
def test_templates_that_cannot_be_used(texts: list[str], message: str) -> None:
    with pytest.raises(StepError, match=message):
        through([], step("template", texts=texts, variables={"a": ["x"], "b": []}))


FUNCTIONS = """\
import helper

def change(row, times=1):
    if row["n"] == 0:
        return None
    if row["n"] == 1:
        return [{**row, "n": 10}, {**row, "n": 11}]
    return {**row, "n": row["n"] * times + helper.MORE}

def raises(row):
    raise KeyError("colour")

def returns_text(row):
    return "text"

async def later(row):
    return row
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "steps.py").write_text(FUNCTIONS, encoding="utf-8")
    (tmp_path / "helper.py").write_text("MORE = 100\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("raise RuntimeError('no')\ndef change(row): ...\n", encoding="utf-8")
    return tmp_path


def test_a_function_changes_drops_and_multiplies_rows(code: Path) -> None:
    items = [{"n": index} for index in range(4)]
    kept, reports = through(rows(*items), step("function", call="steps.py:change", args={"times": 3}), folder=code)
    assert [row.fields["n"] for row in kept] == [10, 11, 106, 109]
    assert [(row.number, row.copy) for row in kept] == [(2, 0), (2, 1), (3, 0), (4, 0)]
    assert reports[0]["dropped"] == {"change returned None": 1}
    assert reports[0]["added"] == 1


@pytest.mark.parametrize(
    ("call", "args", "id", "message"),
    [
        ("steps.py:chnge", {}, "ORB402", "defines no 'chnge'"),
        ("none.py:change", {}, "ORB401", "does not exist"),
        ("steps.py:later", {}, "ORB440", "async"),
        ("steps.py:change", {"tmes": 3}, "ORB440", "takes no 'tmes'"),
        ("broken.py:change", {}, "ORB440", "cannot be imported"),
        ("steps.py:raises", {}, "ORB441", "raises fails on rows.jsonl row 1"),
        ("steps.py:returns_text", {}, "ORB441", "returned a str"),
    ],
)
def test_functions_that_cannot_be_used(code: Path, call: str, args: dict[str, Any], id: str, message: str) -> None:
    with pytest.raises(StepError, match=message) as caught:
        through(rows({"n": 1}), step("function", call=call, args=args), folder=code)
    assert caught.value.id == id


def test_a_sample_keeps_the_order_and_the_number() -> None:
    items = [{"question": str(index)} for index in range(2500)]
    kept = numbers(step("sample", rows=100), items=items, seed=1)
    assert len(kept) == 100
    assert kept == sorted(kept)
    assert (
        numbers(step("sample", fraction=0.1), items=items, seed=1)[:50]
        == numbers(step("sample", rows=250, seed=1), items=items)[:50]
    )
    assert numbers(step("sample", rows=9999), items=items) == list(range(1, 2501))


def test_a_split_moves_rows_aside_and_keeps_groups_together(tmp_path: Path) -> None:
    items = [{"question": str(index), "text": index % 10} for index in range(100)]
    kept = numbers(step("split", fraction=0.2), items=items, scratch=tmp_path)
    assert len(kept) == 80
    grouped, reports = through(rows(*items), step("split", fraction=0.2, by="text"), scratch=tmp_path)
    assert len({row.fields["text"] for row in grouped}) == 8
    assert len(grouped) == 80
    assert reports[0]["dropped"] == {"set aside for validation": 20}
    with pytest.raises(StepError, match="row has no topic"):
        through(rows(*items), step("split", fraction=0.2, by="topic"))
