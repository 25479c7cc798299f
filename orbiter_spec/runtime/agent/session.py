"""The user's side of episodes and tool calls, one after another, in a forked process.

Requests and answers are JSON lines on a socket. The process has its own memory limit, writes at most a few characters
where everybody writes, and ends with `os._exit`, so whatever the user's code does stays in here: an exception, a
`sys.exit`, a crash, an endless loop (the host is told to kill it), a flood of text. An error is answered with the file
and line of the user's code where it happened.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import json
import random
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from .environments import EnvironmentConfig
from .leftovers import Beginning, size_bytes

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

MESSAGE_CHARACTERS = 600
OBSERVATION_CHARACTERS = 200_000


class Printed(io.TextIOBase):
    """Takes what the code prints, passes on the first `limit` characters, and remembers who printed too much."""

    def __init__(self, target: TextIO, limit: int, code: Path) -> None:
        self.target, self.left, self.code = target, limit, code
        self.characters = 0
        self.where = ""

    def write(self, text: str) -> int:
        """Pass on what still fits."""
        self.characters += len(text)
        shown, self.left = text[: self.left], self.left - min(self.left, len(text))
        if shown:
            self.target.write(shown)
            self.target.flush()
        if len(shown) < len(text) and not self.where:
            self.where = place_of(traceback.extract_stack(limit=40), self.code)
            self.target.write(f"\norbiter-spec: {self.where} prints more than is kept; the rest is dropped\n")
            self.target.flush()
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""


def place_of(frames: traceback.StackSummary, code: Path) -> str:
    """`file line N in function` of the innermost frame in the user's folder, or of the innermost frame."""
    own = [frame for frame in frames if Path(frame.filename).is_absolute() and code in Path(frame.filename).parents]
    frame = (own or list(frames))[-1] if frames else None
    if frame is None:
        return ""
    name = Path(frame.filename)
    shown = name.relative_to(code) if own else name.name
    return f"{shown} line {frame.lineno} in {frame.name}"


def describe(error: BaseException, code: Path) -> dict[str, Any]:
    """An error as the answer to a request: what it said, and where in the user's code."""
    if isinstance(error, SystemExit):
        said, kind = f"called sys.exit({error.code!r})", "exit"
    elif isinstance(error, MemoryError):
        said, kind = "ran out of the memory it may use", "memory"
    elif isinstance(error, SyntaxError) and error.filename:
        said, kind = f"is not valid Python: {error.msg} ({Path(error.filename).name} line {error.lineno})", "error"
    else:
        said, kind = f"raised {type(error).__name__}: {_said(error)}".removesuffix(": "), "error"
    where = place_of(traceback.extract_tb(error.__traceback__), code)
    return {"error": shorten(said), "kind": kind, "where": where}


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:
        return ""


def shorten(text: str) -> str:
    """One line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= MESSAGE_CHARACTERS else line[: MESSAGE_CHARACTERS - 3] + "..."


class Session:
    """Answers requests, one after another. The answer that ends an episode or call says whether it left nothing."""

    def __init__(self, objects: Mapping[str, Any], code: Path, beginning: Beginning) -> None:
        self.objects, self.code, self.beginning = objects, code, beginning
        self.environment: Any = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def answer(self, line: str) -> dict[str, Any]:
        """The reply to one request; an error of the user's code is a reply too."""
        try:
            request = json.loads(line)
            call: Callable[..., dict[str, Any]] = getattr(self, f"do_{request.pop('do')}")
            return call(**request)
        except BaseException as error:
            return describe(error, self.code)

    def wait(self, value: Any) -> Any:
        """The result of what may be a coroutine; one loop serves the whole episode."""
        if not inspect.isawaitable(value):
            return value
        if self.loop is None:
            self.loop = asyncio.new_event_loop()

        async def result() -> Any:
            return await value

        return self.loop.run_until_complete(result())

    def do_reset(self, name: str, args: dict[str, Any], seed: int) -> dict[str, Any]:
        """Make the environment and begin its episode."""
        seed_everything(seed)
        self.environment = build(self.objects[name], args, seed)
        reset = self.environment.reset
        takes_seed = "seed" in signature_names(reset)
        observed = self.wait(reset(seed=seed) if takes_seed else reset())
        text = observed[0] if isinstance(observed, tuple) else observed
        prefix = self.wait(getattr(self.environment, "get_prompt_prefix", lambda: "")())
        truncates = hasattr(self.environment, "truncate")
        return {"text": self._text(text), "prefix": str(prefix or ""), "truncates": truncates}

    def do_step(self, action: str) -> dict[str, Any]:
        """One step. Takes (observation, reward, done, info), and Gymnasium's five values."""
        outcome = self.wait(self.environment.step(action))
        if not isinstance(outcome, tuple) or len(outcome) not in (4, 5):
            raise TypeError(f"step returned {type(outcome).__name__}, not (observation, reward, done, info)")
        observed, reward, *flags, _info = outcome
        number = finite(reward, "step")
        done = any(bool(flag) for flag in flags)
        return {"text": "" if done and observed is None else self._text(observed), "reward": number, "done": done}

    def do_truncate(self) -> dict[str, Any]:
        """What the episode is due when a limit ends it here."""
        return {"reward": finite(self.wait(self.environment.truncate()), "truncate")}

    def do_close(self) -> dict[str, Any]:
        """End the episode, early or not."""
        environment, self.environment = self.environment, None
        close = getattr(environment, "close", None)
        if close is not None:
            self.wait(close())
        self._end_threads()
        return self._ended({})

    def _end_threads(self) -> None:
        """Let go of the threads in which coroutines waited for something; they are idle."""
        if self.loop is not None and threading.active_count() > 1 and not asyncio.all_tasks(self.loop):
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()
            self.loop = None

    def do_call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; its result as text (mappings and lists as JSON)."""
        result = self.wait(self.objects[name](**arguments))
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
        return self._ended({"text": text[:OBSERVATION_CHARACTERS]})

    def _ended(self, reply: dict[str, Any]) -> dict[str, Any]:
        return {**reply, "clean": self.beginning.is_kept(self.loop)}

    def _text(self, observed: Any) -> str:
        text = observed
        if text is None or text == "":
            text = self.wait(getattr(self.environment, "get_state_description", lambda: "")())
        return str(text)[:OBSERVATION_CHARACTERS]


def finite(reward: Any, method: str) -> float:
    """The reward as a number. Raises ValueError for infinity and what is no number."""
    number = float(reward)
    if not (number - number == 0.0):
        raise ValueError(f"{method} returned the reward {reward}, which is not a finite number")
    return number


def build(factory: Any, args: dict[str, Any], seed: int) -> Any:
    """An environment from its class: with `config`, where the class takes one, else with the args by name."""
    names = signature_names(factory)
    if "config" in names and "config" not in args:
        return factory(EnvironmentConfig({"seed": seed, **args}))
    if "seed" in names and "seed" not in args:
        args = {**args, "seed": seed}
    return factory(**args)


def signature_names(function: Any) -> list[str]:
    """Names of the parameters; none where Python cannot tell."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def seed_everything(seed: int) -> None:
    """A row's samples share one random state, in whatever process they are played; other rows have others."""
    random.seed(seed)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
    if torch is not None:
        torch.manual_seed(seed)


def limit_memory(megabytes: int | None) -> None:
    """Let the process take that much more than it has. Where the system cannot, nothing is limited."""
    if resource is None:
        return
    with contextlib.suppress(OSError, ValueError):
        used = size_bytes()
        if megabytes and used:
            most = used + megabytes * 2**20
            resource.setrlimit(resource.RLIMIT_AS, (most, most))


def serve(stream: Any, session: Session, printed: Printed) -> None:
    """Answer until the other side closes the socket."""
    for line in stream:
        reply = session.answer(line)
        reply["printed"] = printed.characters
        stream.write(json.dumps(reply) + "\n")
        stream.flush()
