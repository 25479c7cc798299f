"""Ask the machines a checked spec is meant for: the last look before a run, and `validate --site`.

The plan and the files that the spec names make the questions, `launch` asks them, the rules of `rules/site` read the
answers. Nothing is started, nothing of the user's is run, and it ends within its time limit whatever the machines do.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orbiter_spec.compilation import apply_ignores, output_root
from orbiter_spec.diagnostics import Diagnostic, Severity
from orbiter_spec.launch.probe import LIMIT_SECONDS, ask
from orbiter_spec.launch.site import check_site as check_machine
from orbiter_spec.launch.site_facts import Questions
from orbiter_spec.launch.verl_config import VerlConfig
from orbiter_spec.lower.files import RAY_ADDRESS
from orbiter_spec.rules.facts import loggers
from orbiter_spec.rules.site import run_site_rules
from orbiter_spec.spec.names import LOGGER_MODULES

if TYPE_CHECKING:
    from orbiter_spec.compilation import Compilation
    from orbiter_spec.plan.model import Plan

PACKAGES = ("verl", "ray", "torch", "transformers", "TransferQueue")
ENGINE_PACKAGES = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt_llm"}
TRAIN_PACKAGES = {"megatron": "megatron-core", "torchtitan": "torchtitan", "veomni": "veomni"}
MODEL_ROUTES = ("agent.model.path", "algorithm.critic.model.path", "rewards.model.path")
PATH_ROUTES = (
    *MODEL_ROUTES,
    "agent.model.tokenizer",
    "agent.model.config",
    "agent.model.lora.adapter",
    "agent.tool_config",
    "agent.loop_config",
    "dataset.train",
    "dataset.validation",
)
RAY_TEMPORARY = "/tmp"


def cluster_address(plan: Plan, environment: Mapping[str, str] = os.environ) -> str | None:
    """Where the run goes: `hardware.cluster.address`, else RAY_ADDRESS for a Ray cluster, else this machine (None)."""
    kind, address = plan.get("hardware.cluster.kind"), plan.get("hardware.cluster.address")
    if kind not in (None, "local", "ray"):
        return None
    if kind == "ray" and address is None:
        return RAY_ADDRESS
    if address is not None:
        return str(address)
    if kind == "local" or (kind is None and plan.on_cpu):
        return None
    return environment.get("RAY_ADDRESS") if kind is None else None


def check_site(
    state: Compilation,
    address: str | None = None,
    *,
    limit_seconds: float = LIMIT_SECONDS,
    runtime_env: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> list[Diagnostic]:
    """What stands in the way of `state` on the machines it is meant for; empty when nothing does, or it has errors.

    `address` is the cluster to ask, by default the spec's own; `runtime_env` is the one that the run's job will have;
    `folder` is where the run writes, by default `run.output`; RAY_ADDRESS is read from `environment`. A finding's place
    is a line of the spec.
    """
    if state.plan is None or state.config is None or not state.report.ok:
        return []
    address = address or cluster_address(state.plan, environment)
    if address is None and state.plan.get("hardware.cluster.kind", "local") != "local":
        return []
    if address is None:
        cpus = state.plan.demand.cpus if state.plan.demand else None
        own = check_machine(VerlConfig(state.config), folder or output_root(state), cpus)
        if any(found.severity is Severity.ERROR for found in own):
            return own
        return [*own, *_ask(state, None, limit_seconds, None, folder)]
    return _ask(state, address, limit_seconds, runtime_env, folder)


def _ask(
    state: Compilation,
    address: str | None,
    limit_seconds: float,
    runtime_env: Mapping[str, Any] | None,
    folder: Path | None,
) -> list[Diagnostic]:
    assert state.plan is not None
    questions = questions_of(state, folder, on_cluster=address is not None)
    site = ask(address, questions, limit_seconds=limit_seconds, runtime_env=runtime_env)
    return list(run_site_rules(state.plan, site, state.place))


def add_site_findings(
    state: Compilation, *, limit_seconds: float = LIMIT_SECONDS, environment: Mapping[str, str] = os.environ
) -> None:
    """Add what `check_site` says to the findings of `state`, less what a comment in the spec silences."""
    before = state.findings
    state.findings = check_site(state, limit_seconds=limit_seconds, environment=environment)
    state.findings = [*before, *apply_ignores(state)]


def questions_of(state: Compilation, folder: Path | None = None, *, on_cluster: bool = False) -> Questions:
    """What has to be known of each node for the run of `state`.

    On a cluster a folder is asked about where the spec names it; left open, the run chooses among those that are there.
    """
    plan = state.plan
    assert plan is not None
    named = plan.path("run.checkpoint.folder")
    stated = str(named if named and os.path.isabs(str(named)) else folder or plan.get("hardware.cluster.folder") or "")
    saved = stated or ("" if on_cluster else str(output_root(state)))
    paths = dict(_paths(plan))
    return Questions(
        packages=_packages(plan),
        modules=tuple(sorted({*_modules(state), *_logger_modules(plan)})),
        paths={route: path for route, path in paths.items() if os.path.isabs(path)},
        folders=tuple(dict.fromkeys([*([saved] if saved else ()), RAY_TEMPORARY])),
        shared=(saved,) if saved else (),
        models=tuple(dict.fromkeys(path for route, path in paths.items() if route in MODEL_ROUTES and _is_name(path))),
        ports=tuple(_ports(plan)),
    )


def _packages(plan: Plan) -> tuple[str, ...]:
    engines = (
        ENGINE_PACKAGES.get(str(plan.get("hardware.rollout.engine"))),
        TRAIN_PACKAGES.get(str(plan.get("hardware.train.engine"))),
    )
    return (*PACKAGES, *(name for name in engines if name is not None))


def _paths(plan: Plan) -> Iterator[tuple[str, str]]:
    """Spec route and path of everything that stays where it is; several rows files are told apart by a number."""
    for route in PATH_ROUTES:
        value = plan.path(route)
        listed = value if isinstance(value, (list, tuple)) else [value]
        for number, path in enumerate(listed):
            if isinstance(path, str):
                yield (route if number == 0 else f"{route}.{number}"), path
    for number, teacher in enumerate(plan.get("algorithm.distillation.teachers") or ()):
        yield f"algorithm.distillation.teachers.{number}", str(getattr(teacher, "model", teacher))


def _is_name(path: str) -> bool:
    """True for a repository of the hub, such as Qwen/Qwen2.5-7B-Instruct."""
    return path.count("/") == 1 and not path.startswith(("/", ".", "~"))


def _ports(plan: Plan) -> Iterator[int]:
    for section in ("prometheus", "disaggregation"):
        name = f"hardware.rollout.{section}"
        port = plan.get(f"{name}.port")
        if isinstance(port, int) and plan.get(f"{name}.enabled") is not False:
            yield port


def _modules(state: Compilation) -> set[str]:
    """Modules that the user's files import as they are loaded, and those that the spec names."""
    inputs = state.inputs
    if inputs is None:
        return set()
    travelling = {Path(name).parts[1 if len(Path(name).parts) > 1 else 0] for name in inputs.copies}
    local = {name.removesuffix(".py") for name in travelling}
    named = {str(entry["module"]).partition(".")[0] for entry in inputs.rewards if entry.get("module")}
    found = named.union(*(_imports(path) for path in inputs.copies.values() if path.suffix == ".py"))
    return {name for name in found - local if name not in sys.stdlib_module_names and name != "orbiter_spec"}


def _logger_modules(plan: Plan) -> Iterator[str]:
    """Modules that verl imports for the loggers of the run."""
    yield from (LOGGER_MODULES[name] for name in loggers(plan) if name in LOGGER_MODULES)


def _imports(path: Path) -> set[str]:
    """First names of the modules that `path` imports when it is loaded, except where it is ready to go without."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return set()
    plain = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = [alias.name for node in plain if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in plain if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return {name.partition(".")[0] for name in names}
