"""The parts of verl that the CPU engine stands on: looked up by name, or an error that says what is gone."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def require(module: ModuleType, name: str) -> Any:
    """The attribute `name` of a verl module, or an error that says what moved."""
    if not hasattr(module, name):
        raise moved(module, name)
    return getattr(module, name)


def moved(module: ModuleType, name: str) -> ImportError:
    """The error for a verl whose code is not the one this package was written against."""
    return ImportError(f"orbiter-spec's CPU engine expects {name} in {module.__name__}; this verl does not have it")
