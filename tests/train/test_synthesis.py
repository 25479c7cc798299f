"""Synthesis in memory: the same as the pipeline's steps, shares between generators, and what cannot be done."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from orbiter_spec.train import (
    ChatEndpoint,
    DataSynthesiser,
    ExampleError,
    SynthesisConfig,
    SynthesisError,
    SynthesisPipeline,
    TeacherSynthesiser,
    Teaching,
    TemplateSynthesiser,
    TrajectoryItem,
    augment_add_noise,
    augment_swap_io,
    deduplicate,
    filter_by_score,
    split_dataset,
)
from tests.data.teacher_server import teacher_server


def generate(synthesiser: DataSynthesiser, count: int, source: Any = ()) -> list[Any]:
    return asyncio.run(synthesiser.generate(count, source))


def test_the_same_seed_gives_the_same_templates() -> None:
    def texts(seed: int) -> list[str]:
        made = TemplateSynthesiser(["{{ a }}{% if b %}!{% endif %}"], {"a": range(50), "b": [0, 1]}, seed=seed)
        return [item["input"] for item in generate(made, 30)]

    assert texts(1) == texts(1) != texts(2)


@pytest.mark.parametrize("template", ["{{ a.__class__ }}", "{% for i in range(9**9) %}{% endfor %}", "{b}", "{% if %}"])
def test_a_template_that_cannot_be_used_is_said_soon(template: str) -> None:
    began = time.monotonic()
    with pytest.raises(SynthesisError):
        generate(TemplateSynthesiser([template], {"a": ["x"]}), 5)
    assert time.monotonic() - began < 5


def test_more_combinations_than_memory_cost_no_more_than_what_is_asked() -> None:
    variables = {name: range(10_000) for name in "abcd"}
    began = time.monotonic()
    assert len(generate(TemplateSynthesiser(["{a} {b} {c} {d}"], variables), 200)) == 200
    assert time.monotonic() - began < 5


def test_a_teacher_shares_its_answers_over_the_source() -> None:
    with teacher_server(lambda exchange: exchange.say(exchange.question.upper())) as server:
        teacher = TeacherSynthesiser(ChatEndpoint(server.url, "m"), Teaching("re {{ input }}", write="output"))
        made = generate(teacher, 5, [{"input": "a"}, {"input": "b"}])
        assert made == [{"input": x, "output": f"RE {x.upper()}"} for x in "aaabb"]
        states = TeacherSynthesiser(ChatEndpoint(server.url, "m"), Teaching("re {{ state }}", write="output"))
        assert generate(states, 1, [TrajectoryItem("s", "a")])[0]["output"] == "RE S"
        alone = TeacherSynthesiser(ChatEndpoint(server.url, "m"), Teaching("hello"))
        assert generate(alone, 2) == [{"answer": "HELLO"}] * 2


class Fixed(DataSynthesiser):
    def __init__(self, *items: Any) -> None:
        self.items, self.asked = items, list[tuple[int, int]]()

    async def generate(self, count: int, source: Any = ()) -> list[Any]:
        self.asked.append((count, len(source)))
        return list(self.items)


def test_steps_share_the_target_and_see_what_came_before() -> None:
    first, second = Fixed(*({"input": f"a{i}"} for i in range(9))), Fixed({"input": "b"})
    pipeline = SynthesisPipeline(SynthesisConfig(target_size=7)).add_step(first).add_step(second)
    result = asyncio.run(pipeline.run([{"input": "seed"}]))
    assert (first.asked, second.asked) == ([(4, 1)], [(3, 5)])
    assert [item["input"] for item in result.items] == ["a0", "a1", "a2", "a3", "b"]
    assert (result.generated_count, result.filtered_count) == (5, 0)


def test_a_generator_that_knows_no_source() -> None:
    class Plain(DataSynthesiser):
        async def generate(self, count: int) -> list[Any]:  # type: ignore[override]
            return [{"input": "x"}] * count

    result = asyncio.run(SynthesisPipeline(SynthesisConfig(3, dedup_threshold=0.9)).add_step(Plain()).run())
    assert (result.generated_count, result.filtered_count, len(result.items)) == (3, 2, 1)


def test_what_cannot_be_filtered_is_said() -> None:
    with pytest.raises(SynthesisError, match="no steps"):
        asyncio.run(SynthesisPipeline().run())
    pipeline = SynthesisPipeline(SynthesisConfig(2, min_score=0.5)).add_step(Fixed({"input": "x"}))
    with pytest.raises(ExampleError, match="score"):
        asyncio.run(pipeline.run())


@pytest.mark.parametrize("wrong", [{"target_size": 0}, {"dedup_threshold": 0.0}, {"dedup_threshold": 1.5}])
def test_settings_have_bounds(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        SynthesisConfig(**wrong)


def test_examples_stay_as_they_are() -> None:
    data = [{"question": "q", "answer": "a", "own": {"deep": 1}}]
    augment_add_noise(data, 1.0)
    augment_swap_io(data)
    assert data == [{"question": "q", "answer": "a", "own": {"deep": 1}}]
    assert filter_by_score([], 1) == deduplicate([], 0.5) == []


def test_similar_examples_count_as_one_when_the_answers_are_too() -> None:
    long = "the quick brown fox jumps over the lazy dog and runs away from it " * 4
    data = [{"input": long, "output": "x"}, {"input": long + "now", "output": "x"}, {"input": "other", "output": "x"}]
    assert deduplicate(data, 0.8) == [data[0], data[2]]
    assert deduplicate(data) == data
    assert deduplicate([TrajectoryItem("s", "a"), TrajectoryItem("s", "b"), TrajectoryItem("s", "a", 1)]) == [
        TrajectoryItem("s", "a"),
        TrajectoryItem("s", "b"),
    ]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: augment_swap_io([{"input": "x"}]), "none of output"),
        (lambda: augment_add_noise([{"x": 1}]), "none of input"),
        (lambda: augment_add_noise([{"input": "x"}], 2), "from 0 to 1"),
        (lambda: deduplicate([{"input": "x"}], 0), "threshold"),
        (lambda: deduplicate([{"x": 1}], 0.5), "deduplicate"),
        (lambda: split_dataset([{"input": "x"}], [0.5, 0.1]), "add up"),
        (lambda: filter_by_score([{"score": "high"}], 1), "no number"),
    ],
)
def test_examples_that_do_not_fit_are_said(call: Any, said: str) -> None:
    with pytest.raises(ExampleError, match=said):
        call()


def test_a_split_is_drawn_with_its_seed() -> None:
    data = [{"input": i} for i in range(100)]
    assert split_dataset(data, seed=1) == split_dataset(data, seed=1) != split_dataset(data, seed=2)
    assert [len(part) for part in split_dataset(data, [0.5, 0.25, 0.25])] == [50, 25, 25]
    assert [len(part) for part in split_dataset(data[:1], [0.5, 0.5])] in ([0, 1], [1, 0])
