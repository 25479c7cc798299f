"""Evolution finds the best of a known landscape, keeps what it found, and says what it cannot go on with."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from orbiter_spec.train import EvolutionConfig, EvolutionError, EvolutionPhase, EvolutionPipeline, EvolutionStrategy


class Climb(EvolutionStrategy):
    """Integers that should become 40; a variant is one larger."""

    async def evaluate(self, candidate: int) -> float:
        return -abs(40.0 - candidate)

    async def mutate(self, candidate: int) -> int:
        return candidate + 1


def run(strategy: EvolutionStrategy, population: list[Any], **config: Any) -> Any:
    return asyncio.run(EvolutionPipeline(EvolutionConfig(**config), strategy=strategy).run(population))


def test_the_best_rises_to_the_top() -> None:
    result = run(Climb(), [0, 20, 10, 30], epochs=12, population_size=8)
    assert (result.best_candidate, result.best_score, result.epochs_completed) == (40, 0.0, 12)
    assert result.history == sorted(result.history)
    assert len(result.population) == 8


def test_the_same_seed_gives_the_same_population() -> None:
    settings = {"epochs": 6, "population_size": 9, "mutation_rate": 0.5, "seed": 3}
    assert run(Climb(), [1, 5, 9], **settings) == run(Climb(), [1, 5, 9], **settings)


def test_the_best_of_all_epochs_is_kept_though_selection_loses_it() -> None:
    class Forgetful(Climb):
        async def select(self, population: list[int], scores: list[float]) -> list[int]:
            return [0]

    assert run(Forgetful(), [39], epochs=3, population_size=2).best_candidate == 39


def test_one_epoch_only_scores() -> None:
    assert run(Climb(), [1, 2], epochs=1).population == [1, 2]


def test_phases_are_told_in_order() -> None:
    seen: list[tuple[str, int]] = []
    pipeline = EvolutionPipeline(EvolutionConfig(epochs=2), strategy=Climb(), on_phase=lambda *at: seen.append(at))
    assert pipeline.phase is EvolutionPhase.INIT
    asyncio.run(pipeline.run([1]))
    assert seen == [("evaluating", 1), ("selecting", 1), ("mutating", 1), ("evaluating", 2), ("complete", 2)]


def test_what_cannot_go_on_is_said() -> None:
    class Nan(Climb):
        async def evaluate(self, candidate: int) -> float:
            return math.nan

    class Nobody(Climb):
        async def select(self, population: list[int], scores: list[float]) -> list[int]:
            return []

    for strategy, population in ((Climb(), []), (Nan(), [1]), (Nobody(), [1])):
        with pytest.raises(EvolutionError):
            run(strategy, population, epochs=2)


@pytest.mark.parametrize(
    "wrong", [{"epochs": 0}, {"population_size": 0}, {"selection_ratio": 0.0}, {"mutation_rate": 1.1}]
)
def test_settings_have_bounds(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        EvolutionConfig(**wrong)
