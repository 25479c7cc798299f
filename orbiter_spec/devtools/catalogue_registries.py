"""The names that verl's registries hold, read from source: decorators, register calls and compared constants."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Registry: (files below the package, the decorator or call that registers).
_REGISTERED = {
    "advantage_estimators": ("trainer/ppo/core_algos.py", r"register_adv_est"),
    "agent_loops": ("experimental/agent_loop/*.py", r"register"),
    "checkpoint_engines": ("checkpoint_engine/*.py", r"CheckpointEngineRegistry\.register"),
    "distillation_losses": ("trainer/distillation/losses.py", r"register_distillation_loss"),
    "policy_losses": ("trainer/ppo/core_algos.py", r"register_policy_loss"),
    "reward_managers": ("experimental/reward_loop/reward_manager/*.py", r"register(_manager)?"),
    "rollouts": ("workers/rollout/replica.py", r"RolloutReplicaRegistry\.register"),
    "tool_formats": ("experimental/agent_loop/tool_parser.py", r"ToolParser\.register"),
    "trainer_modes": ("trainer/ppo/v1/*.py", r"register_trainer"),
}
# Registry: (file, the name whose comparisons with constants list the choices).
_COMPARED = {
    "kl_estimators": ("trainer/ppo/core_algos.py", "kl_penalty"),
    "loss_aggregations": ("trainer/ppo/core_algos.py", "loss_agg_mode"),
}
# Registry: (file, the assignment that lists the choices).
_LISTED = {"loggers": ("utils/tracking.py", "supported_backend")}


def registries(package: Path) -> dict[str, list[str]]:
    """Registry name to the names in it, sorted; an empty list where the release has no such registry."""
    found = {name: _registered(package, *where) for name, where in _REGISTERED.items()}
    found |= {name: _compared(package / file, variable) for name, (file, variable) in _COMPARED.items()}
    found |= {name: _listed(package / file, variable) for name, (file, variable) in _LISTED.items()}
    return {name: sorted(set(names)) for name, names in sorted(found.items())}


def _nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) if path.is_file() else []


def _registered(package: Path, pattern: str, decorator: str) -> Iterator[str]:
    for path in sorted(package.glob(pattern)):
        nodes = _nodes(path)
        enums = {
            f"{node.name}.{item.targets[0].id}": item.value.value
            for node in nodes
            if isinstance(node, ast.ClassDef)
            for item in node.body
            if isinstance(item, ast.Assign) and isinstance(item.value, ast.Constant)
            if isinstance(item.targets[0], ast.Name)
        }
        for node in nodes:
            if isinstance(node, ast.Call) and re.fullmatch(decorator, ast.unparse(node.func)) and node.args:
                yield from _names(node.args[0], enums)


def _names(node: ast.expr, enums: dict[str, Any]) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif ast.unparse(node) in enums:
        yield enums[ast.unparse(node)]
    elif isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg in ("name", "names"):
                yield from _strings(keyword.value)


def _compared(path: Path, variable: str) -> Iterator[str]:
    for node in _nodes(path):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id == variable:
            for comparator in node.comparators:
                yield from _strings(comparator)


def _listed(path: Path, variable: str) -> Iterator[str]:
    for node in _nodes(path):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == variable:
            yield from _strings(node.value)


def _strings(node: ast.AST) -> Iterator[str]:
    for item in ast.walk(node):
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            yield item.value
