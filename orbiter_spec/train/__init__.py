"""The Python API: trajectories, synthesis, and the lifecycle of a training, over the same code as the commands.

Names are loaded when they are used, so that importing this package stays light. `NAMES` is its table of contents: a
module adds what it offers there, and nothing else has to change.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

NAMES: Final[dict[str, tuple[str, ...]]] = {
    "config_store": ("CheckpointConfig", "ConfigStore", "InferenceConfig", "ModelConfig", "TrainingConfig"),
    "environments": ("BaseEnvironment", "EnvironmentConfig", "SimpleGameEnvironment", "Trajectory"),
    "evolution": (
        "EvolutionConfig",
        "EvolutionError",
        "EvolutionPhase",
        "EvolutionPipeline",
        "EvolutionResult",
        "EvolutionStrategy",
    ),
    "examples": (
        "ExampleError",
        "augment_add_noise",
        "augment_swap_io",
        "deduplicate",
        "filter_by_score",
        "split_dataset",
    ),
    "inference": (
        "BatchInferenceManager",
        "InferenceEngine",
        "InferenceError",
        "MultiTurnInferenceEngine",
        "create_inference_engine",
    ),
    "inference_output": ("InferenceOutput",),
    "lifecycle": ("TrainConfig", "TrainMetrics", "Trainer", "TrainerError", "TrainerState"),
    "ray_trainer": ("RayPPOTrainer", "create_trainer"),
    "reward_spec": ("RewardSpec",),
    "synthesis": (
        "ChatEndpoint",
        "DataSynthesiser",
        "SynthesisConfig",
        "SynthesisError",
        "SynthesisPipeline",
        "SynthesisResult",
        "TeacherSynthesiser",
        "Teaching",
        "TemplateSynthesiser",
    ),
    "trajectories": (
        "DefaultStrategy",
        "TrajectoryDataset",
        "TrajectoryError",
        "TrajectoryItem",
        "TrajectoryStrategy",
    ),
    "verl_config": ("VeRLAlgorithm", "VeRLConfig"),
    "verl_trainer": ("VeRLTrainer",),
}
"""Names by the module of this package that defines them."""

_HOMES: Final = {name: module for module, names in NAMES.items() for name in names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
