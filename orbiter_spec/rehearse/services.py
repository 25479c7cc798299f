"""The services that a spec asks over the network, and the stand-in that answers in their place in a rehearsal.

Judges, teachers that write rows and sandboxes cost money, take data, or are in reach of the cluster only. So a
rehearsal asks none of them unless it is told to; what it exercises is everything up to their door.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from orbiter_spec.plan.model import Plan
from orbiter_spec.rehearse.changes import Change, LeftOut
from orbiter_spec.rehearse.stand_in import StandIn, drawn
from orbiter_spec.spec.rewards import Judge

HERE = "nothing leaves this machine; --ask-services asks the real one"
KEY = "no key leaves this machine"
SERVED = "the model behind it needs an inference engine on GPUs"


@dataclass(frozen=True, slots=True)
class Service:
    """One that a spec names: what it is called in reports, the name under which it is counted, and its address.

    `address` is None for a model that the run itself would serve.
    """

    what: str
    name: str
    address: str | None


def services(plan: Plan) -> list[Service]:
    """Every service of the spec."""
    found = [
        Service(f"the verdicts of {part.label!r}", f"judge-{index}", part.judge.address)
        for index, part in _judges(plan)
    ]
    found += [Service("the rows of a teacher", f"teacher-{index}", str(step["url"])) for index, step in _teachers(plan)]
    sandbox = plan.experiment.rewards.sandbox
    if sandbox is not None:
        found.append(Service("programs in the sandbox", "sandbox", sandbox.url))
    return found


def replace_services(plan: Plan, stand_in: StandIn, *, ask: bool) -> Iterator[Change]:
    """Lead the spec to `stand_in`; with `ask` only where the run itself would serve the model."""
    for index, part in _judges(plan):
        if part.judge.address is None or not ask:
            yield from _judge(index, part.judge, stand_in)
    if ask:
        return
    for index, step in _teachers(plan):
        yield from _teacher(index, step, stand_in)
    if plan.experiment.rewards.sandbox is not None:
        yield Change("rewards.sandbox.url", stand_in.sandbox, HERE)


def unasked(plan: Plan, *, ask: bool) -> Iterator[LeftOut]:
    """What the stand-in answered in the place of."""
    for service in services(plan):
        if service.address is None or not ask:
            where = "the model that the run serves" if service.address is None else service.address
            yield LeftOut(service.what, f"a stand-in on this machine answered, not {where}")


def _judges(plan: Plan) -> Iterator[tuple[int, Any]]:
    return ((index, part) for index, part in enumerate(plan.experiment.rewards.parts) if part.judge is not None)


def _teachers(plan: Plan) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for index, step in enumerate(plan.experiment.dataset.pipeline or ()):
        if step.synthesize is not None:
            yield index, step.synthesize.model_dump(exclude_none=True)


def _judge(index: int, judge: Judge, stand_in: StandIn) -> Iterator[Change]:
    route = f"rewards.parts[{index}].judge"
    why = HERE if judge.address else SERVED
    yield Change(f"{route}.address", stand_in.chat(f"judge-{index}", verdict(judge)), why)
    if judge.model is None:
        yield Change(f"{route}.model", "stand-in", why)
    yield Change(f"{route}.cache", False, "its verdicts are not worth keeping")
    if judge.api_key_env is not None:
        yield Change(f"{route}.api_key_env", None, KEY)


def verdict(judge: Judge) -> Callable[[random.Random], str]:
    """Makes replies in the form that `judge` asks for, with a grade drawn from its scale."""
    low, high = judge.scale or (0.0, 10.0)

    def answer(draw: random.Random) -> str:
        grade = draw.choice(list(judge.labels)) if judge.labels else _grade(low, high, draw)
        field = judge.grade or ("label" if judge.labels else "score")
        form = drawn(judge.verdict, draw) if judge.verdict else {"reason": "a stand-in of the rehearsal"}
        return json.dumps({**form, field: grade})

    return answer


def _grade(low: float, high: float, draw: random.Random) -> float:
    """A whole number where the scale has one, which suits schemas of integers too."""
    whole = range(ceil(low), floor(high) + 1)
    return draw.choice(whole) if whole else draw.uniform(low, high)


def _teacher(index: int, step: Mapping[str, Any], stand_in: StandIn) -> Iterator[Change]:
    route = f"dataset.pipeline[{index}].synthesize"
    yield Change(f"{route}.url", stand_in.chat(f"teacher-{index}", lesson(step)), HERE)
    yield Change(f"{route}.cache", str(stand_in.folder / "answers.sqlite"), "real answers stay apart")
    for name, why in (("api_key_env", KEY), ("requests_per_minute", "the stand-in answers at once")):
        if step.get(name) is not None:
            yield Change(f"{route}.{name}", None, why)


def lesson(step: Mapping[str, Any]) -> Callable[[random.Random], str]:
    """Makes answers with the fields that the step requires; each is a small number, which is text as well."""

    def answer(draw: random.Random) -> str:
        number = str(draw.randint(0, 99))
        if step.get("format") != "json":
            return number
        return json.dumps(dict.fromkeys(step.get("required") or ("answer",), number))

    return answer
