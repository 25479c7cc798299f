"""Evolution: a population is scored, the best are kept, and variants of them fill it up again, epoch after epoch.

What a candidate is, is the strategy's business: a prompt, a configuration, the path of a spec that is run to be scored.
The best candidate of all epochs is kept, also when selection loses it.
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class EvolutionError(RuntimeError):
    """A population that cannot go on."""


class EvolutionPhase(StrEnum):
    """What a pipeline is doing."""

    INIT = "init"
    EVALUATING = "evaluating"
    SELECTING = "selecting"
    MUTATING = "mutating"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class EvolutionConfig:
    """How evolution goes.

    `selection_ratio` is the share that survives, unless a strategy selects by itself. Free places go to variants of the
    survivors. `mutation_rate` is the chance, drawn with `seed`, that a survivor other than the first gives its place to
    a variant of itself. Raises ValueError.
    """

    epochs: int = 1
    population_size: int = 10
    selection_ratio: float = 0.5
    mutation_rate: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.population_size < 1:
            raise ValueError("epochs and population_size must be at least 1")
        if not 0 < self.selection_ratio <= 1 or not 0 <= self.mutation_rate <= 1:
            raise ValueError("selection_ratio must be in (0, 1] and mutation_rate in [0, 1]")


class EvolutionStrategy(ABC):
    """Scores, selects and varies candidates. `config` is the pipeline's."""

    config: EvolutionConfig = EvolutionConfig()

    @abstractmethod
    async def evaluate(self, candidate: Any) -> float:
        """The score of a candidate; higher is better."""

    async def select(self, population: list[Any], scores: list[float]) -> list[Any]:
        """The candidates that survive, the best first: as many as `selection_ratio` says, and at least one."""
        order = sorted(range(len(population)), key=lambda index: -scores[index])
        return [population[index] for index in order[: max(1, int(len(order) * self.config.selection_ratio))]]

    @abstractmethod
    async def mutate(self, candidate: Any) -> Any:
        """A variant of a candidate, which itself stays as it is."""


@dataclass(frozen=True, slots=True)
class EvolutionResult:
    """The best candidate ever seen and its score, the last population, and the best score of each epoch."""

    best_candidate: Any
    best_score: float
    epochs_completed: int
    population: list[Any]
    history: list[float]


class EvolutionPipeline:
    """Runs a strategy. `phase` says what it is doing, `on_phase` is told of every change."""

    def __init__(
        self,
        config: EvolutionConfig | None = None,
        *,
        strategy: EvolutionStrategy,
        on_phase: Callable[[EvolutionPhase, int], None] | None = None,
    ) -> None:
        self.config = config or EvolutionConfig()
        self.strategy = strategy
        strategy.config = self.config
        self.phase = EvolutionPhase.INIT
        self._on_phase = on_phase

    async def run(self, initial_population: Sequence[Any]) -> EvolutionResult:
        """Evolve `initial_population` for the configured epochs.

        Raises:
            EvolutionError: for an empty population, a score that is not a number, or a selection that keeps nothing.
        """
        population = list(initial_population)
        if not population:
            raise EvolutionError("there is no initial population")
        draw = random.Random(self.config.seed)
        best: tuple[float, Any] | None = None
        history: list[float] = []
        for epoch in range(1, self.config.epochs + 1):
            scores = await self._scores(population, epoch)
            top = max(range(len(scores)), key=scores.__getitem__)
            history.append(scores[top])
            best = (scores[top], population[top]) if best is None or scores[top] > best[0] else best
            if epoch < self.config.epochs:
                population = await self._next(population, scores, epoch, draw)
        self._enter(EvolutionPhase.COMPLETE, self.config.epochs)
        assert best is not None
        return EvolutionResult(best[1], best[0], self.config.epochs, population, history)

    async def _scores(self, population: list[Any], epoch: int) -> list[float]:
        self._enter(EvolutionPhase.EVALUATING, epoch)
        scores = [float(await self.strategy.evaluate(candidate)) for candidate in population]
        if any(map(math.isnan, scores)):
            raise EvolutionError(f"a score is not a number, in epoch {epoch}")
        return scores

    async def _next(self, population: list[Any], scores: list[float], epoch: int, draw: random.Random) -> list[Any]:
        """Survivors, and around them variants and copies up to the population's size."""
        self._enter(EvolutionPhase.SELECTING, epoch)
        survivors = list(await self.strategy.select(list(population), list(scores)))
        if not survivors:
            raise EvolutionError(f"selection kept nobody, in epoch {epoch}")
        self._enter(EvolutionPhase.MUTATING, epoch)
        following = survivors[: self.config.population_size]
        for index in range(1, len(following)):
            if draw.random() < self.config.mutation_rate:
                following[index] = await self.strategy.mutate(following[index])
        while len(following) < self.config.population_size:
            following.append(await self.strategy.mutate(survivors[len(following) % len(survivors)]))
        return following

    def _enter(self, phase: EvolutionPhase, epoch: int) -> None:
        self.phase = phase
        if self._on_phase is not None:
            self._on_phase(phase, epoch)
