"""The tools that a chat template shows the model: verl itself is asked for them, in a process of its own.

Schemas come from the user's code, through transformers and verl's own types, so the answer is exact and the code is
run: only `data preview` does, which runs the code of pipelines too. What verl reads (a folder with agent.json,
tools.yaml and the code) is what `compile` writes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orbiter_spec.data.tool_schemas import ToolsError, tools_of

if TYPE_CHECKING:
    from orbiter_spec.compilation import Compilation

SECONDS = 300
ASK = """
import json, sys
from verl.tools.tool_registry import load_all_tools
tools = load_all_tools(sys.argv[1] or None, sys.argv[2] or None)
shown = [tool.tool_schema.model_dump(exclude_unset=True, exclude_none=True) for tool in tools]
open(sys.argv[3], "w", encoding="utf-8").write(json.dumps(shown))
"""


def shown_tools(state: Compilation) -> list[dict[str, Any]]:
    """Schemas of the experiment's tools, in the order in which the model sees them. Raises ToolsError."""
    assert state.experiment is not None and state.document is not None and state.inputs is not None
    agent = state.experiment.agent
    if not agent.tools and not agent.function_tools:
        return tools_of(state.experiment, state.document)
    if find_spec("verl") is None:
        raise ToolsError("the tools of Python code are shown where verl is installed: pip install 'orbiter-spec[cpu]'")
    from orbiter_spec.assemble import write_agent_path

    with tempfile.TemporaryDirectory(prefix="orbiter-tools-") as name:
        folder = Path(name)
        write_agent_path(state, folder)
        config = "tools.yaml" if state.inputs.tools else state.inputs.paths.get("agent.tool_config", "")
        return _ask(folder, config, state.inputs.paths.get("agent.function_tools", ""))


def _ask(folder: Path, config: str, functions: str) -> list[dict[str, Any]]:
    path = os.pathsep.join([str(folder), *(entry for entry in sys.path if entry)])
    environment = {**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", ASK, config, functions, "shown.json"]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ToolsError(f"the tools are not loaded after {SECONDS} s") from None
    if done.returncode != 0:
        said = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason was given")
        raise ToolsError(f"the tools cannot be loaded: {' '.join(said.split())[:300]}")
    found: list[dict[str, Any]] = json.loads((folder / "shown.json").read_text(encoding="utf-8"))
    return found
