from __future__ import annotations

import pytest

from tests.source.helpers import data, document, marked, mistake, mistakes, spot

SPEC = "a: {b: 1, c: [1, {d: 2}]}\ne: x\n"


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("a.b=2", {"a": {"b": 2, "c": [1, {"d": 2}]}, "e": "x"}),
        ("a.c[1].d=1e-6", {"a": {"b": 1, "c": [1, {"d": 1e-6}]}, "e": "x"}),
        ("a.c.0=on", {"a": {"b": 1, "c": ["on", {"d": 2}]}, "e": "x"}),
        ("a.c[2]={x: 1}", {"a": {"b": 1, "c": [1, {"d": 2}, {"x": 1}]}, "e": "x"}),
        ("a=null", {"a": None, "e": "x"}),
        ("a=[1, '2']", {"a": [1, "2"], "e": "x"}),
        ("e=a=b", {"a": {"b": 1, "c": [1, {"d": 2}]}, "e": "a=b"}),
        ("new.deep.er=true", {"a": {"b": 1, "c": [1, {"d": 2}]}, "e": "x", "new": {"deep": {"er": True}}}),
        ('e={"k": 1}', {"a": {"b": 1, "c": [1, {"d": 2}]}, "e": {"k": 1}}),
        ('f["x.y"]=1', {"a": {"b": 1, "c": [1, {"d": 2}]}, "e": "x", "f": {"x.y": 1}}),
    ],
)
def test_value_is_typed_like_yaml(argument: str, expected: object) -> None:
    assert data(SPEC, sets=[argument]) == expected


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("a=", {"e": "x"}),
        ("a.b=", {"a": {"c": [1, {"d": 2}]}, "e": "x"}),
        ("a.c[0]=", {"a": {"b": 1, "c": [{"d": 2}]}, "e": "x"}),
        ("a.c[1].d=", {"a": {"b": 1, "c": [1, {}]}, "e": "x"}),
        ("f.g=", {"a": {"b": 1, "c": [1, {"d": 2}]}, "e": "x"}),
    ],
)
def test_an_empty_value_takes_back_what_is_written(argument: str, expected: object) -> None:
    assert data(SPEC, sets=[argument]) == expected


def test_later_arguments_win_and_build_on_earlier_ones() -> None:
    assert data("a: 1", sets=["a=2", "a=3", "b.c=1", "b.d=2"]) == {"a": 3, "b": {"c": 1, "d": 2}}


def test_place_is_in_the_argument() -> None:
    found = document(SPEC, sets=["a.b = 1".replace(" ", ""), "a.c[1].d=[x, yy]"])
    place = found.place(("a", "c", 1, "d", 1))
    assert (place.file, place.line, place.column, marked(place)) == ("--set", 1, 14, "yy")
    assert marked(found.place(("a", "b"), key=True)) == "b"
    assert found.place(("a", "c", 0)).file == "<stdin>"
    assert str(found.base(("a", "b"))) == "."


def test_shared_nodes_are_not_changed_together() -> None:
    assert data("a: &a {b: {c: 1}}\nd: *a", sets=["d.b.c=2"]) == {"a": {"b": {"c": 1}}, "d": {"b": {"c": 2}}}


@pytest.mark.parametrize(
    ("argument", "column"),
    [("", 1), ("a", 2), ("=1", 1), ("a..b=1", 2), ("a b=1", 2), ("[0]=1", 1), ("extends=x.yaml", 1), ("a.b.c=1", 5)],
)
def test_bad_argument_is_shown(argument: str, column: int) -> None:
    found = mistake(SPEC, sets=[argument])
    assert found.id == "ORB012"
    assert spot(found.place) == (1, column)
    assert found.place is not None
    assert found.place.file == "--set"


@pytest.mark.parametrize("argument", ["a.c.x=1", "a.c[3]=1", "e[0]=1", "e.f=1"])
def test_path_that_does_not_fit_shows_what_is_there(argument: str) -> None:
    found = mistake(SPEC, sets=[argument])
    assert found.id == "ORB012"
    assert found.related[0].place.file == "<stdin>"


def test_bad_value_is_shown_in_the_argument() -> None:
    found = mistake(SPEC, sets=["a.b={{ x }} y"])
    assert found.id == "ORB005"
    assert (spot(found.place), marked(found.place)) == ((1, 5), "{{ x }}")
    assert mistake(SPEC, sets=["a.b=.nan"]).id == "ORB024"
    assert mistake(SPEC, sets=["a.b=!x 1"]).id == "ORB008"
    assert mistake(SPEC, sets=["a.b={c: 1, c: 2}"]).id == "ORB006"
    assert mistake(SPEC, sets=["a.b=\x00"]).id == "ORB003"


def test_all_arguments_are_reported_even_beside_a_broken_file() -> None:
    found = mistakes("a: [", sets=["x", "y"])
    assert sorted(problem.id for problem in found) == ["ORB005", "ORB012", "ORB012"]


def test_path_goes_through_a_shorthand() -> None:
    table = {("algorithm",): "name", ("agent", "model"): "path"}
    text = "algorithm: grpo\nagent: {model: tiny}"
    found = document(text, sets=["algorithm.epochs=3", "agent.model.lora.rank=8"], shorthand=table.get)
    assert found.data["algorithm"] == {"name": "grpo", "epochs": 3}
    assert found.data["agent"]["model"] == {"path": "tiny", "lora": {"rank": 8}}
    assert marked(found.place(("algorithm", "name"))) == "grpo"


@pytest.mark.parametrize("text", ["rewards: [{f: a}]", "rewards: {parts: [{f: a}]}", "rewards: [\n  {f: a}\n]"])
def test_path_goes_through_a_list_that_stands_for_a_mapping(text: str) -> None:
    table = {("rewards",): "parts"}
    found = document(text, sets=["rewards.parts[1]={f: b}", "rewards.parts[0].g=1"], shorthand=table.get)
    assert found.data["rewards"] == {"parts": [{"f": "a", "g": 1}, {"f": "b"}]}


def test_one_item_that_stands_for_a_list_is_set_behind() -> None:
    found = document("rewards: a", sets=["rewards.parts[1]=b"], shorthand={("rewards",): "parts"}.get)
    assert found.data["rewards"] == {"parts": ["a", "b"]}


@pytest.mark.parametrize(
    ("text", "argument", "expected"),
    [
        ("train: [a, b]\n", "train[1].limit=3", {"train": ["a", {"path": "b", "limit": 3}]}),
        ("rewards: [f, g]\n", "rewards[0].weight=2", {"rewards": [{"function": "f", "weight": 2}, "g"]}),
        ("rewards: [f]\n", "rewards.parts[0].weight=2", {"rewards": {"parts": [{"function": "f", "weight": 2}]}}),
    ],
)
def test_path_goes_through_an_item_that_is_a_shorthand(text: str, argument: str, expected: object) -> None:
    table = {("train",): "path", ("rewards",): "parts", ("rewards", "parts"): "function"}
    assert document(text, sets=[argument], shorthand=table.get).data == expected


def test_argument_that_is_no_utf8() -> None:
    found = mistake("a: 1", sets=["a=\udcff"])
    assert (found.id, marked(found.place)) == ("ORB012", "a=?")
