"""A scorer and a manager that verl calls itself: is the name in its file, and can verl call it.

verl looks the name up when the reward loops are built, and hands a scorer four things by name (data_source,
solution_str, ground_truth, extra_info), what `rewards.args` says, and with a judge its address and tokenizer
(`trainer/ppo/reward.py`, `experimental/reward_loop/reward_manager`). Files that are not here may be where the run is.
"""

from __future__ import annotations

from collections.abc import Iterator

from orbiter_spec.data.functions import FunctionRef, Problem, check_function
from orbiter_spec.diagnostics import Diagnostic, nearest
from orbiter_spec.source import Document
from orbiter_spec.spec.experiment import Experiment
from orbiter_spec.spec.rewards import Rewards

HANDED = ("data_source", "solution_str", "ground_truth", "extra_info")
WITH_JUDGE = ("reward_router_address", "reward_model_tokenizer")
REFUSES_COROUTINES = "remote"


def check_scorer(experiment: Experiment, document: Document) -> Iterator[Diagnostic]:
    """What is wrong with the scorer and the manager, where their files are here."""
    rewards = experiment.rewards
    for word in ("manager", "scorer"):
        route = ("rewards", word)
        found, problem = _find(getattr(rewards, word), document, route)
        if problem is None and found is not None and word == "scorer":
            problem = _callable(found, rewards)
        if problem is not None:
            yield problem.at(document.place(route))


def _find(
    ref: str | None, document: Document, route: tuple[str, str]
) -> tuple[FunctionRef, None] | tuple[None, Problem | None]:
    """The function or class that `ref` names in a file that is here; nothing for names and for files elsewhere."""
    file = str(ref or "").rpartition(":")[0]
    if not file.endswith(".py") or not (document.base(route) / file).expanduser().is_file():
        return None, None
    found, problem = check_function(str(ref), document.base(route))
    return (None, problem) if found is None else (found, None)


def _callable(found: FunctionRef, rewards: Rewards) -> Problem | None:
    """Whether verl's call fits the parameters, and the manager takes such a function."""
    if found.is_async and rewards.manager == REFUSES_COROUTINES:
        message = f"the manager {REFUSES_COROUTINES} takes no coroutine, and {found.name} is one"
        return Problem("ORB154", message, help="write def instead of async def, or use another manager")
    if found.parameters is None or ":" in (rewards.manager or ""):
        return None  # not known without running it, or called by a manager of the user's
    names = [parameter.name for parameter in found.parameters]
    given = (*HANDED, *(WITH_JUDGE if rewards.model else ()), *(rewards.args or {}))
    for name in given:
        if name not in names and not found.open_ended:
            close = nearest(name, names)
            help = f"did you mean {close}?" if close else f"add {name}, or **kwargs"
            return Problem("ORB405", f"verl hands {name!r} to {found.name}, which does not take it", help=help)
    for parameter in found.parameters:
        if parameter.required and parameter.name not in given:
            message = f"nothing fills parameter {parameter.name!r} of {found.name}"
            help = f"give it under rewards.args, or use one of {', '.join(given)}"
            return Problem("ORB407", message, help=help, inside=found.place)
    return None
