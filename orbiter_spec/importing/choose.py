"""The first guess: what every spec has to say, and the algorithm's name by what the run does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orbiter_spec.importing.words_back import UNSAID, field_of, rows_of
from orbiter_spec.plan.algorithms import PRESETS
from orbiter_spec.plan.model import NEWEST_RELEASE

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
KL_ROUTE = "algorithm.kl.apply"
KL = "actor_rollout_ref.actor.use_kl_loss"


def first_guess(flat: Mapping[str, Any], engine: str, release: str = NEWEST_RELEASE) -> dict[str, Any]:
    """The fields that no spec can be without; a release that is not the newest is one of them."""
    fields = {
        "version": 1,
        "name": experiment_name(flat.get("trainer.experiment_name")),
        "agent.model.path": str(flat.get("actor_rollout_ref.model.path")),
        "dataset.train": _sources(flat.get("data.train_files")),
        "dataset.prepared": True,
        "rewards.scorer": "verl",
        "algorithm.name": algorithm_name(flat, engine),
        "hardware.gpus_per_node": flat.get("trainer.n_gpus_per_node"),
        "verl.defaults": True,
    }
    if flat.get("data.val_files") != flat.get("data.train_files"):
        fields["dataset.validation"] = _sources(flat.get("data.val_files"))
    if release != NEWEST_RELEASE:
        fields["verl.version"] = release
    if engine != "dp":
        fields["hardware.train.engine"] = engine
    return fields


def relative_files(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Data files that are not absolute: a spec would read them from its own folder, so verl gets the text as it was."""
    keys = ("data.train_files", "data.val_files")
    return {
        key: flat[key]
        for key in keys
        if key in flat and any(not str(path).startswith("/") for path in _listed(flat.get(key)))
    }


def experiment_name(name: Any) -> str:
    """A name of the language, as near as possible to verl's."""
    safe = UNSAFE.sub("-", str(name)).strip("-._")[:100]
    return safe if safe[:1].isalnum() else f"run-{safe}"


def algorithm_name(flat: Mapping[str, Any], engine: str) -> str:
    """The name whose preset agrees best with the run; the plainest of equals."""
    estimator = flat.get("algorithm.adv_estimator")
    names = [name for name, preset in PRESETS.items() if preset.estimator == estimator] or ["grpo"]
    return min(names, key=lambda name: _disagreements(PRESETS[name].settings, flat, engine))


def _disagreements(settings: Mapping[str, Any], flat: Mapping[str, Any], engine: str) -> int:
    if "algorithm.filter_groups.metric" in settings and not flat.get("algorithm.filter_groups.enable"):
        return 99
    agreed = {route: bool(said(route, flat, engine) == value) for route, value in settings.items()}
    return list(agreed.values()).count(False) - sum(agrees for route, agrees in agreed.items() if route != KL_ROUTE)


def said(route: str, flat: Mapping[str, Any], engine: str) -> Any:
    """The value that the run gives a field."""
    if route == KL_ROUTE:
        fields = field_of(KL, flat, engine)
        return None if fields is UNSAID or not isinstance(fields, dict) else fields[route]
    key = next((key for key, row in rows_of(engine).items() if row.field == route), None)
    return None if key is None else flat.get(key)


def _listed(files: Any) -> list[Any]:
    return list(files) if isinstance(files, list) else [files]


def _sources(files: Any) -> Any:
    return [str(path) for path in files] if isinstance(files, list) else str(files)
