"""When the plugin acts, and that it changes nothing where it should not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from orbiter_spec.runtime import patches

pytestmark = pytest.mark.timeout(400)
PROBE = """
import json, os, sys
import verl
from verl.plugin.platform.platform_manager import PlatformRegistry, get_platform
facts = {
    "registered": "cpu" in PlatformRegistry.registered_names(),
    "hooked": any(type(finder).__name__ == "AfterImport" for finder in sys.meta_path),
    "ours": sorted(name for name in sys.modules if name.startswith("orbiter_spec.runtime.")),
    "heavy": [name for name in ("verl.workers", "verl.trainer", "orbiter_spec.runtime.engine") if name in sys.modules],
    "environment": {name: os.environ.get(name) for name in ("VERL_PLATFORM", "VERL_ENGINE_DEVICE")},
}
if facts["registered"]:
    facts["device"] = get_platform().device_name
    from verl.utils.device import get_torch_device
    facts["torch_device"] = get_torch_device().get_device_name()
print(json.dumps(facts))
"""
INERT = {"registered": False, "hooked": False, "ours": ["orbiter_spec.runtime.plugin"], "heavy": []}
ACTIVE = {
    "registered": True,
    "hooked": True,
    "ours": [f"orbiter_spec.runtime.{name}" for name in ("moved", "patches", "platform", "plugin")],
    "heavy": [],
    "environment": {"VERL_PLATFORM": "cpu", "VERL_ENGINE_DEVICE": "cpu"},
    "device": "cpu",
    "torch_device": "CPU",
}


def probe(code: str = PROBE, **environment: str) -> Any:
    """Run `code` in a fresh process with only these of the variables that decide, and read the JSON it prints."""
    dropped = ("VERL_PLATFORM", "VERL_ENGINE_DEVICE", "RAY_ADDRESS", "RAY_JOB_ID", "RAY_RAYLET_PID")
    inherited = {name: value for name, value in os.environ.items() if name not in dropped}
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "environment",
    [{"VERL_PLATFORM": "cuda"}, {"RAY_ADDRESS": "10.0.0.1:6379"}],
    ids=["cuda", "cluster"],
)
def test_inert(environment: dict[str, str]) -> None:
    facts = probe(**environment)
    expected = {"VERL_PLATFORM": environment.get("VERL_PLATFORM"), "VERL_ENGINE_DEVICE": None}
    assert facts == {**INERT, "environment": expected}


def test_active_when_chosen() -> None:
    assert probe(VERL_PLATFORM="cpu", RAY_ADDRESS="10.0.0.1:6379") == ACTIVE


def test_active_without_an_accelerator() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has an accelerator")
    assert probe() == ACTIVE


def test_inert_where_verl_finds_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    from verl.plugin.platform.platform_cuda import PlatformCUDA

    from orbiter_spec.runtime import plugin

    for name in (plugin.PLATFORM_VARIABLE, *plugin.CLUSTER_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(PlatformCUDA, "is_platform_available", lambda self, use_smi_check=False: True)
    assert not plugin.is_chosen()


def test_verl_finds_everything_it_needs() -> None:
    code = """
import json
import verl.workers.engine_workers
from verl.workers.engine import EngineRegistry
from verl.workers.rollout.base import get_rollout_class
from verl.workers.rollout.replica import get_rollout_replica_class
from verl.workers.rollout import router
from verl.utils import distributed
classes = [
    EngineRegistry.get_engine_cls("language_model", "fsdp2"),
    EngineRegistry.get_engine_cls("value_model", "fsdp2"),
    get_rollout_class("hf"),
    get_rollout_replica_class("hf"),
    router.GlobalRequestLoadBalancer,
]
wrapped = hasattr(verl.workers.engine_workers.initialize_global_process_group_ray, "__wrapped__")
print(json.dumps([*[found.__name__ for found in classes], wrapped]))
"""
    assert probe(code, VERL_PLATFORM="cpu") == [
        "CpuEngineWithLMHead",
        "CpuEngineWithValueHead",
        "TransformersRollout",
        "TransformersReplica",
        "PromptRouter",
        True,
    ]


def test_any_module_may_be_imported_first() -> None:
    """Ray imports the module of an actor's class before anything else; verl must still load the plugin whole."""
    code = """
import json
import orbiter_spec.runtime.{name}
from verl.plugin.platform.platform_manager import get_platform
print(json.dumps(get_platform().device_name))
"""
    for name in ("platform", "transformers_rollout"):
        assert probe(code.replace("{name}", name), VERL_PLATFORM="cpu") == "cpu", name


def test_the_server_does_not_import_verl() -> None:
    code = "import json, sys, orbiter_spec.runtime.transformers_server, orbiter_spec.runtime.router\n"
    assert probe(code + "print(json.dumps('verl' in sys.modules))") is False


@pytest.mark.parametrize("name", sorted(patches.COMPLETIONS))
def test_moved_code_is_an_error(name: str) -> None:
    with pytest.raises(ImportError, match=rf"expects \w+.* in {name}; this verl does not have it"):
        patches.COMPLETIONS[name](ModuleType(name))


def test_a_changed_signature_is_an_error() -> None:
    module = ModuleType("verl.utils.distributed")
    module.initialize_global_process_group_ray = lambda timeout_second=None: None  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="backend="):
        patches.name_gloo_once(module)


def test_after_import_runs_once_and_after_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "late_module.py").write_text("value = 1\n", encoding="utf-8")
    seen: list[int] = []
    finder = patches.AfterImport({"late_module": lambda module: seen.append(module.value)})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    import late_module  # type: ignore[import-not-found]

    assert seen == [late_module.value] == [1]
    assert not finder.pending
    del sys.modules["late_module"]
