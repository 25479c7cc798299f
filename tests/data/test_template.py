"""Prompt templates: what they can say, what they cannot reach, and that none runs for ever."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from orbiter_spec.data.template import PromptError, PromptTemplate

ROW = {"question": "What?", "n": 3, "parts": ["a", "b"], "d": {"k": 1}, "two words": "yes"}

GOOD = [
    ("{{ question }}", "What?"),
    ("{{ question|upper }} {{ n + 1 }} {{ n ** 3 }} {{ n|tojson }}", "WHAT? 4 27 3"),
    ("{{ question ~ '!' ~ n }}", "What?!3"),
    ("{% for x in parts %}{{ loop.index }}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}", "1a, 2b"),
    ("{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}", "k=1"),
    ("{{ row['two words'] }} {{ d.k }} {{ parts|join('-') }} {{ parts[0] }}", "yes 1 a-b a"),
    ("{% set ns = namespace(t=0) %}{% for x in parts %}{% set ns.t = ns.t + 1 %}{% endfor %}{{ ns.t }}", "2"),
    ("{{ hint|default('none') }}{% if hint is defined %}!{% endif %}", "none"),
    ("{{ question.replace('?', '!').strip() }}", "What!"),
    ("{{ parts|map('upper')|list }}", "['A', 'B']"),
    ("a { b } {# note #}%", "a { b } %"),
]


@pytest.mark.parametrize(("text", "rendered"), GOOD)
def test_templates_render(text: str, rendered: str) -> None:
    assert PromptTemplate(text).render(ROW) == rendered


OUT_OF_REACH = [
    "{{ ''.__class__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''['__class__'] }}",
    "{{ question.__init__.__globals__ }}",
    "{{ question|attr('__class__') }}",
    "{{ parts|map('attr', '__class__')|list }}",
    "{{ parts.append(1) }}",
    "{{ d.update({'x': 1}) }}",
    "{{ cycler.__init__.__globals__.os }}",
    "{{ self._TemplateReference__context }}",
    "{{ range.__func__ }}",
    "{{ '{0.__class__}'.format(question) }}",
    "{{ ('{0.__class__}'|string).format_map(d) }}",
    "{% include 'file' %}",
    "{% import 'os' as os %}",
    "{% extends 'x' %}",
    "{{ namespace.__init__ }}",
    "{% for x in parts %}{{ loop.__class__ }}{% endfor %}",
    "{% for x in parts %}{{ loop._iterator }}{% endfor %}",
]


@pytest.mark.parametrize("text", OUT_OF_REACH)
def test_python_objects_are_out_of_reach(text: str) -> None:
    with pytest.raises(PromptError):
        PromptTemplate(text).render(ROW)


GROW = "{% set ns = namespace(x='ab', y=3, z=['a']) %}{% for i in range(10000) %}{% set ns.NAME = EXPR %}{% endfor %}"
ENDLESS = [
    "{% for a in range(10 ** 12) %}{% endfor %}",
    "{% for a in range(90000) %}{% for b in range(90000) %}{% for c in range(90000) %}"
    "{% endfor %}{% endfor %}{% endfor %}",
    "{% for a in range(90000) if false %}{% for b in range(90000) if false %}{% endfor %}{% endfor %}"
    "{% for a in range(90000) %}{% for b in range(90000) if false %}{% endfor %}{% endfor %}",
    "{{ range(10 ** 18)|list }}",
    "{% for i in range(1000) %}{{ range(100000)|list|length }}{% endfor %}",
    "{{ 'a' * 10 ** 10 }}",
    "{{ [1] * 10 ** 10 }}",
    "{{ 7 ** (7 ** (7 ** 7)) }}",
    "{{ '%9999999999d' % 1 }}",
    "{{ '{:>9999999999}'.format(1) }}",
    "{{ 'x'.ljust(9999999999) }}",
    "{{ 'x'|center(9999999999) }}",
    "{{ lipsum(n=10 ** 9) }}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{% set x %}{% endset %}",
    "{% for x in parts recursive %}{{ loop(parts) }}{% endfor %}",
    GROW.replace("NAME", "x").replace("EXPR", "ns.x ~ ns.x"),
    GROW.replace("NAME", "x").replace("EXPR", "ns.x + ns.x"),
    GROW.replace("NAME", "x").replace("EXPR", "ns.x|replace('a', ns.x)"),
    GROW.replace("NAME", "x").replace("EXPR", "ns.x.join([ns.x] * 9)"),
    GROW.replace("NAME", "x").replace("EXPR", "ns.x.replace('a', ns.x)"),
    GROW.replace("NAME", "y").replace("EXPR", "ns.y * ns.y"),
    GROW.replace("NAME", "z").replace("EXPR", "[ns.z, ns.z]") + "{{ ns.z }}",
    GROW.replace("NAME", "z").replace("EXPR", "[ns.z, ns.z]") + "{{ ns.z|string }}",
    GROW.replace("NAME", "z").replace("EXPR", "ns.z + ns.z"),
    GROW.replace("NAME", "z").replace("EXPR", "(ns.z|list) + ns.z|list"),
]


@pytest.mark.parametrize("text", ENDLESS)
@pytest.mark.timeout(30)
def test_no_template_runs_for_ever_or_fills_the_memory(text: str) -> None:
    started = time.monotonic()
    tracemalloc.start()
    try:
        with pytest.raises(PromptError):
            PromptTemplate(text).render(ROW)
        assert tracemalloc.get_traced_memory()[1] < 200_000_000
    finally:
        tracemalloc.stop()
    assert time.monotonic() - started < 15


def test_an_unknown_name_comes_with_the_nearest_field() -> None:
    with pytest.raises(PromptError, match="names 'questoin', which the row does not have") as caught:
        PromptTemplate("{{ questoin }}").render(ROW)
    assert caught.value.help == "did you mean question?"


@pytest.mark.parametrize(
    "text", ["{{ question", "{% if %}", "{{ question|nofilter }}", "a\n{% endfor %}", "{{ " + "(" * 900]
)
def test_what_is_no_template_is_found_when_it_is_made(text: str) -> None:
    with pytest.raises(PromptError):
        PromptTemplate(text)


def test_a_syntax_error_knows_its_line() -> None:
    with pytest.raises(PromptError) as caught:
        PromptTemplate("one\ntwo\n{{ three")
    assert caught.value.line == 3


def test_what_an_expression_raises_is_one_line() -> None:
    with pytest.raises(PromptError, match="template failed: ZeroDivisionError"):
        PromptTemplate("{{ 1 / 0 }}").render(ROW)


def test_a_long_row_may_have_a_long_prompt() -> None:
    text = "x" * 5_000_000
    assert PromptTemplate("Read: {{ text|trim }}").render({"text": text}) == f"Read: {text}"
