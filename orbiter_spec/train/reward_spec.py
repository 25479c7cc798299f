"""Reward functions given as Python objects, made into a file that verl's processes can load.

A run's workers are other processes, so a function of this one travels by value: pickled by cloudpickle, with its module
where that is a file of the user's, and written into a Python file as text. One function then works whether it is a
lambda, a closure, or defined in a notebook or in a script.
"""

from __future__ import annotations

import base64
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from orbiter_spec.runtime.agent import environments
from orbiter_spec.train.lifecycle import TrainerError

BY_NAME: Final = ("response", "output", "solution_str", "expected", "ground_truth", "prompt", "row", "extra_info")
"""Parameters that a reward function gets by their names; others get the answer and what was expected, in this order."""


HEAD: Final = """\
\"\"\"Reward functions of a trainer, pickled by value.\"\"\"

import base64
import sys

import ray.cloudpickle
"""


@dataclass(frozen=True, slots=True)
class RewardSpec:
    """A reward function: an object (`callable` or `fn`), or a name to import (`module_path` and `func_name`).

    Several are added up by `weight`; each is logged under its `name`. Raises TrainerError when there is no function.
    """

    callable: Callable[..., float] | None = None
    module_path: str = ""
    func_name: str = ""
    name: str = "reward"
    weight: float = 1.0
    fn: InitVar[Callable[..., float] | None] = None

    def __post_init__(self, fn: Callable[..., float] | None) -> None:
        if fn is not None:
            object.__setattr__(self, "callable", fn)
        if self.callable is None and not (self.module_path and self.func_name):
            raise TrainerError(f"reward {self.name!r} has neither a callable nor a module_path and a func_name")

    def resolve(self) -> Callable[..., float]:
        """The function, imported where need be. Raises TrainerError when it is not there or cannot be called."""
        found: Any = self.callable
        if found is None:
            try:
                found = getattr(importlib.import_module(self.module_path), self.func_name)
            except (ImportError, AttributeError) as error:
                raise TrainerError(f"reward {self.name!r} cannot be imported: {error}") from None
        if not callable(found):
            raise TrainerError(f"reward {self.name!r} is a {type(found).__name__}, which cannot be called")
        return found  # type: ignore[no-any-return]


def rewards_file(rewards: Sequence[RewardSpec]) -> str:
    """A Python file with one function `reward_0`, `reward_1`, ... for each of `rewards`.

    Raises:
        TrainerError: for a function that cannot be pickled, or that asks for more than an answer and what is expected.
    """
    return "\n".join([HEAD, *(_function(index, reward) for index, reward in enumerate(rewards))])


def _function(index: int, reward: RewardSpec) -> str:
    function = reward.resolve()
    names, call = _call(function, reward.name)
    folder = _folder_of(function)
    seen = f"sys.path.append({str(folder)!r})\n" if folder is not None else ""
    payload = base64.b64encode(_pickled(function, reward.name, (function,))).decode("ascii")
    return (
        f"{seen}_FUNCTION_{index} = ray.cloudpickle.loads(base64.b64decode(\n    {payload!r}\n))\n\n\n"
        f"def reward_{index}({', '.join(names)}):\n    return float(_FUNCTION_{index}({call}))\n"
    )


def _call(function: Callable[..., Any], name: str) -> tuple[list[str], str]:
    """The parameters that the written function takes, and how it hands them on."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ["response"], "response"
    needed = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if needed and all(
        parameter.name in BY_NAME and parameter.kind is not parameter.POSITIONAL_ONLY for parameter in needed
    ):
        names = [parameter.name for parameter in needed]
        return names, ", ".join(f"{one}={one}" for one in names)
    if len(needed) > 2:
        asked = ", ".join(parameter.name for parameter in needed)
        raise TrainerError(f"reward {name!r} asks for {asked}; it gets an answer and what is expected")
    names = ["response", "expected"][: max(1, len(needed))]
    return names, ", ".join(names)


def carried(value: Any, name: str, of: Sequence[Any]) -> str:
    """Lines of Python that set `PICKLED` to a value, with the modules of the objects `of` which it is made.

    Raises TrainerError for a value that cannot be pickled.
    """
    folders = dict.fromkeys(str(folder) for one in of if (folder := _folder_of(one)) is not None)
    seen = "".join(f"sys.path.append({folder!r})\n" for folder in folders)
    payload = base64.b64encode(_pickled(value, name, of)).decode("ascii")
    return f"{seen}PICKLED = base64.b64decode(\n    {payload!r}\n)\n"


def _module_of(value: Any) -> ModuleType | None:
    named = getattr(value, "__module__", None) or getattr(type(value), "__module__", None)
    return sys.modules.get(str(named))


def _folder_of(value: Any) -> Path | None:
    """Where an object's module lies when it is a file of the user's, so that its neighbours can be imported."""
    file = getattr(_module_of(value), "__file__", None)
    own = file is not None and not any(part.endswith("-packages") for part in Path(file).parts)
    return Path(file).resolve().parent if file is not None and own else None


def _pickled(value: Any, name: str, of: Sequence[Any]) -> bytes:
    from ray import cloudpickle

    modules = [_module_of(one) for one in of if _folder_of(one) is not None]
    try:
        with _by_value([environments, *(module for module in modules if module is not None)]):
            pickled: bytes = cloudpickle.dumps(value)
            return pickled
    except Exception as error:  # whatever an object of the user's raises while it is pickled
        raise TrainerError(f"reward {name!r} cannot be sent to other processes: {error}") from None


@contextmanager
def _by_value(modules: Sequence[ModuleType]) -> Iterator[None]:
    """Pickle what these modules define by value. The environments are among them: they need no orbiter-spec there."""
    from ray import cloudpickle

    own = [module for module in dict.fromkeys(modules) if module.__name__ != "__main__"]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)
