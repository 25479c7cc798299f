"""Interpolations in small trees, each against OmegaConf."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from orbiter_spec.lower.interpolation import Resolver, literal
from orbiter_spec.lower.tree import ComposeError, same


def both(tree: Any) -> tuple[Any, Any]:
    return Resolver(tree).whole(), OmegaConf.to_container(OmegaConf.create(tree), resolve=True, throw_on_missing=False)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "${b}",
            "${c.d}",
            "x${b}y",
            "${b}${b}",
            "${ b }",
            "${l.0}",
            "${l[1]}",
            "${c[d]}",
            "${n}",
            "x${n}",
            "${t}",
            "x${t}",
        ),
        *(
            "${c}",
            "${l}",
            "${chain}",
            "x${k}",
            "${oc.select:b}",
            "${oc.select:no}",
            "${oc.select:no,5}",
            "${oc.select:no, 5 }",
        ),
        *("${oc.select:n,5}", "${oc.select:m,5}", "${oc.select:m}", "${oc.select:c.no.x,[]}", "${oc.select:no,{}}"),
        *("${oc.select:no,{a:1}}", "${oc.select:no,[1,2.5,null,x]}", "${oc.select:no,'q q'}", "${oc.select:no,a b}"),
        *("${oc.select:no,${b}}", "${oc.select:no,${oc.select:no,7}}", "${oc.select:no,x${b}}", "${oc.select:no,1e-6}"),
        *(
            "${oc.select:no,level0}",
            "${oc.select:no,true}",
            "${oc.select:b.x,1}",
            "${oc.select:chain}",
            "${oc.select:c,1}",
        ),
        *("\\${b}", "\\\\${b}", "\\\\\\${b}", "a\\b${b}", "${b}\\", "\\${b}${b}", "$${b}", "$b", "{b}", "a\\\\b"),
    ],
)
def test_values(value: str) -> None:
    tree = {
        "a": value,
        "b": 3,
        "c": {"d": 1.5, "e": "${.d}"},
        "l": [1, "${b}"],
        "k": [1, "a", None],
        "n": None,
        "t": True,
        "m": "???",
        "chain": "${c.e}",
    }
    ours, theirs = both(tree)
    assert same(ours, theirs)


def test_relative_places() -> None:
    ours, theirs = both(
        {"a": {"x": 1, "b": {"y": "${..x}", "z": "${.y}", "l": ["${..y}"]}, "s": "${oc.select:.x,2}"}, "w": "${a.b.l}"}
    )
    assert same(ours, theirs)


@pytest.mark.parametrize("value", ["${no}", "${c.no}", "${a}", "${oc.env:X}", "${oc.select:no", "${}"])
def test_refusals(value: str) -> None:
    with pytest.raises(ComposeError) as caught:
        Resolver({"a": value, "c": {}}).whole()
    assert caught.value.key == "a"


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="\\${}ab.: ", max_size=12))
def test_a_literal_stands_for_itself(text: str) -> None:
    ours, theirs = both({"a": literal(text)})
    assert ours == theirs == {"a": text}
