"""Everything outside the spec that it names: model, rows, reward functions, tool files.

One function finds them all, reports what is missing at the line that names it, and says where each goes in the
compiled folder. Python files are copied there together with the local modules they import, so that a compiled folder
is complete on another machine. Models and prepared data stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orbiter_spec.data.functions import check_function, check_parameters, sibling_modules
from orbiter_spec.diagnostics import Diagnostic, nearest
from orbiter_spec.source import Document, Route
from orbiter_spec.spec.builtin_rewards import BUILTINS
from orbiter_spec.spec.experiment import Experiment
from orbiter_spec.spec.rewards import Reward

BUILTIN_MODEL = "builtin:tiny-llama"
MODEL_FOLDER = "model"
CODE_FOLDER = "code"
MODEL_ROUTES = (
    "agent.model.path",
    "agent.model.tokenizer",
    "agent.model.config",
    "agent.model.lora.adapter",
    "algorithm.critic.model.path",
    "algorithm.critic.model.tokenizer",
)
FILE_ROUTES = ("agent.tool_config", "agent.function_tools", "agent.loop_config")
FOLDER_ROUTES = ("run.checkpoint.folder", "run.checkpoint.resume")


@dataclass
class Inputs:
    """What the spec names, found.

    `paths` go into the plan; `copies` maps a name in the compiled folder to the file it is copied from; `rewards` is
    the content of rewards.json; `builtin_model` asks for the tiny model to be written.
    """

    paths: dict[str, str] = field(default_factory=dict)
    copies: dict[str, Path] = field(default_factory=dict)
    rewards: list[dict[str, Any]] = field(default_factory=list)
    builtin_model: bool = False


def find_inputs(experiment: Experiment, document: Document) -> tuple[Inputs, list[Diagnostic]]:
    """Find what `experiment` names; rows are the business of `orbiter_spec.data.rows`."""
    inputs = Inputs()
    problems = [
        *_find_models(experiment, document, inputs),
        *_find_files(experiment, document, inputs),
        *_find_rewards(experiment, document, inputs),
    ]
    return inputs, problems


def _value(experiment: Experiment, route: str) -> Any:
    value: Any = experiment
    for part in route.split("."):
        value = getattr(value, part, None)
    return value


def _find_models(experiment: Experiment, document: Document, inputs: Inputs) -> Iterator[Diagnostic]:
    for route in MODEL_ROUTES:
        name = _value(experiment, route)
        if name is None:
            continue
        if name.startswith("builtin:"):
            if name != BUILTIN_MODEL:
                yield _missing(document, route, f"no built-in model is called {name}", f"write {BUILTIN_MODEL}")
            inputs.builtin_model = True
            inputs.paths[route] = MODEL_FOLDER
            continue
        folder = _local(name, document, route)
        if folder.is_dir():
            inputs.paths[route] = str(folder)
        elif name.startswith((".", "~")):
            yield _missing(document, route, f"no folder {folder}", "name a local folder or a Hugging Face repository")


def _find_files(experiment: Experiment, document: Document, inputs: Inputs) -> Iterator[Diagnostic]:
    for route in FILE_ROUTES:
        name = _value(experiment, route)
        if name is None:
            continue
        path = _local(name, document, route)
        if not path.is_file():
            yield _missing(document, route, f"no file {path}", "name an existing file")
            continue
        inputs.paths[route] = _copy(path, inputs)
    for route in FOLDER_ROUTES:
        name = _value(experiment, route)
        if name not in (None, "auto", "never"):
            inputs.paths[route] = str(_local(name, document, route))
    custom = _value(experiment, "dataset.custom_class")
    if custom is not None:
        reference, problem = check_function(custom, document.base(("dataset", "custom_class")))
        if problem is not None or reference is None or reference.path is None:
            place = document.place(("dataset", "custom_class"))
            yield problem.at(place) if problem else Diagnostic("ORB403", "a dataset class needs a file", place)
        else:
            inputs.paths["dataset.custom_class"] = f"{_copy(reference.path, inputs)}:{reference.name}"


def _find_rewards(experiment: Experiment, document: Document, inputs: Inputs) -> Iterator[Diagnostic]:
    seen: dict[str, int] = {}
    for index, reward in enumerate(experiment.rewards.parts):
        route = reward_route(document, index)
        if reward.label in seen:
            yield Diagnostic(
                "ORB101",
                f"two rewards are called {reward.label!r}",
                document.place(route),
                help="give each reward a name of its own",
            )
        seen[reward.label] = index
        yield from _find_reward(reward, route, document, inputs)


def _find_reward(reward: Reward, route: Route, document: Document, inputs: Inputs) -> Iterator[Diagnostic]:
    entry: dict[str, Any] = {
        "name": reward.label,
        "weight": reward.weight,
        "kind": "builtin" if reward.builtin else "function",
        "path": None,
        "module": None,
        "function": reward.builtin,
        "args": reward.args,
        "on_error": reward.on_error,
    }
    if reward.builtin:
        yield from _check_builtin(reward, route, document)
    else:
        place = document.place((*route, "function"))
        reference, problem = check_function(str(reward.function), document.base((*route, "function")))
        if problem is not None or reference is None:
            yield problem.at(place) if problem else Diagnostic("ORB403", "not a function", place)
            return
        unfilled = check_parameters(reference, reward.args)
        if unfilled is not None:
            yield unfilled.at(place)
        entry["function"] = reference.name
        entry["module"] = reference.module
        if reference.path is not None:
            entry["path"] = _copy(reference.path, inputs)
    inputs.rewards.append(entry)


def _check_builtin(reward: Reward, route: Route, document: Document) -> Iterator[Diagnostic]:
    known = BUILTINS.get(str(reward.builtin))
    if known is None:
        close = nearest(str(reward.builtin), BUILTINS)
        yield Diagnostic(
            "ORB404",
            f"no built-in reward is called {reward.builtin!r}",
            document.place((*route, "builtin")),
            note=f"did you mean {close!r}?" if close else "",
            help=f"use one of: {', '.join(BUILTINS)}",
        )
        return
    for name in reward.args:
        if name not in known.arguments:
            close = nearest(name, known.arguments)
            yield Diagnostic(
                "ORB405",
                f"{reward.builtin} takes no {name!r}",
                document.place((*route, "args", name), key=True),
                note=f"did you mean {close!r}?" if close else "",
                help=f"it takes: {', '.join(known.arguments)}" if known.arguments else "it takes no arguments",
            )


def reward_route(document: Document, index: int) -> Route:
    """The route of a reward part in the document, which may hold a list, a mapping with parts, or one function."""
    rewards = document.data.get("rewards")
    if isinstance(rewards, list):
        return ("rewards", index)
    return ("rewards", "parts", index) if isinstance(rewards, dict) else ("rewards",)


def _copy(path: Path, inputs: Inputs) -> str:
    """Plan copies of `path` and, for Python, of its sibling modules; the name in the compiled folder."""
    files = [path, *(sibling_modules(path) if path.suffix == ".py" else [])]
    folder = _free_folder(files, inputs)
    for file in files:
        inputs.copies[f"{folder}/{file.name}"] = file
    return f"{folder}/{path.name}"


def _free_folder(files: list[Path], inputs: Inputs) -> str:
    """`code`, or `code/2` and so on when files of the same name come from another folder."""
    number = 1
    while True:
        folder = CODE_FOLDER if number == 1 else f"{CODE_FOLDER}/{number}"
        if all(inputs.copies.get(f"{folder}/{file.name}", file) == file for file in files):
            return folder
        number += 1


def _local(name: str, document: Document, route: str) -> Path:
    return (document.base(tuple(route.split("."))) / Path(name).expanduser()).resolve()


def _missing(document: Document, route: str, message: str, advice: str) -> Diagnostic:
    return Diagnostic("ORB406", message, document.place(tuple(route.split("."))), help=advice)
