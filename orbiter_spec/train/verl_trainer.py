"""A trainer that trains with verl: its settings and data become an experiment, and the experiment is run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from orbiter_spec.data.augment import INPUT_NAMES, OUTPUT_NAMES
from orbiter_spec.launch.metrics import read_records
from orbiter_spec.launch.reading import read
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.train.lifecycle import TrainConfig, Trainer, TrainerError, TrainerState, TrainMetrics
from orbiter_spec.train.project import Project
from orbiter_spec.train.reward_spec import RewardSpec, rewards_file
from orbiter_spec.train.trajectories import TrajectoryDataset, TrajectoryItem
from orbiter_spec.train.verl_config import VeRLConfig

Rows = list[dict[str, Any]]
LOSSES = ("actor/loss", "actor/pg_loss")


class VeRLTrainer(Trainer):
    """Trains a language model by PPO or GRPO.

    Either check the parts one by one (`check_agent`, `check_dataset`, `check_reward`, `check_config`), mark it
    validated and train; or give `rewards` here and the data to `train`. After training, `run` is the run's folder.
    """

    def __init__(
        self, config: VeRLConfig | None = None, *, rewards: Sequence[RewardSpec] = (), project: Project | None = None
    ) -> None:
        """`project` is where the experiment is written; left out, `config.output_dir` or a new temporary folder."""
        super().__init__(config or VeRLConfig())
        self.rewards: list[RewardSpec] = list(rewards)
        self.test_data: Rows | None = None
        self.run_folder: RunFolder | None = None
        self._rows: Rows = []
        self._project = project

    @property
    def verl_config(self) -> VeRLConfig:
        """The settings. Raises TrainerError when they are not verl's."""
        if not isinstance(self.config, VeRLConfig):
            raise TrainerError(f"config is a {type(self.config).__name__}, not a VeRLConfig")
        return self.config

    @property
    def project(self) -> Project:
        """Where the experiment is written."""
        if self._project is None:
            named = self.config.output_dir
            self._project = Project(Path(named).absolute() if named else Path(tempfile.mkdtemp(prefix="orbiter-")))
        return self._project

    def check_agent(self, agent: Any = None) -> None:
        """Take the agent, whose `instructions` become the system prompt. Raises TrainerError for None."""
        agent = self.agent if agent is None else agent
        if agent is None:
            raise TrainerError("there is no agent")
        self.agent = agent

    def check_dataset(self, train_data: Any = None, test_data: Any = None) -> None:
        """Take rows with an `input` and mostly an expected answer, or trajectories. Raises TrainerError."""
        self._rows = _rows("training", self.dataset if train_data is None else train_data)
        self.dataset = self._rows
        self.test_data = None if test_data is None else _rows("test", test_data)

    def check_reward(self, reward_fn: Any = None) -> None:
        """Take a RewardSpec, several, or a function; None leaves scoring to verl. Raises TrainerError."""
        given = list(reward_fn) if isinstance(reward_fn, (list, tuple)) else [reward_fn]
        rewards = self.rewards if reward_fn is None else [_reward(one) for one in given]
        names = [reward.name for reward in rewards]
        if len(set(names)) < len(names):
            raise TrainerError(f"two rewards have the same name: {', '.join(names)}")
        for reward in rewards:
            reward.resolve()
        self.rewards = rewards

    def check_config(self, config: TrainConfig | Mapping[str, Any] | None = None) -> None:
        """Take a VeRLConfig in place of the present one, or values for its `extra`. Raises TrainerError."""
        if isinstance(config, Mapping):
            self.config.extra.update(config)
        elif config is not None:
            self.config = config
        if not self.verl_config.model_name:
            raise TrainerError("model_name is empty: name a model, or builtin:tiny-llama for a trial on a CPU")

    async def train(self, dataset: Any = None) -> TrainMetrics:
        """Train and wait. With a `dataset`, what has not been checked is checked first.

        Raises:
            TrainerError: when the checks have not passed, the experiment has errors, or the run fails.
        """
        if dataset is not None:
            self.check_dataset(dataset)
        if dataset is not None and self.state is TrainerState.CREATED:
            self.check_reward()
            self.check_config()
            self.mark_validated()
        if self.state not in (TrainerState.VALIDATED, TrainerState.TRAINING):
            raise TrainerError(f"the trainer is {self.state}; check its parts and mark it validated")
        with self.phase(TrainerState.TRAINING, TrainerState.TRAINED):
            self.write()
            self.project.check(self._sets())
            self.run_folder = await self.project.run(self._sets())
            return measured(self.run_folder)

    async def evaluate(self, test_data: Any = None) -> TrainMetrics:
        """Validate what was trained, on `test_data` or the data of `check_dataset`. Raises TrainerError."""
        if self.run_folder is None:
            raise TrainerError("nothing has been trained yet")
        if test_data is not None:
            self.test_data = _rows("test", test_data)
        with self.phase(TrainerState.EVALUATING, TrainerState.COMPLETE):
            self.write()
            found = await self.project.evaluate(self.run_folder, self._sets())
            return TrainMetrics(accuracy=_mean(found["scores"]), steps=measured(self.run_folder).steps, extra=found)

    def write(self) -> Path:
        """Write the experiment without running it; the spec. Raises TrainerError, and OSError."""
        rows = {"train": self._rows} | ({"test": self.test_data} if self.test_data else {})
        files = {"rewards": rewards_file(self.rewards)} if self.rewards else {}
        self.project.write(self.experiment(), rows, **files)
        return self.project.spec

    def experiment(self) -> dict[str, Any]:
        """The experiment as the language says it, but for `extra`."""
        sections = self.verl_config.sections()
        instructions = getattr(self.agent, "instructions", None)
        if isinstance(instructions, str) and instructions:
            sections["agent"]["instructions"] = "{% raw %}" + instructions + "{% endraw %}"
        dataset: dict[str, Any] = {"train": "train.jsonl", "columns": _columns(self._rows)}
        if self.test_data:
            dataset["validation"] = "test.jsonl"
        parts = [
            {"name": reward.name, "function": f"rewards.py:reward_{index}", "weight": reward.weight}
            for index, reward in enumerate(self.rewards)
        ]
        head = {"version": 1, "name": f"{self.verl_config.algorithm.value}-trainer"}
        return {**head, **sections, "dataset": dataset, "rewards": parts or {"scorer": "verl"}}

    def _sets(self) -> list[str]:
        from orbiter_spec.data.convert import to_json

        return [f"{route}={to_json(value)}" for route, value in self.config.extra.items()]


def _rows(kind: str, data: Any) -> Rows:
    """Rows with an `input` each, out of mappings or trajectories."""
    items = data.items if isinstance(data, TrajectoryDataset) else data
    if not isinstance(items, (list, tuple)) or not items:
        raise TrainerError(f"the {kind} data is no list of rows, or an empty one")
    rows = []
    for number, item in enumerate(items, start=1):
        if isinstance(item, TrajectoryItem):
            rows.append({"input": item.state, "expected": item.action, "reward": item.reward, **item.metadata})
        elif isinstance(item, Mapping) and "input" in item:
            rows.append(dict(item))
        else:
            raise TrainerError(f"item {number} of the {kind} data is not a dict with an input")
    return rows


def _columns(rows: Rows) -> dict[str, str]:
    """The column of the input, and that of the expected answer where every row has one."""
    expected = next((name for name in ("expected", *OUTPUT_NAMES) if all(name in row for row in rows)), None)
    assert INPUT_NAMES[0] == "input"
    return {"input": "input"} | ({"expected": expected} if expected else {})


def _reward(given: Any) -> RewardSpec:
    if isinstance(given, RewardSpec):
        return given
    if isinstance(given, Callable):  # type: ignore[arg-type]
        return RewardSpec(callable=given, name=getattr(given, "__name__", "reward").strip("<>"))
    raise TrainerError(f"a reward is a {type(given).__name__}, not a RewardSpec or a function")


def measured(run: RunFolder) -> TrainMetrics:
    """What a run measured: its last loss and reward, and its last validation score as accuracy."""
    records = read_records(run.metrics)
    readings = [read(record) for record in records]
    return TrainMetrics(
        loss=_last(record.get(name) for record in records for name in LOSSES),
        accuracy=_last(one.validation_score for one in readings),
        reward=_last(one.reward for one in readings),
        steps=sum(one.is_training for one in readings),
        extra=dict(records[-1]) if records else {},
    )


def _last(values: Iterable[float | None]) -> float | None:
    """The last value that was measured."""
    return next((value for value in reversed(list(values)) if value is not None), None)


def _mean(scores: Any) -> float | None:
    """The mean over data sources of the reward in what `evaluate` says."""
    totals = [entry for entry in scores or () if entry["measure"] == "reward"]
    means = [entry["mean"] for entry in totals if entry["source"] != "all" or len(totals) == 1]
    return sum(means) / len(means) if means else None
