"""orbiter-spec: one experiment YAML becomes a checked plan, a verl configuration and a training run.

The library says the same as the commands. Nothing heavy is imported until one of these names is used.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"
__all__ = ["compile", "load", "plan", "run", "validate"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from orbiter_spec import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
