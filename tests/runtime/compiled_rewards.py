"""A compiled folder that scores, made by a test and loaded the way verl loads it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.runtime.conftest import copy_reward_path


def compiled_rewards(folder: Path, parts: list[dict[str, Any]], code: str = "", **shared: Any) -> ModuleType:
    """reward.py of `folder`, with `code` as code/rewards.py and these parts in rewards.json."""
    (folder / "code").mkdir(exist_ok=True)
    (folder / "code" / "rewards.py").write_text(code, encoding="utf-8")
    copy_reward_path(folder)
    (folder / "rewards.json").write_text(json.dumps({"version": 1, **shared, "rewards": parts}), encoding="utf-8")
    forget()
    spec = importlib.util.spec_from_file_location("loaded_by_path", folder / "reward.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def forget() -> None:
    """Let the next folder load its own library and code, as another process would."""
    for name in [name for name in sys.modules if name.startswith("orbiter_reward") or name == "rewards"]:
        del sys.modules[name]
    sys.path[:] = [entry for entry in sys.path if not entry.endswith("/code")]


def part(function: str, **changes: Any) -> dict[str, Any]:
    item = {"name": function, "weight": 1.0, "kind": "function", "path": "code/rewards.py", "module": None}
    return {**item, "function": function, "args": {}, "on_error": "stop", **changes}


def builtin(function: str, **changes: Any) -> dict[str, Any]:
    return part(function, kind="builtin", path=None, **changes)


def judge(**changes: Any) -> dict[str, Any]:
    return {**part("judge", kind="judge", path=None), "function": None, "judge": {}, **changes}


def score(module: ModuleType, response: str = "2", expected: Any = "2", **info: Any) -> dict[str, Any]:
    result: dict[str, Any] = module.compute_score("sums", response, expected, info)
    return result
