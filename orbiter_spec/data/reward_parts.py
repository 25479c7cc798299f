"""The parts of `rewards`, checked without running them, as entries of rewards.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orbiter_spec.data.functions import FunctionRef, check_function, check_parameters
from orbiter_spec.data.inputs import Inputs, copy_code
from orbiter_spec.data.reward_checks import check_keys_travel, check_reward, check_shared, read_column, reward_route
from orbiter_spec.data.scorer import check_scorer
from orbiter_spec.diagnostics import Diagnostic, nearest
from orbiter_spec.source import Document, Route
from orbiter_spec.spec.builtin_rewards import BUILTINS, REQUIRED, RESERVED_NAMES, BuiltinArgument
from orbiter_spec.spec.experiment import Experiment
from orbiter_spec.spec.rewards import Reward, Rewards

ANSWER_NAMES = {"expected", "ground_truth"}
COMPARING_BUILTINS = {"exact_match", "numeric_match", "multiple_choice", "similarity"}


def find_rewards(experiment: Experiment, document: Document, inputs: Inputs) -> list[Diagnostic]:
    """Add an entry for each part to `inputs.rewards`, and say what is wrong with the parts."""
    seen: set[str] = set()
    problems: list[Diagnostic] = []
    for index, reward in enumerate(experiment.rewards.parts):
        route = reward_route(document, index)
        problems += _check_name(reward, seen, route, document)
        seen.add(reward.label)
        problems += _find_reward(reward, route, document, inputs)
        problems += check_reward(reward, experiment.rewards, route, document)
    problems += check_scorer(experiment, document)
    problems += check_shared(experiment.rewards, document)
    problems += check_keys_travel(experiment, document)
    return problems


def reward_packages(rewards: Rewards) -> list[str]:
    """Packages beyond verl's own that the parts need where they run; rewards.json says them under `needs`."""
    needed = {name for part in rewards.parts if part.builtin in BUILTINS for name in BUILTINS[part.builtin].packages}
    for judge in (part.judge for part in rewards.parts if part.judge is not None):
        needed |= {"aiohttp", "jinja2", *(("jsonschema",) if judge.verdict else ())}
    return sorted(needed)


def _check_name(reward: Reward, seen: set[str], route: Route, document: Document) -> Iterator[Diagnostic]:
    place = document.place((*route, "name"))
    if reward.label in seen:
        yield Diagnostic(
            "ORB408", f"two rewards are called {reward.label!r}", place, help="give each reward a name of its own"
        )
    if reward.label in RESERVED_NAMES:
        yield Diagnostic(
            "ORB409",
            f"a reward cannot be called {reward.label!r}",
            place,
            note="verl's records use this name",
            help=f"write name: {reward.label}_reward",
        )


TYPE_WORDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list of texts",
    dict: "a mapping",
}
SHAPING = (
    "error_limit",
    "sources",
    "only_if",
    "range",
    "normalize",
    "clip",
    "steps",
    "timeout_seconds",
    "memory_megabytes",
    "concurrency",
    "batch",
)
"""Fields of a part that its entry has only where they are written."""


def _find_reward(reward: Reward, route: Route, document: Document, inputs: Inputs) -> Iterator[Diagnostic]:
    kind = "judge" if reward.judge else "builtin" if reward.builtin else "function"
    written = reward.model_dump(exclude_none=True, include=set(SHAPING))
    entry: dict[str, Any] = {
        "name": reward.label,
        "weight": reward.weight,
        "kind": kind,
        "path": None,
        "module": None,
        "function": reward.builtin,
        "args": reward.args,
        "on_error": reward.on_error,
        **{name: written[name] for name in SHAPING if name in written},
    }
    if reward.judge is not None:
        entry["judge"] = reward.judge.model_dump(exclude_none=True)
    elif reward.builtin:
        if reward.builtin in COMPARING_BUILTINS or reward.args.get("compare"):
            inputs.compares(reward.sources)
        if column := read_column(reward):
            inputs.read_columns[column] = reward.sources
        yield from _check_builtin(reward, route, document)
    else:
        yield from _find_function(reward, route, document, inputs, entry)
    inputs.rewards.append(entry)


def _find_function(
    reward: Reward, route: Route, document: Document, inputs: Inputs, entry: dict[str, Any]
) -> Iterator[Diagnostic]:
    """Fill in where the function is, and note the files to copy."""
    place = document.place((*route, "function"))
    reference, problem = check_function(str(reward.function), document.base((*route, "function")))
    if reference is None:
        yield problem.at(place) if problem else Diagnostic("ORB403", "not a function", place)
        return
    unfilled = check_parameters(reference, reward.args)
    if unfilled is not None:
        yield unfilled.at(place)
    if _asks_for_answer(reference):
        inputs.compares(reward.sources)
    entry["function"] = reference.name
    entry["module"] = reference.module
    entry["path"] = copy_code(reference.path, inputs) if reference.path is not None else None


def _asks_for_answer(reference: FunctionRef) -> bool:
    return any(parameter.required and parameter.name in ANSWER_NAMES for parameter in reference.parameters or ())


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
    for name, value in reward.args.items():
        argument = known.arguments.get(name)
        here = (*route, "args", name)
        if argument is None:
            close = nearest(name, known.arguments)
            yield Diagnostic(
                "ORB405",
                f"{reward.builtin} takes no {name!r}",
                document.place(here, key=True),
                note=f"did you mean {close!r}?" if close else "",
                help=f"it takes: {', '.join(known.arguments)}" if known.arguments else "it takes no arguments",
            )
        elif wanted := _misfit(argument, value):
            yield Diagnostic(
                "ORB405",
                f"{name} of {reward.builtin} cannot be {value!r}",
                document.place(here),
                note=argument.description,
                help=f"write {wanted}",
            )
    for name, argument in known.arguments.items():
        if argument.default == REQUIRED and name not in reward.args:
            yield Diagnostic(
                "ORB405",
                f"{reward.builtin} needs {name!r}",
                document.place((*route, "builtin")),
                help=f"add args: {{{name}: ...}}: {argument.description}",
            )


def _misfit(argument: BuiltinArgument, value: Any) -> str | None:
    """What should be written instead of `value`, or None when it fits."""
    if argument.choices and value not in argument.choices:
        return f"one of: {', '.join(argument.choices)}"
    kinds: tuple[type, ...] = (int, float) if argument.type is float else (argument.type,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and argument.type is not bool):
        return TYPE_WORDS[argument.type]
    return None
