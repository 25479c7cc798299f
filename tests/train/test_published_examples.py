"""The published examples of trajectories and data run as they are written, apart from the package's name.

Each block is executed as it stands, in a folder of its own, with the names that it takes for granted (`data`,
`seed_data`, `my_synthesiser`) given beforehand; `await` stands at the top level, as in a notebook.
"""

from __future__ import annotations

import ast
import asyncio
import csv
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec import train


def run(block: str, **given: Any) -> dict[str, Any]:
    """Execute a block; the names that it leaves behind."""
    names = dict(given)
    code = compile(inspect.cleandoc(block), "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    done = eval(code, names)
    if inspect.iscoroutine(done):
        asyncio.run(done)
    return names


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_basic_usage() -> None:
    run("""
    from orbiter_spec.train import TrajectoryDataset, TrajectoryItem, Trainer

    # Collect trajectory data
    dataset = TrajectoryDataset()
    dataset.capture(TrajectoryItem(
        state="User asks about Python",
        action="search(query='Python programming')",
        reward=0.8,
    ))

    # Export for training
    dataset.export_json("training_data.json")
    """)
    (row,) = json.loads(Path("training_data.json").read_text(encoding="utf-8"))
    assert (row["state"], row["action"], row["reward"]) == (
        "User asks about Python",
        "search(query='Python programming')",
        0.8,
    )


def test_an_item() -> None:
    item = run("""
    from orbiter_spec.train import TrajectoryItem

    item = TrajectoryItem(
        state="The user asked about Python decorators",
        action="respond(explanation='Decorators are...')",
        reward=0.9,
        metadata={"agent": "assistant", "step": 3},
    )
    """)["item"]
    assert (item.reward, item.metadata) == (0.9, {"agent": "assistant", "step": 3})


def test_a_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    names = run("""
    from orbiter_spec.train import TrajectoryDataset
    from orbiter_spec.train import TrajectoryItem

    dataset = TrajectoryDataset()

    # Capture items during agent execution
    dataset.capture(TrajectoryItem(state="s1", action="a1", reward=0.7))
    dataset.capture(TrajectoryItem(state="s2", action="a2", reward=0.9))

    # Query the dataset
    print(len(dataset))  # 2
    items = dataset.items

    # Export
    dataset.export_json("trajectories.json")
    dataset.export_csv("trajectories.csv")
    """)
    assert capsys.readouterr().out == "2\n"
    assert [item.state for item in names["items"]] == ["s1", "s2"]
    assert len(json.loads(Path("trajectories.json").read_text(encoding="utf-8"))) == 2
    with Path("trajectories.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["action"] for row in csv.DictReader(stream)] == ["a1", "a2"]


def test_a_strategy() -> None:
    dataset = run("""
    from orbiter_spec.train import TrajectoryStrategy
    from orbiter_spec.train import TrajectoryDataset, TrajectoryItem

    class FilteredStrategy(TrajectoryStrategy):
        \"\"\"Only keep high-reward trajectories.\"\"\"

        def should_capture(self, item: TrajectoryItem) -> bool:
            return item.reward >= 0.5

        def process(self, item: TrajectoryItem) -> TrajectoryItem:
            # Normalize reward to [0, 1]
            return TrajectoryItem(
                state=item.state,
                action=item.action,
                reward=min(1.0, max(0.0, item.reward)),
            )

    dataset = TrajectoryDataset(strategy=FilteredStrategy())
    """)["dataset"]
    for reward in (0.2, 0.6, 3.0):
        dataset.capture(train.TrajectoryItem("s", "a", reward))
    assert [item.reward for item in dataset.items] == [0.6, 1.0]


class Numbers(train.DataSynthesiser):
    """Questions with scores that rise from 0 to 1."""

    async def generate(self, count: int, source: Any = ()) -> list[dict[str, Any]]:
        return [{"input": f"What is {i} times {i * 7919 % 97}?", "score": i / count} for i in range(count)]


def test_a_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    names = run(
        """
    from orbiter_spec.train import SynthesisPipeline, SynthesisConfig, DataSynthesiser

    config = SynthesisConfig(
        target_size=1000,
        min_score=0.7,
        dedup_threshold=0.9,
    )

    pipeline = SynthesisPipeline(config=config)
    pipeline.add_step(my_synthesiser)
    result = await pipeline.run(seed_data)

    print(f"Generated: {result.generated_count}")
    print(f"Filtered: {result.filtered_count}")
    """,
        my_synthesiser=Numbers(),
        seed_data=[{"input": "What is 1?"}],
    )
    result = names["result"]
    assert (result.generated_count, result.filtered_count, len(result.items)) == (1000, 700, 300)
    assert capsys.readouterr().out == "Generated: 1000\nFiltered: 700\n"


def test_templates() -> None:
    items = run("""
    from orbiter_spec.train import TemplateSynthesiser

    synthesiser = TemplateSynthesiser(
        templates=[
            "Explain {concept} in simple terms",
            "What are the pros and cons of {concept}?",
            "Compare {concept_a} with {concept_b}",
        ],
        variables={
            "concept": ["Python", "JavaScript", "Rust"],
            "concept_a": ["REST", "GraphQL"],
            "concept_b": ["gRPC", "WebSocket"],
        },
    )

    items = await synthesiser.generate(count=50)
    """)["items"]
    texts = [item["input"] for item in items]
    assert len(texts) == 50
    assert len(set(texts[:10])) == len(set(texts)) == 10, "all ten combinations come before any comes again"
    assert {"Explain Rust in simple terms", "Compare GraphQL with gRPC"} <= set(texts)


DATA = [
    {"input": f"How many legs have {i} spiders and {i % 7} cats?", "output": str(8 * i), "score": i / 40}
    for i in range(40)
]


@pytest.mark.parametrize("kind", ["dicts", "trajectories"])
def test_augmentation(kind: str) -> None:
    data: list[Any] = DATA + DATA[:5]
    if kind == "trajectories":
        data = [train.TrajectoryItem(row["input"], row["output"], row["score"]) for row in data]
    names = run(
        """
    from orbiter_spec.train import (
        augment_add_noise,
        augment_swap_io,
        filter_by_score,
        deduplicate,
        split_dataset,
    )

    # Add noise to data (for robustness)
    noisy_data = augment_add_noise(data, noise_level=0.1)

    # Swap input/output for reverse-training
    swapped = augment_swap_io(data)

    # Filter low-quality items
    filtered = filter_by_score(data, min_score=0.7)

    # Remove near-duplicates
    unique = deduplicate(data, threshold=0.9)

    # Split into train/validation/test
    train, val, test = split_dataset(data, ratios=[0.8, 0.1, 0.1])
    """,
        data=data,
    )
    first, second = ("state", "action") if kind == "trajectories" else ("input", "output")

    def value(item: Any, name: str) -> Any:
        return getattr(item, name) if kind == "trajectories" else item[name]

    noisy = names["noisy_data"]
    assert len(noisy) == 45 and sum(value(a, first) != value(b, first) for a, b in zip(noisy, data, strict=True)) > 40
    assert [value(item, second) for item in noisy] == [value(item, second) for item in data]
    assert [(value(a, first), value(a, second)) for a in names["swapped"]] == [
        (value(b, second), value(b, first)) for b in data
    ]
    assert names["filtered"] == data[28:40]
    assert names["unique"] == data[:40]
    assert [len(names[part]) for part in ("train", "val", "test")] == [36, 4, 5]
    parts = [*names["train"], *names["val"], *names["test"]]
    assert sorted(map(repr, parts)) == sorted(map(repr, data))


TRAINER = """
from orbiter_spec.train import Trainer, TrainConfig, TrainerState, TrainMetrics

class MyTrainer(Trainer):
    async def check_agent(self) -> bool:
        \"\"\"Validate agent configuration.\"\"\"
        return self.agent is not None

    async def check_dataset(self) -> bool:
        \"\"\"Validate training dataset.\"\"\"
        return len(self.dataset) > 0

    async def check_reward(self) -> bool:
        \"\"\"Validate reward function.\"\"\"
        return self.reward_fn is not None

    async def check_config(self) -> bool:
        \"\"\"Validate training config.\"\"\"
        return self.config.epochs > 0

    async def train(self) -> TrainMetrics:
        \"\"\"Run training loop.\"\"\"
        # ... training logic ...
        return TrainMetrics(loss=0.5, accuracy=0.85)

    async def evaluate(self) -> TrainMetrics:
        \"\"\"Evaluate the trained model.\"\"\"
        # ... evaluation logic ...
        return TrainMetrics(loss=0.3, accuracy=0.90)
"""


def test_a_trainer() -> None:
    made = run(TRAINER)["MyTrainer"](agent=object(), dataset=[1], reward_fn=len)
    metrics = asyncio.run(made.run())
    assert (metrics.loss, metrics.accuracy, made.state) == (0.3, 0.9, train.TrainerState.COMPLETE)
    states = ["CREATED", "VALIDATING", "VALIDATED", "TRAINING", "TRAINED", "EVALUATING", "COMPLETE", "ERROR"]
    assert [state.name for state in train.TrainerState] == states
    with pytest.raises(train.TrainerError, match="check_agent"):
        asyncio.run(run(TRAINER)["MyTrainer"](dataset=[1], reward_fn=len).run())


def test_a_train_config() -> None:
    config = run("""
    from orbiter_spec.train import TrainConfig

    config = TrainConfig(
        epochs=10,
        batch_size=32,
        learning_rate=1e-4,
        warmup_steps=100,
        eval_every=500,
    )
    """)["config"]
    assert (config.epochs, config.batch_size, config.warmup_steps, config.eval_every) == (10, 32, 100, 500)


def test_evolution(capsys: pytest.CaptureFixture[str]) -> None:
    async def score_agent(candidate: int) -> float:
        return float(candidate)

    run(
        """
    from orbiter_spec.train import EvolutionPipeline, EvolutionConfig, EvolutionStrategy

    config = EvolutionConfig(
        epochs=5,
        population_size=20,
        selection_ratio=0.5,
        mutation_rate=0.1,
    )

    class MyStrategy(EvolutionStrategy):
        async def evaluate(self, candidate) -> float:
            \"\"\"Score a candidate.\"\"\"
            return await score_agent(candidate)

        async def select(self, population, scores) -> list:
            \"\"\"Select top candidates.\"\"\"
            sorted_pop = sorted(zip(scores, population), reverse=True)
            cutoff = int(len(population) * 0.5)
            return [p for _, p in sorted_pop[:cutoff]]

        async def mutate(self, candidate) -> Any:
            \"\"\"Create a variant.\"\"\"
            return mutate_agent(candidate)

    pipeline = EvolutionPipeline(config=config, strategy=MyStrategy())
    result = await pipeline.run(initial_population)

    print(f"Best score: {result.best_score}")
    print(f"Epochs completed: {result.epochs_completed}")
    """,
        Any=Any,
        score_agent=score_agent,
        mutate_agent=lambda candidate: candidate + 1,
        initial_population=list(range(20)),
    )
    best, epochs = capsys.readouterr().out.splitlines()
    assert float(best.removeprefix("Best score: ")) >= 19
    assert epochs == "Epochs completed: 5"


def test_verl_says_which_model_it_lacks() -> None:
    """The published block names no model: all of it works up to the training, which says so."""
    block = """
    from orbiter_spec.train import VeRLTrainer, VeRLConfig, RewardSpec, VeRLAlgorithm

    config = VeRLConfig(
        algorithm=VeRLAlgorithm.PPO,
        epochs=3,
        batch_size=16,
        learning_rate=1e-5,
        kl_coef=0.1,
        clip_range=0.2,
    )

    reward = RewardSpec(
        name="helpfulness",
        weight=1.0,
        fn=my_reward_function,  # (output: str) -> float
    )

    trainer = VeRLTrainer(
        config=config,
        rewards=[reward],
    )

    # Train
    metrics = await trainer.train(dataset)
    print(f"Loss: {metrics.loss}, Reward: {metrics.reward}")
    """
    with pytest.raises(train.TrainerError, match="name a model"):
        run(block, my_reward_function=lambda output: 1.0, dataset=[{"input": "a"}])


def test_several_rewards() -> None:
    names = run(
        """
    rewards = [
        RewardSpec(name="accuracy", weight=0.6, fn=accuracy_reward),
        RewardSpec(name="brevity", weight=0.2, fn=brevity_reward),
        RewardSpec(name="safety", weight=0.2, fn=safety_reward),
    ]
    """,
        RewardSpec=train.RewardSpec,
        accuracy_reward=len,
        brevity_reward=len,
        safety_reward=len,
    )
    assert [(reward.name, reward.weight) for reward in names["rewards"]] == [
        ("accuracy", 0.6),
        ("brevity", 0.2),
        ("safety", 0.2),
    ]


PUBLISHED = """
TrajectoryItem TrajectoryDataset TrajectoryStrategy DefaultStrategy TrainConfig Trainer TrainerState TrainMetrics
SynthesisConfig SynthesisPipeline DataSynthesiser TemplateSynthesiser EvolutionConfig EvolutionPipeline
EvolutionStrategy EvolutionPhase VeRLConfig VeRLTrainer VeRLAlgorithm RewardSpec augment_add_noise augment_swap_io
filter_by_score deduplicate split_dataset ConfigStore RayPPOTrainer create_trainer BaseEnvironment EnvironmentConfig
SimpleGameEnvironment Trajectory create_inference_engine MultiTurnInferenceEngine BatchInferenceManager
"""


@pytest.mark.parametrize("name", PUBLISHED.split())
def test_every_published_name_is_there(name: str) -> None:
    assert name in train.__all__
    assert getattr(train, name).__name__ == name
