"""Expressions: what they compute, and that nobody gets out of them or keeps them busy."""

from __future__ import annotations

import time
from typing import Any

import pytest

from orbiter_spec.data.expression import Expression, ExpressionError

ROW: dict[str, Any] = {
    "question": "How many legs has a spider?",
    "level": 3,
    "meta": {"answer": "8", "tags": ["math", "easy"], "deep": {"x": 1.5}},
    "empty": None,
    "score": 0.25,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("len(question) < 2000", True),
        ("words(question) == 6", True),
        ("level in [1, 2]", False),
        ("1 <= level <= 3 and not empty", True),
        ("meta.answer == '8' or level", True),
        ("meta.deep.x * 2 + level % 2", 4.0),
        ("meta['tags'][0]", "math"),
        ("'easy' in meta.tags", True),
        ("question.lower().startswith('how')", True),
        ("question[:3] + '!'", "How!"),
        ("'yes' if level > 2 else 'no'", "yes"),
        ("get('missing', 0) + 1", 1),
        ("get('meta.deep.x')", 1.5),
        ("has('meta.deep.y')", False),
        ("empty is None", True),
        ("float(meta.answer) ** 2", 64.0),
        ("max(level, 5) - min(1, 2) + abs(-1) + round(2.4)", 7),
    ],
)
def test_values(text: str, value: object) -> None:
    assert Expression(text).evaluate(ROW) == value


ATTACKS = [
    "question.__class__",
    "().__class__.__bases__[0].__subclasses__()",
    "question.format(question)",
    "'{0.__class__}'.format(level)",
    "question.join(['a'])",
    "meta.__init__.__globals__",
    "__import__('os').system('true')",
    "eval('1')",
    "open('/etc/passwd')",
    "getattr(question, 'upper')",
    "(lambda: 1)()",
    "[x for x in question]",
    "sum(x for x in question)",
    "f'{level:>1000000000}'",
    "'%1000000000d' % level",
    "'a' * 1000000000",
    "[0] * 1000000000",
    "9 ** 9 ** 9",
    "999999999 ** 64 ** 2",
    "2 << 1000000000",
    "question := 1",
    "level.real",
    "len.__self__",
    "str.__mro__",
    "question.encode().decode",
    "*question",
    "question\nimport os",
    "b'bytes' == question",
    "has",
    "meta.items()",
    "question.replace('a', question)",
    "1 if",
    "",
    "(" * 300 + "1" + ")" * 300,
    "+".join(["level"] * 600),
    "-" * 3000 + "1",
    "x" * 5000,
]


@pytest.mark.parametrize("text", ATTACKS, ids=lambda text: text[:40])
def test_attacks_are_refused_at_once(text: str) -> None:
    began = time.monotonic()
    with pytest.raises(ExpressionError):
        Expression(text).evaluate(ROW)
    assert time.monotonic() - began < 2


def test_numbers_and_texts_cannot_grow_without_end() -> None:
    huge = {"question": "a" * 50_000_000, "level": 10**70}
    began = time.monotonic()
    for text in ("+".join(["question"] * 200), "*".join(["level"] * 200)):
        with pytest.raises(ExpressionError):
            Expression(text).evaluate(huge)
    assert Expression("'b' in question").evaluate(huge) is False
    assert time.monotonic() - began < 10


def test_a_deeply_nested_row_is_an_error_and_not_a_crash() -> None:
    nested: Any = []
    for _ in range(50_000):
        nested = [nested]
    with pytest.raises(ExpressionError):
        Expression("x").evaluate({"x": nested})


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ("questoin == ''", "row has no questoin", "did you mean question?"),
        ("meta.answr", "row has no answr", "did you mean answer?"),
        ("lenn(question)", "there is no lenn()", "did you mean len?"),
        ("question < 3", "TypeError: '<' not supported between instances of 'str' and 'int'", ""),
        ("question + 1", "text is no number", "float(column) reads a number from text"),
        ("level.x", "there is no .x in a int", "a dot reaches into a mapping"),
    ],
)
def test_messages_say_what_to_write(text: str, message: str, help: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression(text).evaluate(ROW)
    assert str(caught.value) == message
    assert caught.value.help.startswith(help)
