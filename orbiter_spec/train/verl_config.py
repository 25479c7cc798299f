"""Settings of a VeRLTrainer, and the experiment that they mean."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import InitVar, dataclass
from enum import StrEnum
from typing import Any

from orbiter_spec.train.lifecycle import TrainConfig


class VeRLAlgorithm(StrEnum):
    """Algorithms by name. PPO learns a critic, GRPO compares the answers of a group."""

    PPO = "ppo"
    GRPO = "grpo"


@dataclass(slots=True)
class VeRLConfig(TrainConfig):
    """Settings of verl beside those of any trainer.

    `rollout_batch_size` counts the answers of a prompt that GRPO compares; `ppo_epochs` the passes over a batch;
    `kl_coeff` (`kl_coef` says the same) weighs the distance to the first model. Lengths are in tokens. `extra` lays
    values over the experiment by their routes, as `{"hardware": "cpu", "algorithm.batch.minibatch": 8}`; without a
    hardware there, the GPUs of this machine are used, or else its CPU. Raises ValueError for numbers out of range.
    """

    algorithm: VeRLAlgorithm = VeRLAlgorithm.GRPO
    rollout_batch_size: int = 4
    ppo_epochs: int = 4
    kl_coeff: float = 0.1
    clip_range: float = 0.2
    gamma: float = 1.0
    lam: float = 0.95
    model_name: str = ""
    tokenizer_name: str = ""
    max_prompt_length: int = 1024
    max_response_length: int = 512
    kl_coef: InitVar[float | None] = None

    def __post_init__(self, kl_coef: float | None) -> None:
        super(VeRLConfig, self).__post_init__()
        self.algorithm = VeRLAlgorithm(self.algorithm)
        self.kl_coeff = self.kl_coeff if kl_coef is None else kl_coef
        for name in ("rollout_batch_size", "ppo_epochs", "max_prompt_length", "max_response_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, and is {getattr(self, name)}")
        if not 0 <= self.clip_range <= 1:
            raise ValueError(f"clip_range must be from 0 to 1, and is {self.clip_range}")
        if self.kl_coeff < 0:
            raise ValueError(f"kl_coeff must be at least 0, and is {self.kl_coeff}")

    def sections(self) -> dict[str, Any]:
        """The sections `agent`, `algorithm`, `hardware` and `run` of the experiment; nothing that is left to plan."""
        model: Any = {"path": self.model_name}
        if self.tokenizer_name:
            model["tokenizer"] = self.tokenizer_name
        limits = {"prompt_tokens": self.max_prompt_length, "response_tokens": self.max_response_length}
        run = {"evaluate": {"every": self.eval_every}} if self.eval_every else {}
        return {
            "agent": {"model": model, "prompt": "{{ input }}", "limits": limits},
            "algorithm": self._algorithm(),
            "hardware": here(),
            "run": {"output": "runs", **run},
        }

    def _algorithm(self) -> dict[str, Any]:
        grpo = self.algorithm is VeRLAlgorithm.GRPO
        kl = {"apply": "loss" if grpo else "reward", "coefficient" if grpo else "reward_coefficient": self.kl_coeff}
        samples = {"samples_per_prompt": self.rollout_batch_size} if grpo else {}
        section: dict[str, Any] = {
            "name": self.algorithm.value,
            "epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "batch": {"prompts": self.batch_size, "updates": self.ppo_epochs, **samples},
            "clip": {"low": self.clip_range, "high": self.clip_range},
            "kl": kl if self.kl_coeff else {"apply": "none"},
        }
        if not grpo:
            section |= {"discount": self.gamma, "gae_lambda": self.lam}
        if self.warmup_steps:
            section["optimizer"] = {"warmup_steps": self.warmup_steps}
        return section


def here() -> Any:
    """The hardware of this machine as the language says it: its NVIDIA GPUs, or its CPU."""
    if shutil.which("nvidia-smi") is None:
        return "cpu"
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=False)
    gpus = sum(line.startswith("GPU ") for line in listed.stdout.splitlines())
    return {"gpus_per_node": gpus} if gpus else "cpu"
