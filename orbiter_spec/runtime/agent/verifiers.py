"""An environment of the `verifiers` package (its classic interface, up to 0.3) as one of text.

verifiers plays an episode itself: `rollout` asks a client for the model's next message until the environment stops.
Here the client is the model that is trained: it hands out what it was asked and waits for the next step. So every class
of verifiers plays as its author wrote it, with its own stop conditions, time limits and clean-up, and its rubric scores
the whole at the end, also when a limit of ours ends it early.

The environment is made once for all episodes, with the args of the spec. The row chooses the example: with `columns:
{example: COLUMN}` by its number in the environment's own data, with `columns: {prompt: COLUMN, answer: COLUMN, ...}`
it is the example, and without either the row's seed draws one. Tools are described and called in the way of Hermes,
which Qwen's templates use too. Where verifiers turns an exception into a reward of 0, it is raised here.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

TOOLS = """# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{tools}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""
CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)


def load(reference: Mapping[str, Any], named: Callable[..., Any] | None) -> Callable[..., VerifiersEnvironment]:
    """A maker of episodes. Raises what the environment raises while it is made, and ImportError without verifiers."""
    try:
        importlib.import_module("verifiers.envs.multiturn_env")
    except ModuleNotFoundError as error:
        needed = "pip install 'verifiers>=0.1.14,<0.4'"
        raise ImportError(f"the classic interface of verifiers is not installed: {needed} ({error})") from error
    verifiers = importlib.import_module("verifiers")
    importlib.import_module("datasets").disable_progress_bars()
    with _own_signals():
        environment = _made(named or verifiers.load_environment, reference, named is None)
    if environment.requires_group_rollouts:
        raise ValueError("its rubric scores the samples of a row together, and an episode is scored alone")
    examples = environment.get_dataset() if environment.dataset_source else environment.get_eval_dataset()
    client = _client_class()

    def make(**row: Any) -> VerifiersEnvironment:
        return VerifiersEnvironment(environment, examples, client, row)

    return make


def _made(load_environment: Callable[..., Any], reference: Mapping[str, Any], by_id: bool) -> Any:
    arguments = reference.get("args") or {}
    try:
        return load_environment(reference["name"], **arguments) if by_id else load_environment(**arguments)
    except (RuntimeError, ValueError) as error:
        raise error.__cause__ or error from error


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Environments of verifiers take over Ctrl-C; here they are ended by the process that holds them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class VerifiersEnvironment:
    """One episode of `environment`, with an example of `examples` or the row's own."""

    def __init__(self, environment: Any, examples: Any, client: type, row: dict[str, Any]) -> None:
        self.environment, self.examples, self.client, self.row = environment, examples, client, row
        self.asked: asyncio.Queue[list[Any] | None] = asyncio.Queue()
        self.said: asyncio.Queue[str] = asyncio.Queue()
        self.seen: list[Any] = []
        self.system = ""
        self.tools: list[Any] = []
        self.state: Any = None

    async def reset(self, seed: int) -> str:
        """What the example's prompt asks."""
        self.playing = asyncio.ensure_future(self._play(self._example(seed)))
        prompt = await self.asked.get()
        if prompt is None:
            await self.playing
            raise ValueError("the episode is over before the model was asked")
        roles = [message.role for message in prompt]
        if roles not in (["user"], ["system", "user"]):
            raise ValueError(f"a prompt of {', '.join(roles)}: only a system message and one of the user's can begin")
        self.system = text_of(prompt[0]) if roles[0] == "system" else ""
        self.seen = list(prompt)
        return text_of(prompt[-1])

    def get_prompt_prefix(self) -> str:
        """The example's system prompt, and the tools."""
        if not self.tools:
            return self.system
        schemas = ({"type": "function", "function": tool.model_dump(exclude_none=True)} for tool in self.tools)
        described = TOOLS.format(tools="\n".join(json.dumps(schema, ensure_ascii=False) for schema in schemas))
        return "\n\n".join(part for part in (self.system, described) if part)

    async def step(self, action: str) -> tuple[str, float, bool, dict[str, Any]]:
        """Go on with what the model said; the rubric's reward comes with the end."""
        self.said.put_nowait(action)
        prompt = await self.asked.get()
        if prompt is None:
            await self.playing
            return "", await self._score(), True, dict(self.state["metrics"] or {})
        known = len(self.seen) + 1
        if prompt[: len(self.seen)] != self.seen or len(prompt) <= known or prompt[known - 1].role != "assistant":
            raise ValueError("the environment rewrites the conversation; what was generated would not be trained on")
        self.seen = list(prompt)
        return "\n\n".join(text_of(message) for message in prompt[known:]), 0.0, False, {}

    async def truncate(self) -> float:
        """The rubric's reward for what there is."""
        await self._give_up()
        self.state["is_completed"] = self.state["is_truncated"] = True
        return await self._score()

    async def close(self) -> None:
        """End the rollout, with the environment's clean-up."""
        await self._give_up()

    async def _play(self, example: dict[str, Any]) -> None:
        try:
            self.state = await self.environment.rollout(example, self.client(self), "policy", {})
            error = self.state.get("error")
            if error is not None:
                raise error.__cause__ or error
        finally:
            self.asked.put_nowait(None)

    async def _give_up(self) -> None:
        self.playing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.playing

    async def _score(self) -> float:
        with _loud() as errors:
            await self.environment.rubric.score_rollout(self.state)
        await self.environment.rubric.cleanup(self.state)
        if errors:
            raise errors[0]
        return float(self.state["reward"])

    def _example(self, seed: int) -> dict[str, Any]:
        if "prompt" not in self.row:
            number = int(self.row.get("example", seed % len(self.examples)))
            return dict(self.examples[number])
        prompt = self.row["prompt"]
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        if self.environment.system_prompt and messages[0]["role"] != "system":
            messages = [{"role": "system", "content": self.environment.system_prompt}, *messages]
        return {"example_id": seed, "answer": "", "info": {}, **self.row, "prompt": messages}


def _client_class() -> type:
    """verifiers' client whose model is the one that is trained."""
    types = importlib.import_module("verifiers.types")
    base = importlib.import_module("verifiers.clients").Client

    class Policy(base):  # type: ignore[misc, valid-type]
        """Hands out the prompt and waits for the answer."""

        def __init__(self, episode: VerifiersEnvironment) -> None:
            super().__init__(None)
            self.episode = episode

        async def get_response(self, prompt: list[Any], model: str, *_: Any, tools: Any = None, **further: Any) -> Any:
            self.episode.tools = list(tools or ())
            self.episode.state = further.get("state")
            self.episode.asked.put_nowait(list(prompt))
            text, calls = calls_in(await self.episode.said.get())
            message = types.ResponseMessage(
                content=text,
                tool_calls=[types.ToolCall(id=f"call_{number}", **call) for number, call in enumerate(calls)] or None,
                finish_reason="tool_calls" if calls else "stop",
                is_truncated=False,
            )
            return types.Response(id="", created=0, model=model, usage=None, message=message)

        def _unused(self, *_: Any, **__: Any) -> Any:
            """What verifiers asks of a client that sends requests; this one sends none."""
            raise NotImplementedError("the policy speaks through get_response alone")

        setup_client = to_native_tool = to_native_prompt = get_native_response = _unused
        raise_from_native_response = from_native_response = close = _unused

    return Policy


def calls_in(text: str) -> tuple[str, list[dict[str, str]]]:
    """The text without its tool calls, and the calls. What is no call stays text."""
    calls = []
    for found in CALL.findall(text):
        try:
            call = json.loads(found)
            calls.append({"name": str(call["name"]), "arguments": json.dumps(call["arguments"], ensure_ascii=False)})
        except (ValueError, KeyError, TypeError):
            return text, []
    return (CALL.sub("", text).strip(), calls) if calls else (text, [])


def text_of(message: Any) -> str:
    """A message's text, a tool's as Qwen's templates show it. Raises ValueError for images and the like."""
    content = message.content
    if not isinstance(content, str):
        parts = [part if isinstance(part, dict) else part.model_dump() for part in content or ()]
        if any(part.get("type") != "text" for part in parts):
            raise ValueError(f"a {message.role} message has a part that is no text")
        content = "".join(part["text"] for part in parts)
    return f"<tool_response>\n{content}\n</tool_response>" if message.role == "tool" else content


@contextlib.contextmanager
def _loud() -> Iterator[list[BaseException]]:
    """Collects the exceptions of reward functions, which verifiers logs and counts as 0."""
    errors: list[BaseException] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = sys.exception()
            if error is not None and record.levelno >= logging.ERROR:
                errors.append(error)

    handler, logger = Collect(), logging.getLogger("verifiers")
    logger.addHandler(handler)
    try:
        yield errors
    finally:
        logger.removeHandler(handler)
