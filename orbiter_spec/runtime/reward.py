"""The reward function of a run: what `rewards.json` beside this file declares, as the two functions that verl calls.

`compile` copies this file and the folder `reward_library` into the compiled folder, where verl calls
`compute_score_async` for every response, or `compute_score` from managers that want no coroutine (keys
`reward.custom_reward_function.path` and `.name`). Neither needs orbiter-spec. verl loads this file by path and without
an entry in `sys.modules`, and may send the function to another process, so nothing here keeps a state: the library is
loaded once a process under a name made of its path. The parts are loaded with it, so that one that cannot be loaded
ends the run before the first prompt.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
SERVE_FLAG = "--serve-reward"


def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any] | None = None, **kwargs: Any
) -> dict[str, Any]:
    """Score one response: `score` is the total, the other keys are the parts before their weights.

    `ground_truth` and `extra_info` are those of the row; other keyword arguments reach functions that take them.
    Raises RuntimeError, with a message that begins with `orbiter-spec:`, when a part fails and is to stop the run.
    """
    sample = _sample(data_source, solution_str, ground_truth, dict(extra_info or {}))
    result: dict[str, Any] = _library().scorer(str(FOLDER)).score({**kwargs, **sample})
    return result


async def compute_score_async(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any] | None = None, **kwargs: Any
) -> dict[str, Any]:
    """As `compute_score`, as a coroutine: a part that waits keeps no other response waiting."""
    sample = _sample(data_source, solution_str, ground_truth, dict(extra_info or {}))
    result: dict[str, Any] = await _library().scorer(str(FOLDER)).score_async({**kwargs, **sample})
    return result


def _sample(data_source: str, response: str, ground_truth: Any, extra_info: dict[str, Any]) -> dict[str, Any]:
    """The values that parameters are filled with. Rows built by orbiter-spec carry their own fields as JSON text, so
    that one parquet schema fits every row; here they are the row again, and are seen in `extra_info` as well.
    """
    expected, row = ground_truth, extra_info
    if isinstance(extra_info.get("fields"), str):
        row = json.loads(extra_info.pop("fields"))
        typed = extra_info.pop("expected", None)
        expected = ground_truth if typed is None else json.loads(typed)
        extra_info = {**row, **extra_info}
    return {
        "response": response,
        "solution_str": response,
        "output": response,
        "expected": expected,
        "ground_truth": expected,
        "prompt": extra_info.get("prompt"),
        "row": row,
        "extra_info": extra_info,
        "data_source": data_source,
    }


def _library() -> Any:
    """The package beside this file, loaded once a process."""
    home = FOLDER / "reward_library" / "__init__.py"
    name = f"orbiter_reward_library_{abs(hash(str(home))):x}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, home, submodule_search_locations=[str(home.parent)])
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


if __name__ == "__main__" and SERVE_FLAG in sys.argv:
    _library().serve(Path(sys.argv[-1]))
elif (FOLDER / "rewards.json").exists():
    _library().scorer(str(FOLDER))
