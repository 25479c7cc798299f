"""The tools that a chat template shows the model, as far as they can be known without running anybody's code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orbiter_spec.source import Document
from orbiter_spec.spec.experiment import Experiment


class ToolsError(Exception):
    """A tool file that cannot be read."""


def tools_of(experiment: Experiment, document: Document) -> list[dict[str, Any]]:
    """Schemas of the tools in `agent.tool_config`, a file of verl's. Raises ToolsError."""
    named = experiment.agent.tool_config
    if named is None:
        return []
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    path = document.base(("agent", "tool_config")) / Path(named).expanduser()
    try:
        content = YAML(typ="safe", pure=True).load(path)
        return [dict(tool["tool_schema"]) for tool in content["tools"] if tool.get("tool_schema")]
    except (OSError, YAMLError, KeyError, TypeError) as error:
        raise ToolsError(f"{path} is no file of tools: {' '.join(str(error).split())[:160]}") from None
