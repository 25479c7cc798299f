"""Tools that the spec names, as verl's.

`tools.yaml` names `UserTool` for a Python function: its schema comes from the signature and docstring, as
`transformers.utils.get_json_schema` reads them, and each call runs outside the worker, in a process with a time and a
memory limit. `class_tool` stands for a class of the user's that is a verl tool; it runs in the worker, as verl does it.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from transformers.utils import get_json_schema
from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse

from .client import UserCodeError, host_for, running_host
from .session import describe
from .settings import CODE_FOLDER, read_settings

SHOWN_FAILURES = 3


class ToolError(RuntimeError):
    """A call failed; the text is what the model is shown."""


class UserTool(BaseTool):  # type: ignore[misc]
    """A Python function. `config.name` is its entry in `agent.json`."""

    def __init__(self, config: dict[str, Any], tool_schema: OpenAIFunctionToolSchema | None = None) -> None:
        settings = read_settings(config.get("settings"))
        self.settings = settings["tools"][config["name"]]
        self.host_description = settings["host"]
        signature = host_for(self.host_description).signatures[config["name"]]
        super().__init__(config, tool_schema or schema(config["name"], *signature))
        self._failures = 0

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], **kwargs: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        """Call the function. Raises ToolError, whose text verl shows to the model, or leaves a UserCodeError with the
        sample where the spec says that an error ends the run.
        """
        try:
            return ToolResponse(text=await self._call(parameters)), 0.0, {}
        except UserCodeError as error:
            self._failures += 1
            if self._failures <= SHOWN_FAILURES:
                print(error, file=sys.stderr, flush=True)
            if self.settings["on_error"] == "stop" and "agent_data" in kwargs:
                kwargs["agent_data"].extra_fields["fatal"] = error
            raise ToolError(error.said) from error

    async def _call(self, parameters: dict[str, Any]) -> str:
        host = await running_host(self.host_description)
        settings = self.settings
        async with host.calls:
            session = await host.open(f"tool {self.name}", settings["memory_megabytes"], settings["calls_per_process"])
            try:
                seconds = settings["timeout_seconds"]
                reply = await session.ask("call", seconds, name=self.config["name"], arguments=parameters)
            finally:
                await session.close()
        return str(reply["text"])


def schema(name: str, doc: str | None, parameters: list[tuple[str, str, bool]], hints: dict[str, Any]) -> Any:
    """The tool schema of a function that is not here: only what it looks like came over from its process."""

    def function() -> None:
        pass

    function.__name__, function.__doc__, function.__annotations__ = name, doc, hints
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                parameter,
                getattr(inspect.Parameter, kind),
                default=inspect.Parameter.empty if required else None,
                annotation=hints.get(parameter, inspect.Parameter.empty),
            )
            for parameter, kind, required in parameters
        ]
    )
    try:
        return OpenAIFunctionToolSchema.model_validate(get_json_schema(function))
    except Exception as error:
        raise UserCodeError(f"tool {name}", f"has no schema: {error}") from error


def class_tool(config: dict[str, Any], tool_schema: OpenAIFunctionToolSchema | None = None) -> BaseTool:
    """A tool of the class `config.name` in the file `config.path` of the compiled folder, or in `config.module`."""
    folder = Path(read_settings(config.pop("settings", None))["host"]["folder"])
    path, module, name, called = (config.pop(key, None) for key in ("path", "module", "name", "tool"))
    try:
        loaded = _load(folder / path) if path else importlib.import_module(module)
        tool: BaseTool = getattr(loaded, name)(config=config, tool_schema=tool_schema)
        tool.name = called or tool.name
        tool.tool_schema.function.name = tool.name
        return tool
    except BaseException as error:
        traceback.print_exc()
        found = describe(error, folder / CODE_FOLDER)
        raise UserCodeError(f"tool {name}", str(found["error"]), str(found["where"])) from error


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"orbiter_tool_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[str(spec.name)] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec.loader.exec_module(module)
    return module
