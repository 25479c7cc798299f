"""`agent.json` as the loop and the tools read it. `compile` writes it; every value is there."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

AGENT_FILE = "agent.json"
CODE_FOLDER = "code"


@lru_cache(maxsize=8)
def read_settings(path: str | None = None) -> dict[str, Any]:
    """The settings in `path`, or in the file beside this package."""
    file = Path(path) if path else Path(__file__).resolve().parent.parent / AGENT_FILE
    settings: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    settings["host"] = {"folder": str(file.resolve().parent), "code": CODE_FOLDER, **settings["host"]}
    return settings
