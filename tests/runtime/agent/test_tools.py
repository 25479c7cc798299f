"""Python functions as tools: schemas, calls, parallel calls, formats, and calls that fail."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from orbiter_spec.runtime.agent.client import UserCodeError
from tests.runtime.agent.conftest import Arena

TOOLS = '''
import time
from typing import Literal

def look(place: str, depth: int = 1, kind: Literal["near", "far"] = "near") -> dict:
    """Look at a place.

    Args:
        place: Where to look.
        depth: How far.
        kind: Which way.
    """
    return {"place": place, "depth": depth, "kind": kind}

async def wait(seconds: float) -> str:
    """Wait.

    Args:
        seconds: How long.
    """
    time.sleep(seconds)
    return f"waited {seconds}"

def divide(a: int, b: int) -> float:
    """Divide.

    Args:
        a: Above.
        b: Below.
    """
    return a / b
'''


def called(name: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def text_of(game: Arena, output: Any) -> str:
    return str(game.tokenizer.decode(output.response_ids))


def test_a_call_and_its_schema(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.tool("look", TOOLS)
    output, _ = game.play([game.ended(called("look", place="here", depth=2)), game.ended("done")])
    assert '<|im_start|>t\n{"place": "here", "depth": 2, "kind": "near"}<|im_end|>' in text_of(game, output)
    episode = output.extra_fields["episode"]
    assert (episode["tool_calls"], episode["tool_failures"], episode["turns"]) == (1, 0, 2)
    (schema,) = game.loop(None).tool_schemas
    parameters = schema["function"]["parameters"]
    assert schema["function"]["description"] == "Look at a place."
    assert parameters["properties"]["kind"]["enum"] == ["near", "far"]
    assert parameters["required"] == ["place"]


def test_calls_of_one_turn_run_side_by_side(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.tool("wait", TOOLS)
    game.loop(None)  # the process that holds the tools takes a while to start
    began = time.monotonic()
    output, _ = game.play([game.ended(called("wait", seconds=1.0) * 3), game.ended("done")], parallel=3)
    assert time.monotonic() - began < 2.9
    assert text_of(game, output).count("waited 1.0") == 3
    assert output.extra_fields["episode"]["tool_calls"] == 3


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (called("divide", a=1, b=0), "raised ZeroDivisionError: division by zero"),
        (called("divide", a=1), "raised TypeError: divide() missing 1 required positional argument: 'b'"),
        (called("multiply", a=1), "Unknown function 'multiply'"),
        ('<tool_call>{"name": "divide", "arguments": [1, 2]}</tool_call>', "Error executing tool 'divide'"),
    ],
)
def test_the_model_is_shown_what_went_wrong(
    arena: Callable[..., Arena], call: str, shown: str, capfd: pytest.CaptureFixture[str]
) -> None:
    game = arena()
    game.tool("divide", TOOLS)
    output, _ = game.play([game.ended(call), game.ended("sorry")])
    assert shown in text_of(game, output)
    episode = output.extra_fields["episode"]
    assert (episode["tool_calls"], episode["tool_failures"]) == (1, 1)
    if "Zero" in shown:
        assert "tool divide raised ZeroDivisionError: division by zero (tools.py line 31" in capfd.readouterr().err


def test_failed_calls_are_limited(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.tool("divide", TOOLS)
    game.settings["max_tool_failures"] = 2
    output, generator = game.play([game.ended(called("divide", a=1, b=0))])
    assert len(generator.asked) == 2
    assert output.extra_fields["episode"]["tool_failures"] == 2
    assert output.response_mask[-1] == 1


def test_an_error_may_end_the_run(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.tool("divide", TOOLS, on_error="stop")
    with pytest.raises(UserCodeError, match=r"tool divide raised ZeroDivisionError.*tools\.py line 31 in divide"):
        game.play([game.ended(called("divide", a=1, b=0))])


def test_a_hanging_call_is_told_to_the_model(arena: Callable[..., Arena], capfd: pytest.CaptureFixture[str]) -> None:
    game = arena()
    game.tool("wait", TOOLS, timeout_seconds=0.5)
    output, _ = game.play([game.ended(called("wait", seconds=60.0)), game.ended("done")])
    assert "gave no answer within 0.5 s" in text_of(game, output)
    assert "tools.py line 21 in wait" in capfd.readouterr().err


def test_plain_and_tagged_calls(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.tool("wait", TOOLS)
    output, _ = game.play([game.ended("0"), game.ended("")], format="plain")
    assert output.extra_fields["episode"]["tool_calls"] == 1
    game = arena()
    game.tool("look", TOOLS)
    asked = [game.ended('so <look>{"place": "up"}</look> and <other>x</other>'), game.ended("done")]
    output, _ = game.play(asked, format="tags")
    assert '{"place": "up", "depth": 1, "kind": "near"}' in text_of(game, output)


def test_environment_and_tools_together(arena: Callable[..., Arena]) -> None:
    game = arena()
    game.tool("look", TOOLS)
    game.environment(
        "class Game:\n"
        "    def reset(self): return 'start'\n"
        "    def step(self, action): return 'on', 1.0, action == 'stop', {}\n"
    )
    answers = [called("look", place="x"), "go", called("look", place="y"), "stop"]
    output, _ = game.play([game.ended(answer) for answer in answers])
    assert output.extra_fields["turn_scores"] == [1.0, 1.0]
    assert output.extra_fields["trajectory"]["actions"] == ["go", "stop"]
    assert output.extra_fields["episode"]["tool_calls"] == 2


def test_classes_that_are_verl_tools(arena: Callable[..., Arena]) -> None:
    from orbiter_spec.runtime.agent.tools import class_tool

    game = arena()
    game.write(
        "native.py",
        """
from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse

class Echo(BaseTool):
    def __init__(self, config, tool_schema):
        schema = {"type": "function", "function": {"name": "echo", "description": "Say it again."}}
        super().__init__(config, OpenAIFunctionToolSchema.model_validate(schema))
    async def execute(self, instance_id, parameters, **kwargs):
        return ToolResponse(text=self.config["say"]), 0.5, {}
""",
    )
    game.loop(None)
    config = {"type": "native", "path": "code/native.py", "name": "Echo", "tool": "again", "say": "twice"}
    tool = class_tool({**config, "settings": str(game.folder / "agent.json")})
    assert tool.name == "again"
    assert tool.tool_schema.function.name == "again"
    assert asyncio.run(tool.execute("1", {}))[0].text == "twice"
    game.write("broken.py", "import nothing_like_this\n")
    with pytest.raises(UserCodeError, match=r"ModuleNotFoundError.*broken\.py line 1"):
        class_tool({**config, "path": "code/broken.py", "settings": str(game.folder / "agent.json")})
