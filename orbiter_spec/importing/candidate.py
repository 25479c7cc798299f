"""A spec in the making: fields of the language, and the hatch for what no field says.

The planner and the lowering judge it. A field that the language refuses, or that does not give the key its value, goes
to the hatch; a field is only ever added because something differed without it, so nothing is said twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from orbiter_spec.importing.compare import ABSENT, Difference, differences, flatten
from orbiter_spec.importing.settings import follows
from orbiter_spec.importing.words_back import UNSAID, field_of
from orbiter_spec.lower.compose import REMOVED, compose
from orbiter_spec.lower.lowering import SWITCHES, Lowered, as_written, lower
from orbiter_spec.lower.target import Target
from orbiter_spec.plan import make_plan
from orbiter_spec.spec.experiment import Experiment
from orbiter_spec.spec.fields import fields

ROUNDS = 8
NEEDED = {
    "hardware.gpus_per_node": "trainer.n_gpus_per_node",
    "agent.model.path": "actor_rollout_ref.model.path",
    "dataset.train": "data.train_files",
    "dataset.validation": "data.val_files",
}
"""The fields that no spec can be without, and their keys."""


class RefusedError(Exception):
    """The language has no place for a value that every spec needs; `reasons` by key."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__("; ".join(reasons.values()))
        self.reasons = reasons


FIXED = (
    "version",
    "name",
    "agent.model.path",
    "dataset.train",
    "dataset.prepared",
    "algorithm.name",
    "verl.defaults",
    "verl.version",
)


@dataclass
class Candidate:
    """Fields by route (`route|entry` for one entry of a mapping), hatch by key, and which keys each field is for."""

    engine: str
    original: Mapping[str, Any]
    fields: dict[str, Any]
    hatch: dict[str, Any] = field(default_factory=dict)
    keys: dict[str, set[str]] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    lowered: Lowered | None = None

    def data(self) -> dict[str, Any]:
        """The spec as plain data."""
        tree: dict[str, Any] = {}
        for route, value in self.fields.items():
            section, _, entry = route.partition("|")
            parts = [*section.split("."), *(entry.split(".") if entry else ())]
            _put(tree, parts, value)
        if self.hatch:
            _put(tree, ["verl", "overrides"], {key: as_written(value) for key, value in self.hatch.items()})
        return tree

    def give_up(self, routes: Iterable[str]) -> None:
        """Move fields to the hatch."""
        for route in list(routes):
            if route in FIXED or route not in self.fields:
                continue
            del self.fields[route]
            for key in self.keys.pop(route, ()):
                if key in self.original:
                    self.hatch[key] = self.original[key]

    def say(self, key: str) -> None:
        """Say `key` by a field where one can, else through the hatch."""
        said = field_of(key, self.original, self.engine)
        if key in self.tried or said is UNSAID or not isinstance(said, dict) or None in said.values():
            self.hatch[key] = self.original[key]
            return
        self.tried.add(key)
        for route, value in said.items():
            if route == "name":
                self.hatch[key] = self.original[key]
            else:
                self.fields[route] = value
                self.keys.setdefault(route, set()).add(key)

    def experiment(self) -> Experiment:
        """The experiment; fields the language refuses have gone to the hatch. RefusedError where one is needed."""
        empty = [key for route, key in NEEDED.items() if route in self.fields and self.fields[route] is None]
        if empty:
            raise RefusedError(dict.fromkeys(empty, "every run needs a value here"))
        while True:
            data = self.data()
            try:
                return Experiment.model_validate(data)
            except ValidationError as error:
                for item in error.errors(include_url=False):
                    self.refused |= dict.fromkeys(self._refused(item["loc"], data), item["msg"])
                if not self.fields.keys() & self.refused.keys() - set(FIXED):
                    raise RefusedError(self._needed() or {"": str(error)}) from None
                self.give_up(self.refused)

    def _needed(self) -> dict[str, str]:
        return {
            key: self.refused[route] for route, key in NEEDED.items() if route in self.refused and key in self.original
        }

    def _refused(self, location: tuple[int | str, ...], data: Any) -> list[str]:
        """The fields below the part of pydantic's location that exists in the data."""
        route: list[str] = []
        for part in location:
            if isinstance(data, dict) and part in data:
                data = data[part]
                route.append(str(part))
            elif not isinstance(data, dict):
                break
        prefix = ".".join(route)
        return [name for name in self.fields if (name + ".").startswith(prefix + ".") or name.startswith(prefix + "|")]


def _put(tree: dict[str, Any], parts: list[str], value: Any) -> None:
    for part in parts[:-1]:
        child = tree.setdefault(part, {})
        if not isinstance(child, dict):
            child = tree[part] = {}
        tree = child
    tree[parts[-1]] = value


def compiled(candidate: Candidate, target: Target) -> dict[str, Any]:
    """What the candidate compiles to, leaf by leaf; paths stand as they are written."""
    experiment = candidate.experiment()
    plan = make_plan(experiment, paths=paths_of(experiment), release=target.version)
    candidate.lowered = lower(plan, target)
    return flatten(compose(target, candidate.lowered.engine, candidate.lowered.settings))


def paths_of(experiment: Experiment) -> dict[str, Any]:
    """What routes that name files mean to verl when every file stays where it is."""
    paths: dict[str, Any] = {}
    for route, written in (
        ("dataset.train", experiment.dataset.train),
        ("dataset.validation", _validation(experiment)),
    ):
        if written is not None:
            listed = written if isinstance(written, list) else [written]
            paths[route] = [getattr(source, "path", source) for source in listed]
    return paths


def _validation(experiment: Experiment) -> Any:
    validation = experiment.dataset.validation
    return getattr(validation, "path", validation)


def fit(candidate: Candidate, target: Target, explicit: set[str]) -> list[Difference]:
    """Add fields until the candidate compiles to the original; what remains different is returned.

    Keys that were written come first, of those the ones that verl does not take from elsewhere, so that what merely
    follows by interpolation is not said.
    """
    following = {key for key in explicit if follows(target, candidate.engine, key)}
    passes = (explicit - following, explicit)
    left: list[Difference] = []
    for turn in range(ROUNDS):
        left = differences(candidate.original, compiled(candidate, target))
        if not left:
            break
        chosen = _chosen(left, passes[turn] if turn < len(passes) else None, candidate.engine, target)
        for found in chosen:
            if found.original is ABSENT or found.original is REMOVED:
                _without(candidate, found.key)
            else:
                candidate.say(found.key)
    _tidy(candidate)
    return left


def _chosen(left: list[Difference], keys: set[str] | None, engine: str, target: Target) -> list[Difference]:
    """The differences to look at: those of `keys`, or in later rounds first the ones that follow nothing."""
    if keys is not None:
        return [found for found in left if found.key in keys]
    return [found for found in left if not follows(target, engine, found.key)] or left


def _tidy(candidate: Candidate) -> None:
    """Drop `enabled: true` from sections that say something else, and put fields in the order of the language."""
    for switch in SWITCHES:
        enabled = f"{switch.section}.enabled"
        others = [name for name in candidate.fields if name.startswith(f"{switch.section}.") and name != enabled]
        if candidate.fields.get(enabled) is True and others:
            del candidate.fields[enabled]
    order = {route: index for index, route in enumerate(fields())}
    candidate.fields = dict(sorted(candidate.fields.items(), key=lambda item: order.get(item[0].partition("|")[0], 0)))


def _without(candidate: Candidate, key: str) -> None:
    """Take out the fields that gave a key which the original does not have."""
    assert candidate.lowered is not None
    route = candidate.lowered.routes.get(key, "")
    routes = [name for name in candidate.fields if name.startswith((route + ".", route + "|")) or name == route]
    if key.startswith("reward.reward_kwargs."):
        routes += [name for name in candidate.fields if name.startswith("algorithm.overlong.")]
    candidate.give_up(routes)
