"""Whatever is thrown at `read`: a document or diagnostics that can be shown, never an exception."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbiter_spec.diagnostics import Report, text
from orbiter_spec.diagnostics import json as as_json
from orbiter_spec.source import Document, Route, read

VALID = """\
name: x  # orbiter: ignore[ORB203] why
agent: &a
  model: {path: Qwen/Qwen2.5-7B, lora: {rank: 64}}
  prompt: "{{ question }} ${env:HOME,x}"
  text: |
    two
    lines
rewards:
  - {function: r.py:f, weight: .5}
  - <<: *a
rate: 1e-6
"""
SIGNS = "{}[]:,-?&*!|>'\"%@`#\t\n\r \\$.~<="
WORDS = ("\n  ", "\n- ", "a: ", "<<: ", "&a ", "*a ", "!!str ", "---\n", "...\n", "%YAML 1.1\n", "${env:", "{{ x }}")
ODD = ("\ufeff", "\x85", "\u2028", "\\x", "\\U00110000", "\u00a0", "1e999", ".nan", "# orbiter: ignore[", "extends: ")
PIECES = st.sampled_from([*SIGNS, *WORDS, *ODD])
YAMLISH = st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=40).map("".join)


def routes(value: object, route: Route = ()) -> list[Route]:
    if isinstance(value, dict):
        return [route, *(found for key, item in value.items() for found in routes(item, (*route, key)))]
    if isinstance(value, list):
        return [route, *(found for index, item in enumerate(value) for found in routes(item, (*route, index)))]
    return [route]


def check(found_document: Document | None, found: list) -> None:
    assert found_document is not None or found
    text.render(Report.of(found)).encode("utf-8")
    json.loads(as_json.render(Report.of(found)))
    for problem in found:
        assert problem.message
        assert "\n" not in problem.place.text
        assert 1 <= problem.place.column <= len(problem.place.text) + 1
    if found_document is not None:
        json.dumps(found_document.data, allow_nan=False).encode("utf-8")
        for route in routes(found_document.data):
            assert found_document.has(route)
            assert found_document.place(route).line >= 1
            assert found_document.place(route, key=True).width >= 1


@settings(max_examples=400, deadline=None)
@given(YAMLISH)
def test_any_text(content: str) -> None:
    check(*read(None, text=content, environ={}))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_specs(data: st.DataObject) -> None:
    content = VALID
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 5)))
        content = content[:start] + data.draw(st.one_of(PIECES, st.text(max_size=2))) + content[end:]
    check(*read(None, text=content, environ={}))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any") / "spec.yaml"


@settings(max_examples=200, deadline=None)
@given(
    content=st.one_of(
        st.binary(), YAMLISH.map(lambda text: text.encode("utf-8", "surrogatepass")), st.text().map(str.encode)
    )
)
def test_any_bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    check(*read(path, environ={}))


@settings(max_examples=200, deadline=None)
@given(st.lists(YAMLISH, max_size=3), st.dictionaries(st.text(), st.text()))
def test_any_override(arguments: list[str], environ: dict[str, str]) -> None:
    check(
        *read(
            None, text=VALID, sets=[*arguments, *(f"agent.model={argument}" for argument in arguments)], environ=environ
        )
    )
