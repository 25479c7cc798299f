"""In what several runs differ: verl's configuration, the declared rewards, and the files that were read.

A reward's weight or a row of data is no key of verl's, so the configuration alone would call two such runs the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from orbiter_spec.launch.verl_config import read_verl_config
from orbiter_spec.lower.meaning import ABSENT, differences, flatten, meaning_of
from orbiter_spec.report.run_view import RunView, read_json

TEXT_OF_VALUE = 300
HASH_CHARACTERS = 12


def difference_groups(runs: list[RunView]) -> list[dict[str, Any]]:
    """Keys on which the runs' configurations differ, by what a difference means; empty for one run."""
    configs = [_configuration(run) for run in runs]
    keys = {one.key for config in configs[1:] for one in differences(configs[0], config)}
    ordered = sorted(keys, key=lambda key: (_rank(key), key))
    return [
        {"meaning": meaning, "rows": [_difference(key, configs) for key in group]}
        for meaning, group in groupby(ordered, key=lambda key: meaning_of(key).value)
    ]


def _rank(key: str) -> int:
    meanings = list(type(meaning_of(key)))
    return meanings.index(meaning_of(key))


def _difference(key: str, configs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    values = [config.get(key, ABSENT) for config in configs]
    texts = [value if isinstance(value, str) else json.dumps(value, default=str) for value in values]
    return {"key": key, "values": [text[:TEXT_OF_VALUE] for text in texts]}


def _configuration(run: RunView) -> dict[str, Any]:
    return {**_verl(run), **_rewards(run), **_files(run)}


def _verl(run: RunView) -> dict[str, Any]:
    try:
        return flatten(read_verl_config(run.folder.compiled).values)
    except (OSError, ValueError):
        return {}


def _rewards(run: RunView) -> dict[str, Any]:
    """Each part of the reward by its name, in the order of the file where it has none."""
    declared = read_json(run.folder.compiled / "rewards.json").get("rewards")
    parts = [part for part in declared if isinstance(part, dict)] if isinstance(declared, list) else []
    named = {str(part.get("name", number)): _said(part) for number, part in enumerate(parts)}
    return flatten({"rewards": named})


def _said(part: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != "name" and value not in (None, {})}


def _files(run: RunView) -> dict[str, str]:
    """The files that the spec names, by the beginning of their hash; the spec itself is in the configuration."""
    sources = read_json(run.folder.compiled / "manifest.json").get("sources")
    read = sources.items() if isinstance(sources, dict) else ()
    return {
        f"file {name}": str(digest)[:HASH_CHARACTERS] for name, digest in read if not name.endswith((".yaml", ".yml"))
    }
