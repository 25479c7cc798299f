"""Settings of a RayPPOTrainer in sections, by the names that scripts use, and the experiment that they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from orbiter_spec.runtime.agent.environments import EnvironmentConfig
from orbiter_spec.train.lifecycle import TrainerError
from orbiter_spec.train.verl_config import here

ESTIMATORS: Final[Mapping[str, str]] = {
    "gae": "ppo",
    "grpo": "grpo",
    "grpo_passk": "grpo-passk",
    "reinforce_plus_plus": "reinforce++",
    "reinforce_plus_plus_baseline": "reinforce++-baseline",
    "rloo": "rloo",
    "remax": "remax",
    "opo": "opo",
    "gpg": "gpg",
}
"""verl's names of advantage estimators, and the algorithms of the language that use them."""
GROUPED: Final = frozenset(("grpo", "grpo_passk", "reinforce_plus_plus_baseline", "rloo", "opo", "gpg"))


@dataclass(slots=True)
class ModelConfig:
    """The model. `device` None takes this machine's GPUs, or its CPU where there are none."""

    model_name: str = ""
    dtype: str = "bfloat16"
    device: str | None = None
    tensor_parallel_size: int = 1
    local_path: str | None = None
    tokenizer: str | None = None
    trust_remote_code: bool = False


@dataclass(slots=True)
class InferenceConfig:
    """How answers are drawn. `max_tokens` are those of one turn, `max_prompt_tokens` those of a prompt."""

    backend: str = "vllm"
    max_tokens: int = 256
    temperature: float = 1.0
    top_p: float = 1.0
    multi_turn: bool = True
    max_turns: int = 5
    max_prompt_tokens: int = 1024


@dataclass(slots=True)
class TrainingConfig:
    """The algorithm. `batch_size` counts prompts a step, `samples_per_prompt` the answers that are compared."""

    learning_rate: float = 1e-6
    gamma: float = 1.0
    lam: float = 1.0
    clip_ratio: float = 0.2
    num_epochs: int = 1
    batch_size: int = 8
    adv_estimator: str = "gae"
    use_kl_in_reward: bool = False
    kl_coef: float = 0.001
    samples_per_prompt: int = 4


@dataclass(slots=True)
class CheckpointConfig:
    """Where experiment and runs are written, and every how many epochs weights are saved (0: never)."""

    output_dir: str = "checkpoints"
    save_interval: int = 1
    keep_last_n: int = 3


@dataclass(slots=True)
class ConfigStore:
    """All settings. `extra` lays values over the experiment by their routes, as `{"run.log": ["console"]}`."""

    model: ModelConfig = field(default_factory=ModelConfig)
    inference: InferenceConfig = field(default_factory=InferenceConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    environment: EnvironmentConfig = field(default_factory=EnvironmentConfig)
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ConfigStore:
        """Settings from a mapping of sections. Raises TrainerError for a name that there is not."""
        made = cls()
        for section, given in values.items():
            if section in ("environment", "extra"):
                setattr(made, section, EnvironmentConfig(given) if section == "environment" else dict(given))
                continue
            target = getattr(made, section, None)
            known = {one.name for one in fields(target)} if target is not None else set()
            unknown = sorted(set(given) - known)
            if target is None or unknown:
                raise TrainerError(f"there is no setting {section}{'.' + unknown[0] if target is not None else ''}")
            for name, value in given.items():
                setattr(target, name, value)
        return made

    def sections(self, *, plays: bool, epochs: int, steps_per_epoch: int) -> dict[str, Any]:
        """The sections `agent`, `algorithm`, `hardware` and `run`; `plays` says that an environment answers."""
        every = self.checkpoint.save_interval * steps_per_epoch
        saved = {"checkpoint": {"every": every, "keep": self.checkpoint.keep_last_n}} if every else {}
        return {
            "agent": self._agent(plays),
            "algorithm": self._algorithm(epochs),
            "hardware": self._hardware(),
            "run": {"output": "runs", **saved},
        }

    def _agent(self, plays: bool) -> dict[str, Any]:
        model, inference = self.model, self.inference
        path = model.local_path or model.model_name
        if not path:
            raise TrainerError("model.model_name is empty: name a model, or builtin:tiny-llama for a trial on a CPU")
        named: dict[str, Any] = {"path": path, "trust_remote_code": model.trust_remote_code}
        if model.tokenizer:
            named["tokenizer"] = model.tokenizer
        turns = inference.max_turns if inference.multi_turn else 1
        answer = 2 * inference.max_tokens * turns if plays else inference.max_tokens
        limits = {"prompt_tokens": inference.max_prompt_tokens, "response_tokens": answer}
        agent: dict[str, Any] = {
            "model": named,
            "prompt": "{{ input }}",
            "limits": limits,
            "sampling": {"temperature": inference.temperature, "top_p": inference.top_p},
        }
        if plays:
            agent["environment"] = {"class": "environment.py:Environment"}
            agent["turns"] = {"max": turns, "tokens": inference.max_tokens}
        return agent

    def _algorithm(self, epochs: int) -> dict[str, Any]:
        training = self.training
        name = ESTIMATORS.get(training.adv_estimator)
        if name is None:
            known = ", ".join(ESTIMATORS)
            raise TrainerError(f"training.adv_estimator is {training.adv_estimator!r}; there are {known}")
        samples = {"samples_per_prompt": training.samples_per_prompt} if training.adv_estimator in GROUPED else {}
        section: dict[str, Any] = {
            "name": name,
            "epochs": epochs,
            "learning_rate": training.learning_rate,
            "batch": {"prompts": training.batch_size, **samples},
            "clip": {"low": training.clip_ratio, "high": training.clip_ratio},
            "kl": {"apply": "none"},
        }
        if training.use_kl_in_reward:
            section["kl"] = {"apply": "reward", "reward_coefficient": training.kl_coef}
        if name == "ppo":
            section |= {"discount": training.gamma, "gae_lambda": training.lam}
        return section

    def _hardware(self) -> Any:
        found = here() if self.model.device is None else "cpu" if self.model.device == "cpu" else {}
        if found == "cpu":
            return "cpu"
        rollout = {
            "engine": self.inference.backend,
            "tensor_parallel": self.model.tensor_parallel_size,
            "dtype": self.model.dtype,
        }
        return {**found, "train": {"dtype": self.model.dtype}, "rollout": rollout}
