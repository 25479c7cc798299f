"""The reward function of a run: the weighted sum of the parts declared in `rewards.json` beside this file.

`compile` copies this file into the compiled folder, where verl calls `compute_score` for every response (keys
`reward.custom_reward_function.path` and `.name`). It needs the standard library only, so a run needs no orbiter-spec.
verl loads it by path and without an entry in `sys.modules`, so nothing here depends on being importable. The parts are
loaded with it, so that a part that cannot be loaded ends the run before the first prompt.

verl gets the total under `score` and every part, before its weight, under its own name. A part that raises or gives
something other than a finite number is never taken for zero: with `on_error: stop` it ends the run through a
`RewardError` whose message begins with `orbiter-spec:`; with a number it counts as that number, and `<name>/errors`
is 1 for that sample.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import json
import math
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Mapping
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent
CODE_FOLDER = "code"
REWARDS_FILE = "rewards.json"
STOP = "stop"
SHOWN_FAILURES = 3
MESSAGE_CHARACTERS = 600

CONTEXT_NAMES = (
    "response",
    "solution_str",
    "output",
    "expected",
    "ground_truth",
    "prompt",
    "row",
    "extra_info",
    "data_source",
)
"""Parameter names of a reward function that are filled for each sample; `args` of the spec fills the others."""

VERL_NAMES = ("reward_router_address", "reward_model_tokenizer")
"""Parameter names that verl fills when a reward model runs beside the reward function."""


class RewardError(RuntimeError):
    """A part of the reward cannot be loaded, or could not score a sample and is to stop the run."""


class Part(NamedTuple):
    """One part, ready to be called with the values of a sample by name."""

    name: str
    weight: float
    on_error: str | float
    where: str
    call: Callable[[Mapping[str, Any]], Any]


def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any] | None = None, **kwargs: Any
) -> dict[str, Any]:
    """Score one response: `score` is the weighted total, the other keys are the parts.

    `ground_truth` and `extra_info` are those of the row; other keyword arguments reach functions that take them.
    Raises `RewardError` as the module says.
    """
    sample = _sample(data_source, solution_str, ground_truth, dict(extra_info or {}))
    total, scores = 0.0, dict[str, Any]()
    for part in _parts():
        value, scores_of_part = _score(part, {**kwargs, **sample})
        total += part.weight * value
        scores.update(scores_of_part)
    return {"score": total, **scores}


def _sample(data_source: str, response: str, ground_truth: Any, extra_info: dict[str, Any]) -> dict[str, Any]:
    """The values of `CONTEXT_NAMES`. Rows built by orbiter-spec carry their own fields as JSON text, so that one
    parquet schema fits every row; here they are the row again, and are seen in `extra_info` as well.
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


def _score(part: Part, sample: Mapping[str, Any]) -> tuple[float, dict[str, Any]]:
    """The part's value and everything that is logged for it."""
    try:
        value, extras = _read(part.call(sample))
        failed = 0.0
    except Exception as error:
        value, extras, failed = _on_error(part, sample, error), {}, 1.0
    logged = {part.name: value, **{f"{part.name}/{key}": extra for key, extra in extras.items()}}
    if part.on_error != STOP:
        logged[f"{part.name}/errors"] = failed
    return value, logged


def _read(result: Any) -> tuple[float, dict[str, Any]]:
    """A function's result as a finite number and the other things it reported."""
    if isinstance(result, Mapping):
        if "score" not in result:
            raise ValueError(f"returned a mapping without score: {sorted(map(str, result))}")
        return _number(result["score"]), {str(key): _plain(extra) for key, extra in result.items() if key != "score"}
    return _number(result), {}


def _number(value: Any) -> float:
    if value is None or isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise ValueError(f"returned {_short(repr(value), 80)}, which is not a number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"returned {number}, which is not a finite number")
    return number


def _plain(extra: Any) -> float | str | None:
    """What verl can average (a finite number), write down (text), or leave out (None)."""
    if extra is None or isinstance(extra, str):
        return extra
    if hasattr(extra, "__float__"):
        number = float(extra)
        return number if math.isfinite(number) else None
    return str(extra)


_failures: dict[str, int] = {}


def _on_error(part: Part, sample: Mapping[str, Any], error: Exception) -> float:
    """The number that counts instead, or the end of the run."""
    message = _message(part, sample, error)
    _failures[part.name] = count = _failures.get(part.name, 0) + 1
    if count <= SHOWN_FAILURES:
        print("".join(traceback.format_exception(error)) + message, file=sys.stderr, flush=True)
    if not isinstance(part.on_error, str):
        return part.on_error
    raise RewardError(message) from error


def _message(part: Part, sample: Mapping[str, Any], error: Exception) -> str:
    info = sample["extra_info"]
    said = str(error) if isinstance(error, ValueError) and str(error).startswith("returned ") else ""
    said = said or f"raised {type(error).__name__}: {error}"
    row = f"{info['source']} row {info['row']}" if "source" in info and "row" in info else ""
    where = ", ".join(text for text in (row, f"split {info['split']}" if "split" in info else "") if text)
    index = f"sample {info.get('index', '?')}" + (f" ({where})" if where else "")
    return _short(f"orbiter-spec: reward {part.name!r} ({part.where}) failed on {index}: {said}", MESSAGE_CHARACTERS)


def _short(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


_lock = threading.Lock()
_loaded: list[Part] = []


def _parts() -> list[Part]:
    with _lock:
        if not _loaded:
            _loaded.extend(load_parts(FOLDER))
        return _loaded


def load_parts(folder: Path) -> list[Part]:
    """The parts that the rewards file in `folder` declares. Raises `RewardError` naming one that cannot be loaded."""
    declared = json.loads((folder / REWARDS_FILE).read_text(encoding="utf-8"))
    return [_load_part(folder, item) for item in declared["rewards"]]


def _load_part(folder: Path, item: Mapping[str, Any]) -> Part:
    where = ":".join(str(text) for text in (item.get("path") or item.get("module"), item["function"]) if text)
    args = dict(item.get("args") or {})
    try:
        function = _find_function(folder, item)
        call = _adapt(function, args)
        if item["kind"] == "builtin":
            call({"response": "0", "expected": "0"})
    except Exception as error:
        said = f"{error}" if isinstance(error, (RewardError, ValueError)) else f"{type(error).__name__}: {error}"
        message = f"orbiter-spec: reward {item['name']!r} ({where}) cannot be loaded: {said}"
        print(message := _short(message, MESSAGE_CHARACTERS), file=sys.stderr, flush=True)
        raise RewardError(message) from error
    on_error = item.get("on_error", STOP)
    return Part(item["name"], float(item["weight"]), STOP if on_error == STOP else float(on_error), where, call)


def _find_function(folder: Path, item: Mapping[str, Any]) -> Callable[..., Any]:
    name = item["function"]
    if item["kind"] == "builtin":
        function = _execute("orbiter_reward_builtins", folder / "reward_builtins.py").FUNCTIONS.get(name)
    else:
        path, module = item.get("path"), item.get("module")
        code = (folder / path).parent if path else folder / CODE_FOLDER
        _see_code(code)
        _check_neighbours(code, folder, path)
        function = getattr(_module_at(folder / path) if path else importlib.import_module(str(module)), name, None)
    if not callable(function):
        raise RewardError(f"there is no function {name!r}")
    return function  # type: ignore[no-any-return]


def _see_code(folder: Path) -> None:
    """Let user's files import their neighbours: after the standard library, before what is installed."""
    if not folder.is_dir() or str(folder) in sys.path:
        return
    installed = [index for index, entry in enumerate(sys.path) if Path(entry).name.endswith("-packages")]
    sys.path.insert(installed[0] if installed else len(sys.path), str(folder))


def _check_neighbours(code: Path, folder: Path, own: str | None) -> None:
    """Python keeps one module of a name: a neighbour must not stand in for the one of another reward's folder."""
    for path in code.glob("*.py"):
        file = getattr(sys.modules.get(path.stem), "__file__", None)
        elsewhere = file and folder in Path(file).parents and Path(file) != path
        if elsewhere and (own is None or path != folder / own):
            raise RewardError(f"two folders of rewards have a {path.name} that is imported; rename one")


def _module_at(path: Path) -> ModuleType:
    """The module in a file, the same one that its neighbours get when they import it."""
    try:
        spec = importlib.util.find_spec(path.stem)
    except ValueError:
        spec = None
    if spec is not None and spec.origin and Path(spec.origin).resolve() == path.resolve():
        return importlib.import_module(path.stem)
    return _execute(f"orbiter_{path.stem}", path)


def _execute(name: str, path: Path) -> ModuleType:
    name = f"{name}_{abs(hash(str(path))):x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RewardError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _adapt(function: Callable[..., Any], args: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Any]:
    """A function of any accepted signature, as one that takes a sample's values by name."""
    parameters = list(inspect.signature(function).parameters.values())
    named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    _check_parameters(named, open_ended, args)
    first = [p.name for p in named if p.kind is p.POSITIONAL_ONLY]
    rest = {p.name for p in named if p.kind is not p.POSITIONAL_ONLY}

    def call(sample: Mapping[str, Any]) -> Any:
        values = {**sample, **args}
        before = [values[name] for name in takewhile(values.__contains__, first)]
        extra = {*args, *VERL_NAMES} - set(first) if open_ended else set()
        result = function(*before, **{name: values[name] for name in rest | extra if name in values})
        return _wait(result) if inspect.iscoroutine(result) else result

    return call


def _check_parameters(named: list[inspect.Parameter], open_ended: bool, args: Mapping[str, Any]) -> None:
    unknown = set(args) - {parameter.name for parameter in named}
    if unknown and not open_ended:
        raise RewardError(f"args has {', '.join(sorted(unknown))}, which the function does not take")
    for parameter in named:
        known = parameter.name in CONTEXT_NAMES or parameter.name in VERL_NAMES or parameter.name in args
        if parameter.default is parameter.empty and not known:
            names = ", ".join(CONTEXT_NAMES)
            raise RewardError(f"parameter {parameter.name!r} has no value; give it under args, or use one of {names}")


_loop: list[asyncio.AbstractEventLoop] = []


def _wait(result: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on one loop that all threads share, so that a function may keep a session between samples.

    verl calls `compute_score` from threads of its own, which may wait.
    """
    with _lock:
        if not _loop:
            _loop.append(asyncio.new_event_loop())
            threading.Thread(target=_loop[0].run_forever, name="orbiter-rewards", daemon=True).start()
    return asyncio.run_coroutine_threadsafe(result, _loop[0]).result()


if (FOLDER / REWARDS_FILE).exists():
    _parts()
