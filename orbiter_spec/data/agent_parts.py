"""`agent.environment` and `agent.tools`, checked without running them, as `agent.json` and `tools.yaml`.

Files are parsed. A class is an environment when it has `reset` and `step`, or inherits from something that this file
does not define. A function is a tool when every parameter has a type and a line in the docstring's `Args:`, because
that is what the model is shown of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from orbiter_spec.data.functions import FunctionRef, check_function
from orbiter_spec.data.inputs import Inputs, copy_code
from orbiter_spec.diagnostics import Diagnostic, Place, Related, nearest
from orbiter_spec.source import Document, Route
from orbiter_spec.spec.agent_code import Environment, Tool
from orbiter_spec.spec.experiment import Experiment

PACKAGE = "orbiter_agent"
ENVIRONMENT = "environment"
ENVIRONMENT_ROUTE: Route = ("agent", "environment")
FILLED = ("config", "seed")
"""Parameters of an environment's class that are filled for it."""
METHODS = ("reset", "step")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def find_agent(experiment: Experiment, document: Document, inputs: Inputs) -> Iterator[Diagnostic]:
    """Fill `inputs.agent` and `inputs.tools` where the spec has an environment or tools, and say what is wrong."""
    agent = experiment.agent
    if agent.environment is None and not agent.tools:
        return
    turns = agent.turns
    settings: dict[str, Any] = {
        "version": 1,
        "environment": None,
        "tools": {},
        "turn_tokens": turns.tokens if turns else None,
        "max_tool_failures": turns.max_tool_failures if turns else None,
        "tool_timeout_seconds": 30.0,
        "host": {"objects": {}},
    }
    inputs.agent = settings
    if agent.environment is not None:
        weight = sum(part.weight for part in experiment.rewards.parts if part.builtin == ENVIRONMENT)
        settings["environment"] = _environment_settings(agent.environment, weight)
        settings["host"]["concurrent"] = agent.environment.concurrent or 256
        yield from _find_environment(agent.environment, document, inputs)
    yield from _find_tools(agent.tools or [], document, inputs)


def _environment_settings(environment: Environment, weight: float) -> dict[str, Any]:
    return {
        "name": _environment_name(environment),
        "args": {} if environment.verifiers else environment.args,
        "columns": environment.columns,
        "timeout_seconds": environment.timeout_seconds or 60.0,
        "retries": 1 if environment.retries is None else environment.retries,
        "on_error": environment.on_error,
        "memory_megabytes": environment.memory_megabytes or 4096,
        "episodes_per_process": environment.episodes_per_process or 64,
        "credit": environment.credit or "episode",
        "weight": weight,
    }


def _environment_name(environment: Environment) -> str:
    """What messages call it: a class, an id, or the file that makes one."""
    if environment.verifiers is not None:
        file = environment.verifiers.partition(":")[0]
        return Path(file).stem if file.endswith(".py") else file
    return environment.gymnasium or str(getattr(environment, "class")).rpartition(":")[2]


def _find_environment(environment: Environment, document: Document, inputs: Inputs) -> Iterator[Diagnostic]:
    objects = inputs.agent["host"]["objects"]
    if environment.gymnasium is not None:
        objects[ENVIRONMENT] = {"adapter": "gymnasium", "name": environment.gymnasium}
        return
    if environment.verifiers is not None:
        yield from _find_verifiers(environment, document, inputs)
        return
    route = (*ENVIRONMENT_ROUTE, "class") if isinstance(_at(document, ENVIRONMENT_ROUTE), dict) else ENVIRONMENT_ROUTE
    place = document.place(route)
    reference, problem = check_function(str(getattr(environment, "class")), document.base(route))
    if reference is None:
        yield problem.at(place) if problem else Diagnostic("ORB403", "not a class", place)
        return
    objects[ENVIRONMENT] = _entry(reference, inputs)
    node = definition(reference)
    if node is None:
        return
    if not isinstance(node, ast.ClassDef):
        yield _inside("ORB470", f"{reference.name} is no class", reference, node, place, "name a class")
        return
    yield from _check_methods(reference, node, place)
    given = {*environment.args, *environment.columns}
    yield from _check_arguments(reference, node, given, document.place((*ENVIRONMENT_ROUTE, "args")))


def _find_verifiers(environment: Environment, document: Document, inputs: Inputs) -> Iterator[Diagnostic]:
    """An installed environment by its id, or a file's function that makes one, once for all episodes."""
    named = str(environment.verifiers)
    entry: dict[str, Any] = {"adapter": "verifiers", "name": named, "args": environment.args}
    if ":" in named:
        route: Route = (*ENVIRONMENT_ROUTE, "verifiers")
        reference, problem = check_function(named, document.base(route))
        if reference is None:
            yield problem.at(document.place(route)) if problem else Diagnostic("ORB403", "no function", None)
            return
        entry |= _entry(reference, inputs)
    inputs.agent["host"]["objects"][ENVIRONMENT] = entry


def _check_methods(reference: FunctionRef, node: ast.ClassDef, place: Place) -> Iterator[Diagnostic]:
    if any(_name(base) not in ("ABC", "object", "BaseEnvironment") for base in node.bases):
        return
    own = {item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
    for method in METHODS:
        if method not in own:
            takes = "reset(self) -> str" if method == "reset" else "step(self, action) -> (text, reward, done, info)"
            yield _inside("ORB470", f"{reference.name} has no {method}", reference, node, place, f"add {takes}")


def _check_arguments(
    reference: FunctionRef, node: ast.ClassDef, given: Iterable[str], place: Place
) -> Iterator[Diagnostic]:
    maker = next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
    if maker is None or maker.args.kwarg is not None:
        return
    positional = [*maker.args.posonlyargs, *maker.args.args][1:]
    defaults = len(positional) - len(maker.args.defaults)
    names = [item.arg for item in (*positional, *maker.args.kwonlyargs)]
    required = [item.arg for index, item in enumerate(positional) if index < defaults]
    keyword = zip(maker.args.kwonlyargs, maker.args.kw_defaults, strict=True)
    required += [item.arg for item, default in keyword if default is None]
    if "config" in names:
        return
    for name in given:
        if name not in names:
            close = nearest(name, names)
            help = f"did you mean {close}?" if close else f"it takes {', '.join(names) or 'nothing'}"
            yield Diagnostic("ORB475", f"{reference.name} takes no {name!r}", place, help=help)
    for name in required:
        if name not in (*given, *FILLED):
            message = f"nothing fills parameter {name!r} of {reference.name}"
            yield _inside("ORB475", message, reference, maker, place, "give it under args or columns")


def _find_tools(tools: list[Tool], document: Document, inputs: Inputs) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        route: Route = ("agent", "tools", index)
        kind = "class" if tool.function is None else "function"
        route = (*route, kind) if isinstance(_at(document, route), dict) else route
        place = document.place(route)
        reference, problem = check_function(str(tool.function or getattr(tool, "class")), document.base(route))
        if reference is None:
            yield problem.at(place) if problem else Diagnostic("ORB403", "not a function", place)
            continue
        name = tool.name or reference.name
        if name in seen:
            yield Diagnostic("ORB472", f"two tools are called {name}", place, help="give one of them another name")
        seen.add(name)
        if kind == "function":
            yield from _check_tool(reference, place)
        _add_tool(tool, name, reference, inputs)


def _add_tool(tool: Tool, name: str, reference: FunctionRef, inputs: Inputs) -> None:
    seconds = tool.timeout_seconds or 30.0
    inputs.agent["tools"][name] = {
        "timeout_seconds": seconds,
        "on_error": tool.on_error,
        "memory_megabytes": tool.memory_megabytes or 4096,
        "calls_per_process": tool.calls_per_process or 64,
    }
    if tool.function is not None:
        inputs.agent["host"]["objects"][name] = {**_entry(reference, inputs), "tool": True}
        config: dict[str, Any] = {"type": "native", "name": name}
        inputs.tools.append({"class_name": f"{PACKAGE}.tools.UserTool", "config": config})
        return
    entry = _entry(reference, inputs)
    config = {"type": "native", **tool.config, "path": entry.get("path"), "module": entry.get("module")}
    config |= {"name": reference.name, "tool": tool.name}
    inputs.tools.append({"class_name": f"{PACKAGE}.tools.class_tool", "config": config})


def _check_tool(reference: FunctionRef, place: Place) -> Iterator[Diagnostic]:
    """What `transformers.utils.get_json_schema` refuses, before anything runs."""
    node = definition(reference)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    name, doc = reference.name, ast.get_docstring(node)
    if not doc:
        yield _inside("ORB471", f"tool {name} has no docstring", reference, node, place, "say what it does, and Args:")
    if node.args.vararg or node.args.kwarg:
        help = "name each parameter"
        yield _inside("ORB471", f"tool {name} takes * or ** arguments", reference, node, place, help)
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        if argument.annotation is None:
            message = f"parameter {argument.arg!r} of tool {name} has no type"
            yield _inside("ORB471", message, reference, argument, place, f"write {argument.arg}: str, or what it is")
        if doc and not re.search(rf"^\s*{re.escape(argument.arg)}\s*(\(.*\))?:\s*\S", doc, re.MULTILINE):
            message = f"parameter {argument.arg!r} of tool {name} is not in the docstring's Args"
            yield _inside("ORB471", message, reference, argument, place, f"add a line {argument.arg}: what it is")


def definition(reference: FunctionRef) -> Definition | None:
    """The class or function that a reference to a file names; None where it is something else."""
    if reference.path is None:
        return None
    tree = ast.parse(reference.path.read_bytes())
    found = [node for node in tree.body if isinstance(node, Definition) and node.name == reference.name]
    return found[-1] if found else None


def _inside(
    rule: str, message: str, reference: FunctionRef, node: Definition | ast.arg, named: Place, help: str
) -> Diagnostic:
    """A finding in the user's file, with the line of the spec that names it."""
    path = Path(str(reference.path))
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    line = lines[node.lineno - 1] if node.lineno <= len(lines) else ""
    width = len(node.arg) if isinstance(node, ast.arg) else max(1, len(line.strip()))
    inside = Place(str(path), node.lineno, node.col_offset + 1, width, line)
    return Diagnostic(rule, message, inside, help=help, related=(Related(named, "named here"),))


def _entry(reference: FunctionRef, inputs: Inputs) -> dict[str, Any]:
    path = None if reference.path is None else copy_code(reference.path, inputs)
    return {"path": path, "module": reference.module, "name": reference.name}


def _name(base: ast.expr) -> str:
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


def _at(document: Document, route: Route) -> Any:
    """What the user wrote at `route`, as YAML has it."""
    value: Any = document.data
    for part in route:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value
