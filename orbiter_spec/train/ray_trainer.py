"""`RayPPOTrainer`: an environment and a reward over whole episodes, given as Python objects, trained by verl.

Nothing is trained here. Environment and reward travel by value into files beside a spec, and `fit` is a run like any
other: `orbiter-spec status`, `logs` and `report` know it, and its checkpoints are verl's.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from orbiter_spec.launch.metrics import read_records
from orbiter_spec.launch.reading import read
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.runtime.agent.environments import BaseEnvironment, Trajectory
from orbiter_spec.train.config_store import ConfigStore
from orbiter_spec.train.lifecycle import TrainerError
from orbiter_spec.train.project import Project, command
from orbiter_spec.train.reward_spec import carried

EPISODES_PER_EPOCH = 10
"""Steps of an epoch where there is no dataset that says how long one is."""
HEAD = '"""Objects of a trainer, pickled by value."""\n\nimport base64\nimport sys\n\nimport ray.cloudpickle\n'
ENVIRONMENT = '''

class Environment:
    """A copy of the trainer's environment for each sample."""

    def __init__(self):
        self._own = ray.cloudpickle.loads(PICKLED)

    def reset(self):
        return self._own.reset()

    def step(self, action):
        return self._own.step(action)

    def get_state_description(self):
        return getattr(self._own, "get_state_description", str)()

    def get_prompt_prefix(self):
        return getattr(self._own, "get_prompt_prefix", str)()
'''
REWARD = '''

def trajectory_reward(prompt, response, extra_info):
    """The trainer's reward over the episode; without an environment, over the one answer."""
    played = extra_info.get("trajectory") or {
        "states": [prompt], "actions": [response], "rewards": [0.0], "dones": [True]
    }
    function, environment, trajectory_class = ray.cloudpickle.loads(PICKLED)
    trajectory = trajectory_class(**{name: list(values) for name, values in played.items()})
    return float(function(trajectory, environment) if TAKES_ENVIRONMENT else function(trajectory))
'''


class RayPPOTrainer:
    """Trains a model to play an environment, or to answer the rows of a dataset, by PPO or one of its relatives."""

    def __init__(
        self,
        config: ConfigStore | Mapping[str, Any],
        environment: BaseEnvironment | None = None,
        reward_fn: Callable[..., float] | None = None,
        dataset: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """`reward_fn` takes a Trajectory, and where it asks for two arguments the environment as it was given; left
        out, an episode is worth the sum of the environment's rewards. Rows of `dataset` have an `input`.

        Raises TrainerError.
        """
        self.config = config if isinstance(config, ConfigStore) else ConfigStore.of(config)
        self.environment, self.reward_fn = environment, reward_fn
        self.dataset = [dict(row) for row in dataset] if dataset is not None else None
        self.run_folder: RunFolder | None = None
        self.metrics_history: list[dict[str, Any]] = []
        self._start: Path | None = None
        if environment is None and (reward_fn is None or not self.dataset):
            raise TrainerError("give an environment, or a reward_fn and a dataset")
        if self.dataset is not None and not all("input" in row for row in self.dataset):
            raise TrainerError("a row of the dataset has no input")

    @property
    def project(self) -> Project:
        """Where the experiment is written: `checkpoint.output_dir`."""
        return Project(Path(self.config.checkpoint.output_dir).absolute())

    def fit(self, num_epochs: int | None = None, num_iters_per_epoch: int | None = None) -> list[dict[str, Any]]:
        """Train and wait; `metrics_history`, to which this adds one entry for each epoch.

        `num_iters_per_epoch` counts steps of `training.batch_size` prompts. After `load_checkpoint` the training goes
        on from there. Raises TrainerError when the experiment has errors or the run fails.
        """
        steps = self._steps(num_iters_per_epoch)
        done = _step_of(self._start) // steps if self._start is not None else 0
        epochs = done + (num_epochs or self.config.training.num_epochs)
        self.write(epochs, steps)
        sets = self._sets()
        self.project.check(sets)
        self.run_folder = _wait(self.project.run(sets))
        self.metrics_history += by_epoch(read_records(self.run_folder.metrics), steps)
        return self.metrics_history

    def write(self, epochs: int, steps_per_epoch: int) -> Path:
        """Write the experiment without running it; the spec. Raises TrainerError, and OSError."""
        count = steps_per_epoch * self.config.training.batch_size
        given = self.dataset or [{"input": ""}]
        rows = [{**given[number % len(given)], "episode": number} for number in range(count)]
        files = {}
        if self.environment is not None:
            files["environment"] = HEAD + carried(self.environment, "environment", of=(self.environment,)) + ENVIRONMENT
        if self.reward_fn is not None:
            files["rewards"] = self._reward_file(self.reward_fn)
        self.project.write(self.experiment(epochs, steps_per_epoch), {"train": rows}, **files)
        return self.project.spec

    def experiment(self, epochs: int, steps_per_epoch: int) -> dict[str, Any]:
        """The experiment as the language says it, but for `extra`."""
        plays = self.environment is not None
        sections = self.config.sections(plays=plays, epochs=epochs, steps_per_epoch=steps_per_epoch)
        own = {"name": "trajectory", "function": "rewards.py:trajectory_reward"}
        if self._start is not None:
            sections["run"].setdefault("checkpoint", {})["resume"] = str(self._start)
        return {
            "version": 1,
            "name": "ray-ppo-trainer",
            **sections,
            "dataset": {"train": "train.jsonl", "columns": {"input": "input"}},
            "rewards": [own if self.reward_fn is not None else {"builtin": "environment"}],
        }

    def save_checkpoint(self, path: Path | str) -> Path:
        """Copy the newest checkpoint of the last run into a folder; the copy. Raises TrainerError, and OSError."""
        found = _newest(self.run_folder.checkpoints) if self.run_folder is not None else self._start
        if found is None:
            raise TrainerError("there is no checkpoint yet: train, with checkpoint.save_interval above 0")
        target = Path(path).absolute() / found.name
        shutil.copytree(found, target, dirs_exist_ok=True)
        return target

    def load_checkpoint(self, path: Path | str) -> None:
        """Let the next `fit` go on from a checkpoint, or from the newest in a folder. Raises TrainerError."""
        folder = Path(path).absolute()
        found = folder if folder.name.startswith("global_step_") and folder.is_dir() else _newest(folder)
        if found is None:
            raise TrainerError(f"there is no checkpoint in {folder}")
        self._start = found

    def cleanup(self) -> None:
        """Stop runs of this trainer that are still going. One that has ended holds no memory."""
        for run in self.project.runs():
            if run.state.is_active:
                _wait(command("stop", str(run.folder.path), cwd=self.project.folder))

    def _reward_file(self, function: Callable[..., float]) -> str:
        import inspect

        try:
            parameters = inspect.signature(function).parameters.values()
            asked = sum(one.default is one.empty and one.kind in (0, 1) for one in parameters)
        except (TypeError, ValueError):
            asked = 1
        if asked not in (1, 2):
            raise TrainerError(f"reward_fn asks for {asked} arguments; it gets a trajectory, and the environment")
        environment = self.environment if asked == 2 else None
        payload = carried((function, environment, Trajectory), "reward_fn", of=(function, environment))
        return f"{HEAD}\nTAKES_ENVIRONMENT = {asked == 2}\n{payload}{REWARD}"

    def _steps(self, asked: int | None) -> int:
        if asked is not None:
            return max(1, asked)
        rows = len(self.dataset) if self.dataset else 0
        return max(1, rows // self.config.training.batch_size) if rows else EPISODES_PER_EPOCH

    def _sets(self) -> list[str]:
        from orbiter_spec.data.convert import to_json

        return [f"{route}={to_json(value)}" for route, value in self.config.extra.items()]


def create_trainer(
    config: ConfigStore | Mapping[str, Any],
    environment: BaseEnvironment | None = None,
    tokenizer: Any = None,
    reward_fn: Callable[..., float] | None = None,
    dataset: Sequence[Mapping[str, Any]] | None = None,
    multi_turn_engine: Any = None,
) -> RayPPOTrainer:
    """A trainer. Of a `tokenizer` its name counts, of a `multi_turn_engine` its turns. Raises TrainerError."""
    made = RayPPOTrainer(config, environment, reward_fn, dataset)
    if tokenizer is not None:
        name = tokenizer if isinstance(tokenizer, str) else getattr(tokenizer, "name_or_path", "")
        made.config.model.tokenizer = name or None
    if multi_turn_engine is not None:
        made.config.inference.max_turns = int(multi_turn_engine.max_turns)
    return made


def by_epoch(records: Sequence[Mapping[str, float]], steps: int) -> list[dict[str, Any]]:
    """One entry for each epoch, from 1: the mean over its steps of what verl measured, and the usual names beside."""
    groups: dict[int, list[Mapping[str, float]]] = {}
    for record in records:
        if read(record).is_training:
            groups.setdefault((int(record["step"]) - 1) // steps + 1, []).append(record)
    return [_epoch(number, group) for number, group in sorted(groups.items())]


def _epoch(number: int, records: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    names = dict.fromkeys(name for record in records for name in record)
    means: dict[str, Any] = {}
    for name in names:
        values = [record[name] for record in records if name in record]
        means[name] = sum(values) / len(values)
    loss = means.get("actor/loss", means.get("actor/pg_loss"))
    reward = read({**means, "step": number}).reward
    usual = {"policy_loss": loss, "value_loss": means.get("critic/vf_loss"), "reward": reward}
    return {"epoch": number, **usual, **means, "step": int(records[-1]["step"])}


def _newest(folder: Path) -> Path | None:
    found = [path for path in folder.glob("global_step_*") if path.is_dir() and path.name[12:].isdigit()]
    return max(found, key=_step_of, default=None)


def _step_of(checkpoint: Path | None) -> int:
    return int(checkpoint.name[12:]) if checkpoint is not None else 0


def _wait(work: Coroutine[Any, Any, Any]) -> Any:
    """Run to the end, also where a loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(_tried(work)))
    thread.start()
    thread.join()
    if isinstance(results[0], BaseException):
        raise results[0]
    return results[0]


def _tried(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        return asyncio.run(work)
    except BaseException as error:
        return error
