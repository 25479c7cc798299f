"""Everything outside the spec that it names: model, rows, reward functions, tool files.

One function finds them all, reports what is missing at the line that names it, and says where each goes in the
compiled folder. Python files are copied there together with the local modules they import, so that a compiled folder
is complete on another machine. Models and prepared data stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orbiter_spec.data.functions import check_function, code_files
from orbiter_spec.diagnostics import Diagnostic, Severity
from orbiter_spec.source import Document
from orbiter_spec.spec.experiment import Experiment

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
CODE_ROUTES = ("rewards.scorer", "rewards.manager", "algorithm.staleness.sampler")
FOLDER_ROUTES = ("run.checkpoint.folder", "run.checkpoint.resume")


@dataclass
class Inputs:
    """What the spec names, found.

    `paths` go into the plan; `copies` maps a name in the compiled folder to the file it is copied from; `rewards` is
    the content of rewards.json, `agent` and `tools` of agent.json and tools.yaml (empty without an environment and
    tools); `builtin_model` asks for the tiny model to be written; `needs_expected` is true when a
    reward compares with the row's expected answer, and `expected_sources` are those whose rows alone are compared;
    `read_columns` are columns that rewards read by name, each with the sources that they score (None: all).
    """

    paths: dict[str, str] = field(default_factory=dict)
    copies: dict[str, Path] = field(default_factory=dict)
    rewards: list[dict[str, Any]] = field(default_factory=list)
    agent: dict[str, Any] = field(default_factory=dict)
    tools: list[dict[str, Any]] = field(default_factory=list)
    builtin_model: bool = False
    needs_expected: bool = False
    expected_sources: set[str] = field(default_factory=set)
    read_columns: dict[str, list[str] | None] = field(default_factory=dict)

    def compares(self, sources: Iterable[str] | None) -> None:
        """A reward compares rows of these sources, or of all, with what is expected."""
        self.needs_expected |= sources is None
        self.expected_sources.update(sources or ())


def find_inputs(experiment: Experiment, document: Document) -> tuple[Inputs, list[Diagnostic]]:
    """Find what `experiment` names; rewards and rows have modules of their own."""
    inputs = Inputs()
    problems = [
        *_find_models(experiment, document, inputs),
        *_find_files(experiment, document, inputs),
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
            advice = "name a local folder or a Hugging Face repository"
            yield _missing(document, route, f"no folder {name}", advice, elsewhere=name.startswith("~"))


def _find_files(experiment: Experiment, document: Document, inputs: Inputs) -> Iterator[Diagnostic]:
    for route in FILE_ROUTES:
        name = _value(experiment, route)
        if name is None:
            continue
        path = _local(name, document, route)
        if not path.is_file():
            absolute = name.startswith(("/", "~"))
            yield _missing(document, route, f"no file {name}", "name an existing file", elsewhere=absolute)
            continue
        inputs.paths[route] = copy_code(path, inputs)
    for route in FOLDER_ROUTES:
        name = _value(experiment, route)
        if name not in (None, "auto", "never"):
            inputs.paths[route] = str(_local(name, document, route))
    for route in CODE_ROUTES:
        target, _, name = str(_value(experiment, route) or "").rpartition(":")
        if target.endswith(".py") and (path := _local(target, document, route)).is_file():
            inputs.paths[route] = f"{copy_code(path, inputs)}:{name}"
    custom = _value(experiment, "dataset.custom_class")
    if custom is not None:
        reference, problem = check_function(custom, document.base(("dataset", "custom_class")))
        if problem is not None or reference is None or reference.path is None:
            place = document.place(("dataset", "custom_class"))
            yield problem.at(place) if problem else Diagnostic("ORB403", "a dataset class needs a file", place)
        else:
            inputs.paths["dataset.custom_class"] = f"{copy_code(reference.path, inputs)}:{reference.name}"


def copy_code(path: Path, inputs: Inputs) -> str:
    """Plan copies of `path` and, for Python, of what it imports beside it; the name in the compiled folder."""
    files = code_files(path) if path.suffix == ".py" else {path.name: path}
    folder = _free_folder(files, inputs)
    inputs.copies |= {f"{folder}/{name}": file for name, file in files.items()}
    return f"{folder}/{path.name}"


def _free_folder(files: dict[str, Path], inputs: Inputs) -> str:
    """`code`, or `code/2` and so on when files of the same name come from another folder."""
    number = 1
    while True:
        folder = CODE_FOLDER if number == 1 else f"{CODE_FOLDER}/{number}"
        if all(inputs.copies.get(f"{folder}/{name}", file) == file for name, file in files.items()):
            return folder
        number += 1


def _local(name: str, document: Document, route: str) -> Path:
    return (document.base(tuple(route.split("."))) / Path(name).expanduser()).resolve()


def _missing(document: Document, route: str, message: str, advice: str, *, elsewhere: bool = False) -> Diagnostic:
    """An error, or a warning where the file may be on the machine that runs (`elsewhere`)."""
    severity = Severity.WARNING if elsewhere else Severity.ERROR
    return Diagnostic("ORB406", message, document.place(tuple(route.split("."))), help=advice, severity=severity)
