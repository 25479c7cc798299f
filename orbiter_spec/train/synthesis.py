"""Data synthesis: generators of examples, and a pipeline that runs them and keeps what is good and new.

Generators are asynchronous because the useful ones wait for a model. `TemplateSynthesiser` and `TeacherSynthesiser` are
the pipeline steps `template` and `synthesize` for data in memory.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count as counting
from typing import Any

from orbiter_spec.data.chat_client import ChatEndpoint
from orbiter_spec.data.synthesis import SynthesisError, Teacher, Teaching, taught
from orbiter_spec.data.template import PromptError
from orbiter_spec.data.templates import expand
from orbiter_spec.train.examples import deduplicate, fields_of, filter_by_score
from orbiter_spec.train.trajectories import TrajectoryItem

AnyExample = Mapping[str, Any] | TrajectoryItem


@dataclass(frozen=True, slots=True)
class SynthesisConfig:
    """What a pipeline aims at.

    `target_size` examples are asked for; of these, the ones scored below `min_score` (None: no limit, and no score is
    needed) and near-duplicates from `dedup_threshold` on (None: all stay) are left out. Raises ValueError.
    """

    target_size: int = 100
    min_score: float | None = None
    dedup_threshold: float | None = None

    def __post_init__(self) -> None:
        if self.target_size < 1:
            raise ValueError(f"target_size must be at least 1, and is {self.target_size}")
        if self.dedup_threshold is not None and not 0 < self.dedup_threshold <= 1:
            raise ValueError(f"dedup_threshold must be above 0 and at most 1, and is {self.dedup_threshold}")


@dataclass(frozen=True, slots=True)
class SynthesisResult:
    """The examples that stay, how many were generated, and how many of these were left out."""

    items: list[Any]
    generated_count: int
    filtered_count: int


class DataSynthesiser(ABC):
    """Generates examples."""

    @abstractmethod
    async def generate(self, count: int, source: Sequence[AnyExample] = ()) -> list[Any]:
        """About `count` examples; `source` is what there is already, to start from or to leave aside."""


class SynthesisPipeline:
    """Runs generators one after the other; each sees the seed data and what those before it made."""

    def __init__(self, config: SynthesisConfig | None = None) -> None:
        self.config = config or SynthesisConfig()
        self._steps: list[DataSynthesiser] = []

    def add_step(self, synthesiser: DataSynthesiser) -> SynthesisPipeline:
        """Add a generator; the pipeline itself, so that calls can be chained."""
        self._steps.append(synthesiser)
        return self

    async def run(self, seed_data: Sequence[AnyExample] = ()) -> SynthesisResult:
        """Generate up to the target size, equal shares from each step, and filter.

        Raises:
            SynthesisError: when there is no step, or one cannot go on.
            ExampleError: for an example without a score where one is asked for.
        """
        if not self._steps:
            raise SynthesisError("the pipeline has no steps", help="add one by add_step")
        made: list[Any] = []
        for position, step in enumerate(self._steps):
            share = math.ceil((self.config.target_size - len(made)) / (len(self._steps) - position))
            made += (await _generated(step, share, [*seed_data, *made]))[:share] if share else []
        kept = made if self.config.min_score is None else filter_by_score(made, self.config.min_score)
        kept = kept if self.config.dedup_threshold is None else deduplicate(kept, self.config.dedup_threshold)
        return SynthesisResult(kept, len(made), len(made) - len(kept))


async def _generated(step: DataSynthesiser, count: int, source: Sequence[AnyExample]) -> list[Any]:
    """What a step generates; generators of a user's may know nothing of a source."""
    takes_source = len(inspect.signature(step.generate).parameters) > 1
    return list(await (step.generate(count, source) if takes_source else step.generate(count)))


class TemplateSynthesiser(DataSynthesiser):
    """Examples from templates: `input` is the text, `metadata` the values that it was made of.

    A template is Jinja (`{{ concept }}`), or plain text with names in single braces (`{concept}`). Every combination of
    the values that a template names is drawn once, with `seed`, before any is drawn again.
    """

    def __init__(self, templates: Sequence[str], variables: Mapping[str, Sequence[Any]], *, seed: int = 0) -> None:
        self.templates = [_as_jinja(text) for text in templates]
        self.variables = variables
        self.seed = seed

    async def generate(self, count: int, source: Sequence[AnyExample] = ()) -> list[dict[str, Any]]:
        """`count` examples. Raises SynthesisError for templates that cannot be used, or do too much work."""
        made: list[dict[str, Any]] = []
        try:
            for lap in counting():
                made += map(_example, expand(self.templates, self.variables, count - len(made), self.seed + lap))
                if len(made) >= count or not made:
                    return made
        except PromptError as error:
            raise SynthesisError(str(error), help=error.help) from None
        raise AssertionError("counting does not end")


def _as_jinja(text: str) -> str:
    return text if re.search(r"\{\{|\{%", text) else re.sub(r"\{([A-Za-z_]\w*)\}", r"{{ \1 }}", text)


def _example(fields: dict[str, Any]) -> dict[str, Any]:
    return {"input": fields.pop("question"), "metadata": fields}


class TeacherSynthesiser(DataSynthesiser):
    """Examples from a model behind an OpenAI-compatible address, which is asked about each example of the source.

    `endpoint` says where and how often, `teaching` what; its templates see the example's fields. The answers of one
    example follow each other. Without a source the model is asked the same question again and again.
    """

    def __init__(self, endpoint: ChatEndpoint, teaching: Teaching) -> None:
        self.endpoint, self.teaching = endpoint, teaching

    async def generate(self, count: int, source: Sequence[AnyExample] = ()) -> list[dict[str, Any]]:
        """Up to `count` examples. Raises SynthesisError, and ChatError when there is no key."""
        rows = [fields_of(example) for example in source][:count] or [{}]
        return (await asyncio.to_thread(self._ask, rows, math.ceil(count / len(rows))))[:count]

    def _ask(self, rows: Sequence[Mapping[str, Any]], samples: int) -> list[dict[str, Any]]:
        from dataclasses import replace

        teacher = Teacher(self.endpoint, replace(self.teaching, samples=samples))
        return [row for made in taught(teacher, rows) for row in made.rows]
