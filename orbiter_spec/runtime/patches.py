"""What verl's modules lack for a CPU, added right after verl imports them.

The modules are heavy and most processes need few of them, so nothing here imports verl: an import hook waits for each
name in `COMPLETIONS` and then calls the function beside it. Three of them use registries that verl keeps for such
additions, one listens to a logger. Two replace a name in a verl module, because verl has no other way in:

* `initialize_global_process_group_ray` joins "cpu:gloo" and the device's own backend, which on a CPU gives
  "cpu:gloo,cpu:gloo"; torch refuses a device named twice;
* `GlobalRequestLoadBalancer`, the default router, chooses servers at random (`router.py` says why that matters). A
  router named by `rollout.router_config_path` still wins.

What the FSDP engine needs on a CPU is in `engine.py`. Each function looks at what it relies on and raises when verl's
code has moved: the import of the verl module then fails, and the run with it.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from orbiter_spec.runtime.moved import moved, require

ROLLOUT_NAME = "hf"
ROLLOUT_CLASS = "orbiter_spec.runtime.transformers_rollout.TransformersRollout"


def name_gloo_once(module: ModuleType) -> None:
    """Default the process group's backend to "cpu:gloo"."""
    original = require(module, "initialize_global_process_group_ray")
    if "backend" not in inspect.signature(original).parameters:
        raise moved(module, "initialize_global_process_group_ray(backend=)")

    @functools.wraps(original)
    def initialize(timeout_second: int | None = None, backend: str | None = None) -> None:
        original(timeout_second=timeout_second, backend=backend or "cpu:gloo")

    module.initialize_global_process_group_ray = initialize  # type: ignore[attr-defined]


def add_engines(module: ModuleType) -> None:
    """Register the FSDP2 engines for the device `cpu`."""
    require(module, "FSDPEngineWithLMHead")
    require(module, "FSDPEngineWithValueHead")
    importlib.import_module("orbiter_spec.runtime.engine")


def add_replica(module: ModuleType) -> None:
    """Register the rollout replicas; their classes are imported when a run asks for them."""

    def load() -> Any:
        return importlib.import_module("orbiter_spec.runtime.transformers_rollout").TransformersReplica

    registry = require(module, "RolloutReplicaRegistry")
    registry.register(ROLLOUT_NAME, load)
    importlib.import_module("orbiter_spec.runtime.vllm_cpu").register(registry)


def add_rollout(module: ModuleType) -> None:
    """Register the worker's side of the rollout engine, by name as verl does; verl's own serves vLLM."""
    require(module, "_ROLLOUT_REGISTRY")[ROLLOUT_NAME, "async"] = ROLLOUT_CLASS
    importlib.import_module("orbiter_spec.runtime.vllm_cpu").answer_to_name()


def route_by_prompt(module: ModuleType) -> None:
    """Make `PromptRouter` the default router."""
    require(module, "GlobalRequestLoadBalancer")
    router = importlib.import_module("orbiter_spec.runtime.router").PromptRouter
    module.GlobalRequestLoadBalancer = router  # type: ignore[attr-defined]


def keep_errors(module: ModuleType) -> None:
    """Let the sampler ask an agent loop worker why a sample failed."""
    require(module, "logger").addHandler(importlib.import_module("orbiter_spec.runtime.failures").FIRST_ERROR)


COMPLETIONS: dict[str, Callable[[ModuleType], None]] = {
    "verl.utils.distributed": name_gloo_once,
    "verl.workers.engine.fsdp.transformer_impl": add_engines,
    "verl.workers.rollout.replica": add_replica,
    "verl.workers.rollout.base": add_rollout,
    "verl.workers.rollout.router": route_by_prompt,
    "verl.trainer.ppo.v1.agent_loop_tq": keep_errors,
}


class AfterImport(MetaPathFinder):
    """Finds nothing itself; lets the ordinary finders load a module and then completes it, once."""

    def __init__(self, completions: dict[str, Callable[[ModuleType], None]]) -> None:
        self.pending = dict(completions)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The ordinary spec of a pending module, with the completion run after its code."""
        complete = self.pending.pop(fullname, None)
        spec = importlib.util.find_spec(fullname) if complete else None
        if complete is None or spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_complete(module: ModuleType) -> None:
            execute(module)
            complete(module)

        spec.loader.exec_module = execute_and_complete  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Complete the modules that are loaded already and wait for the others. Does nothing the second time."""
    if any(isinstance(finder, AfterImport) for finder in sys.meta_path):
        return
    loaded = {name: sys.modules[name] for name in COMPLETIONS if name in sys.modules}
    sys.meta_path.insert(0, AfterImport({name: run for name, run in COMPLETIONS.items() if name not in loaded}))
    for name, module in loaded.items():
        COMPLETIONS[name](module)
