"""What all parts of a run share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Settings(NamedTuple):
    """The folder of rewards.json, and the reward model and the sandbox that it declares."""

    folder: Path
    model: Mapping[str, Any] | None = None
    sandbox: Mapping[str, Any] | None = None
