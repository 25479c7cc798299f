"""`launch.json`: what a compiled run asks of the launcher rather than of verl.

Compile writes it where the spec says anything of the kind; names of variables and references to secrets stand in it,
their values never do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

SETTINGS_FILE = "launch.json"


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Where the run goes. `kind` is the launcher, `local` for this machine."""

    kind: str = "local"
    address: str | None = None
    folder: str | None = None
    image: str | None = None
    namespace: str | None = None
    queue: str | None = None
    account: str | None = None
    minutes: int | None = None
    setup: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """Retries, environment, secrets by reference, cluster."""

    retries: int = 0
    env: tuple[str, ...] = ()
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)


def read_settings(compiled: Path) -> LaunchSettings:
    """The settings of a compiled folder; the defaults where it has none.

    Raises:
        ValueError: when `launch.json` is not what compile writes.
    """
    try:
        values = json.loads((compiled / SETTINGS_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return LaunchSettings()
    except (OSError, ValueError) as error:
        raise ValueError(f"{compiled / SETTINGS_FILE} cannot be read: {error}") from error
    try:
        return _settings(values)
    except (TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{compiled / SETTINGS_FILE} is not what compile writes") from error


def _settings(values: Mapping[str, Any]) -> LaunchSettings:
    cluster = {key: value for key, value in (values.get("cluster") or {}).items() if key in _names(ClusterSettings)}
    cluster["setup"] = tuple(cluster.get("setup") or ())
    return LaunchSettings(
        int(values.get("retries") or 0),
        tuple(values.get("env") or ()),
        {name: dict(reference or {}) for name, reference in (values.get("secrets") or {}).items()},
        ClusterSettings(**cluster),
    )


def _names(cls: type) -> set[str]:
    return {one.name for one in fields(cls)}
