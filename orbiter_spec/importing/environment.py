"""`${oc.env:NAME}` in a launch command: OmegaConf reads the environment when the run starts, importing reads it now.

A variable that is not set and has no default would stop the run; here the override is left out and told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orbiter_spec.diagnostics import Diagnostic
from orbiter_spec.importing.reading import Text
from orbiter_spec.importing.settings import Settings

ENVIRONMENT = re.compile(r"(?<!\\)\$\{oc\.env:\s*(\w+)\s*(?:,([^{}]*))?\}")


class _UnsetError(Exception):
    pass


def fill_environment(settled: Settings, environ: Mapping[str, str], text: Text) -> list[Diagnostic]:
    """Put the environment's values into the settings; a finding for each that is left out."""
    found = []
    for key in list(settled.values):
        try:
            settled.values[key] = _filled(settled.values[key], environ)
        except _UnsetError as unset:
            del settled.values[key]
            message = f"{key} reads {unset} from the environment, which has none, so the override is left out"
            place = text.place(settled.lines.get(key, 1), key)
            found.append(Diagnostic("ORB661", message, place, help=f"set {unset} when you import, or write the value"))
    return found


def _filled(value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(item, environ) for name, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, environ) for item in value]
    return ENVIRONMENT.sub(lambda sign: _value(sign, environ), value) if isinstance(value, str) else value


def _value(sign: re.Match[str], environ: Mapping[str, str]) -> str:
    value = environ.get(sign[1], None if sign[2] is None else sign[2].strip().strip("'\""))
    if value is None:
        raise _UnsetError(sign[1])
    return value.replace("${", "\\${")
