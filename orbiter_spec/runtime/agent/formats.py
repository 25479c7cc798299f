"""Ways to write a tool call that verl does not have.

* `plain`: the whole turn is the one argument of the one tool: a calculator, a shell, an interpreter.
* `tags`: `<search>ten best cheeses</search>`, the way of Search-R1 (arXiv:2503.09516); the text between the tags is the
  tool's first parameter, or a JSON mapping of several.
"""

from __future__ import annotations

import json
import re
from typing import Any

from verl.experimental.agent_loop.tool_parser import FunctionCall, ToolParser

TAG = re.compile(r"<([A-Za-z_]\w*)>(.*?)</\1>", re.DOTALL)


def decode(tokenizer: Any, ids: list[int]) -> str:
    """What the model said, without special tokens. Takes microseconds: less than a thread."""
    return str(tokenizer.decode(ids, skip_special_tokens=True))


class NoCalls(ToolParser):  # type: ignore[misc]
    """For an agent without tools, whose environment reads every turn: nothing is a call."""

    async def extract_tool_calls(
        self, responses_ids: list[int], tools: list[Any] | None = None
    ) -> tuple[str, list[FunctionCall]]:
        """The text and no call."""
        return decode(self.tokenizer, responses_ids), []


@ToolParser.register("plain")
class PlainParser(ToolParser):  # type: ignore[misc]
    """Any turn that says something is a call of the first tool."""

    async def extract_tool_calls(
        self, responses_ids: list[int], tools: list[Any] | None = None
    ) -> tuple[str, list[FunctionCall]]:
        """The text and the call."""
        text = decode(self.tokenizer, responses_ids)
        if not tools or not text.strip():
            return text, []
        return text, [_call(tools[0], text.strip())]


@ToolParser.register("tags")
class TagsParser(ToolParser):  # type: ignore[misc]
    """A pair of tags with a tool's name is a call of it."""

    async def extract_tool_calls(
        self, responses_ids: list[int], tools: list[Any] | None = None
    ) -> tuple[str, list[FunctionCall]]:
        """The text without the calls, and the calls in order."""
        text = decode(self.tokenizer, responses_ids)
        known = {tool.function.name: tool for tool in tools or ()}
        calls = [_call(known[name], content.strip()) for name, content in TAG.findall(text) if name in known]
        return text, calls


def _call(tool: Any, text: str) -> FunctionCall:
    function = tool.function
    parameters = list(function.parameters.properties)
    if len(parameters) != 1:
        try:
            if isinstance(json.loads(text), dict):
                return FunctionCall(name=function.name, arguments=text)
        except ValueError:
            pass
    return FunctionCall(name=function.name, arguments=json.dumps({name: text for name in parameters[:1]}))
