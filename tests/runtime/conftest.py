"""A tiny model on disk and in memory, and real verl runs of a few steps."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

import orbiter_spec.runtime.reward
from orbiter_spec.data.tiny_model import write_tiny_model

RUNTIME = Path(orbiter_spec.runtime.reward.__file__).parent
MODULES = ("torch", "verl", "ray", "transformers")


def copy_reward_path(folder: Path) -> None:
    """The files of a compiled folder that score, beside a rewards.json that the test writes."""
    for name in ("reward.py", "reward_metrics.py"):
        shutil.copy(RUNTIME / name, folder / name)
    shutil.copytree(
        RUNTIME / "reward_library",
        folder / "reward_library",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Without the `cpu` extra there is nothing here to test."""
    missing = [name for name in MODULES if importlib.util.find_spec(name) is None]
    return True if missing and collection_path.name.startswith("test_") else None


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "model"
    write_tiny_model(folder)
    return folder


@pytest.fixture(scope="session")
def sharp_folder(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Path:
    """The tiny model with a head forty times larger, so that its choices differ from one prompt to the next."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tmp_path_factory.mktemp("sharp") / "model"
    model = AutoModelForCausalLM.from_pretrained(model_folder)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(6.0)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(model_folder).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def model(sharp_folder: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(sharp_folder).eval()


CPU = {
    "trainer.device": "cpu",
    "actor_rollout_ref.rollout.name": "hf",
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 1,
    "actor_rollout_ref.actor.strategy": "fsdp2",
    "actor_rollout_ref.ref.strategy": "fsdp2",
    "critic.strategy": "fsdp2",
    "actor_rollout_ref.model.use_remove_padding": False,
    "critic.model.use_remove_padding": False,
    "+ray_kwargs.ray_init.address": "local",
    "+ray_kwargs.ray_init.include_dashboard": False,
}
"""What a CPU run needs."""

_FP32 = "{param_dtype:fp32,reduce_dtype:fp32,buffer_dtype:fp32}"
EXACT = {
    "actor_rollout_ref.rollout.dtype": "float32",
    "+actor_rollout_ref.actor.fsdp_config.mixed_precision": _FP32,
    "+actor_rollout_ref.ref.fsdp_config.mixed_precision": _FP32,
    "+critic.fsdp.mixed_precision": _FP32,
}
"""Exact agreement between rollout and actor: float32 throughout (verl computes in bfloat16 otherwise)."""

SMALL = {
    "data.dataloader_num_workers": 0,
    "actor_rollout_ref.rollout.agent.num_workers": 1,
    "reward.num_workers": 1,
    "transfer_queue.backend.SimpleStorage.num_data_storage_units": 1,
    "actor_rollout_ref.rollout.calculate_log_probs": True,
    "trainer.v1.sampler.custom_sampler.path": "pkg://orbiter_spec.runtime.sampler",
    "trainer.v1.sampler.custom_sampler.name": "FastReplayBuffer",
}
"""What keeps the number of processes small and the steps short."""

TASK = {
    "data.train_files": "train.parquet",
    "data.val_files": "validation.parquet",
    "data.train_batch_size": 16,
    "data.max_prompt_length": 32,
    "data.max_response_length": 8,
    "actor_rollout_ref.model.path": "model",
    "critic.model.path": "model",
    "actor_rollout_ref.model.enable_gradient_checkpointing": False,
    "critic.model.enable_gradient_checkpointing": False,
    "actor_rollout_ref.rollout.n": 4,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 32,
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": 32,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 16,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 32,
    "actor_rollout_ref.actor.optim.lr": 1e-2,
    "critic.optim.lr": 1e-2,
    "critic.ppo_mini_batch_size": 16,
    "critic.ppo_micro_batch_size_per_gpu": 32,
    "reward.custom_reward_function.path": "reward.py",
    "trainer.logger": "[file]",
    "trainer.default_local_dir": "checkpoints",
    "trainer.save_freq": -1,
    "trainer.test_freq": 100,
    "hydra.run.dir": "hydra",
}
"""A task that is learnt in a few steps: answer in digits."""


def workers(count: int) -> dict[str, object]:
    """`count` trainer workers, and the CPUs and GPUs that Ray must offer: fewer, and verl waits for ever."""
    queue_controller, storage_units, per_worker = 1, 1, 3
    return {
        "trainer.nnodes": 1,
        "trainer.n_gpus_per_node": count,
        "ray_kwargs.ray_init.num_cpus": queue_controller + storage_units + per_worker * count,
        "+ray_kwargs.ray_init.num_gpus": count,
    }


REWARD = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None, **_):
    text = solution_str.replace("<|im_end|>", "")
    return sum(character.isdigit() for character in text) / max(len(text), 1)
"""


@dataclass(frozen=True)
class Trained:
    """What a run left behind."""

    returncode: int
    log: str
    metrics: list[dict[str, Any]]
    processes: list[str]

    def series(self, name: str) -> list[float]:
        return [line["data"][name] for line in self.metrics if name in line["data"]]


class Training:
    """Runs verl's own entry point in a folder, with a time limit, and leaves no process behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *settings: dict[str, object], timeout: float, **environment: str) -> Trained:
        overrides = {name: value for part in (CPU, EXACT, SMALL, TASK, *settings) for name, value in part.items()}
        marker, metrics = uuid.uuid4().hex, self.folder / "metrics.jsonl"
        metrics.unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-m", "verl.trainer.main_ppo", *[f"{name}={value}" for name, value in overrides.items()]],
            cwd=self.folder,
            env={**_environment(), "ORBITER_TEST": marker, "VERL_FILE_LOGGER_PATH": str(metrics), **environment},
            stdout=(self.folder / "log").open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            returncode = process.wait(timeout)
            left = _wait_for_end(marker)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            for leftover in _marked(marker):
                leftover.kill()
        log = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
        lines = metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []
        return Trained(returncode, log, [json.loads(line) for line in lines], left)


def _environment() -> dict[str, str]:
    dropped = ("VERL_", "RAY_", "TQ_", "ORBITER_")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}


def _marked(marker: str) -> list[psutil.Process]:
    """Processes of this run, wherever they were reparented to: all of them inherit its environment."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("ORBITER_TEST") == marker and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _wait_for_end(marker: str, seconds: float = 20) -> list[str]:
    end = time.monotonic() + seconds
    while (left := _marked(marker)) and time.monotonic() < end:
        time.sleep(0.5)
    return [process.name() for process in left]


@pytest.fixture
def training(tmp_path: Path, model_folder: Path) -> Training:
    import pyarrow
    import pyarrow.parquet

    def row(index: int) -> dict[str, object]:
        prompt = [{"role": "user", "content": str(index)}]
        reward = {"style": "rule", "ground_truth": ""}
        return {"data_source": "digits", "prompt": prompt, "reward_model": reward, "extra_info": {"index": index}}

    rows = [row(index) for index in range(272)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows[:256]), tmp_path / "train.parquet")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows[256:]), tmp_path / "validation.parquet")
    (tmp_path / "reward.py").write_text(REWARD, encoding="utf-8")
    (tmp_path / "model").symlink_to(model_folder)
    return Training(tmp_path)
