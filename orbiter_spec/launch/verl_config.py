"""What the launcher asks of a compiled `verl.yaml`, and the overrides that bind it to a run folder.

The compiled folder is never changed by a run: what depends on the run folder is said on verl's command line. verl
starts in the compiled folder; a relative output folder in `verl.yaml` is taken for one of the run folder, beside it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from orbiter_spec.launch.run_folder import RunFolder

OUTPUT_KEYS = ("trainer.default_local_dir", "trainer.rollout_data_dir", "trainer.validation_data_dir")


@dataclass(frozen=True, slots=True)
class VerlConfig:
    """A compiled configuration, read by dotted keys."""

    values: Mapping[str, Any]

    def get(self, key: str, default: Any = None) -> Any:
        """The value at a dotted key; `default` where any part of it is absent or null."""
        value: Any = self.values
        for name in key.split("."):
            if not isinstance(value, Mapping) or value.get(name) is None:
                return default
            value = value[name]
        return value

    def number(self, key: str, default: int) -> int:
        """An integer at a dotted key; `default` where it is absent or something else."""
        value = self.get(key)
        return value if isinstance(value, int) else default

    @property
    def loggers(self) -> list[str]:
        """verl's loggers."""
        named = self.get("trainer.logger", [])
        return [named] if isinstance(named, str) else list(named)


def read_verl_config(folder: Path) -> VerlConfig:
    """Read `folder/verl.yaml`.

    Raises:
        OSError, ValueError: when there is none, or it is no mapping.
    """
    return read_verl_file(folder / "verl.yaml")


def read_verl_file(path: Path) -> VerlConfig:
    """Read a configuration of verl. Raises what `read_verl_config` raises."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        values = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except YAMLError as error:
        raise ValueError(f"{path} is not YAML") from error
    if not isinstance(values, Mapping):
        raise ValueError(f"{path} is no mapping")
    return VerlConfig(values)


def quoted(value: str | os.PathLike[str]) -> str:
    """`value` as a quoted string of Hydra's override grammar."""
    text = os.fspath(value)
    escaped = text.replace("\\'", "\\\\'").replace("'", "\\'")
    tail = len(escaped) - len(escaped.rstrip("\\"))
    return f"'{escaped}{chr(92) * tail}'"


def output_folder(config: VerlConfig, key: str, folder: RunFolder) -> Path | None:
    """Where verl writes what `key` names, or None when it is off."""
    value = config.get(key)
    return folder.path / str(value) if value else None


def checkpoints_folder(config: VerlConfig, folder: RunFolder) -> Path:
    """Where verl keeps its checkpoints."""
    return output_folder(config, OUTPUT_KEYS[0], folder) or folder.checkpoints


def binding_overrides(config: VerlConfig, folder: RunFolder) -> list[str]:
    """The overrides that send verl's output into the run folder and its metrics to a file."""
    folders = {key: output_folder(config, key, folder) for key in OUTPUT_KEYS}
    folders[OUTPUT_KEYS[0]] = checkpoints_folder(config, folder)
    overrides = [f"{key}={quoted(path)}" for key, path in folders.items() if path is not None]
    return [*overrides, *logger_overrides(config)]


def logger_overrides(config: VerlConfig) -> list[str]:
    """The override that makes verl write its metrics to a file as well."""
    return [] if "file" in config.loggers else [f"trainer.logger=[{','.join([*config.loggers, 'file'])}]"]


def logger_folders(logs: Path) -> dict[str, str]:
    """Variables that keep what verl's loggers write in `logs`; MLflow's would go to one file of the whole machine."""
    return {
        "TENSORBOARD_DIR": str(logs / "tensorboard"),
        "WANDB_DIR": str(logs),
        "MLFLOW_TRACKING_URI": f"sqlite:///{logs.absolute() / 'mlflow.db'}",
        "SWANLAB_LOG_DIR": str(logs / "swanlab"),
    }


def named_start(config: VerlConfig) -> Path | None:
    """The checkpoint that the spec begins from, or None; a relative path starts at verl's working folder."""
    path = config.get("trainer.resume_from_path") if config.get("trainer.resume_mode") == "resume_path" else None
    return Path(str(path)) if path else None


def resume_overrides(checkpoint: Path | None) -> list[str]:
    """The overrides that make verl go on from `checkpoint`, or from the beginning."""
    if checkpoint is None:
        return ["trainer.resume_mode=disable"]
    return ["trainer.resume_mode=resume_path", f"trainer.resume_from_path={quoted(checkpoint)}"]


def overridden(config: VerlConfig, overrides: Sequence[str], key: str) -> str | None:
    """The text of the last override of `key`, or None."""
    found = [text.partition("=")[2] for text in overrides if text.lstrip("+").partition("=")[0] == key]
    return found[-1] if found else None


def total_steps(config: VerlConfig, overrides: Sequence[str], planned: int | None) -> int | None:
    """Steps of the whole training: an override, else verl's own key, else the plan's; None to validate only."""
    if config.get("trainer.val_only", False):
        return None
    key = "trainer.total_training_steps"
    text = overridden(config, overrides, key)
    if text is not None and text.strip().isdigit():
        return int(text)
    value = config.get(key)
    return value if isinstance(value, int) else planned


def planned_steps(compiled: Path) -> tuple[int | None, int | None]:
    """Steps of the whole training and of an epoch, as the compiled plan counted them."""
    try:
        batches = json.loads((compiled / "plan.json").read_text(encoding="utf-8"))["batches"]
        return batches.get("total_steps"), batches.get("steps_per_epoch")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None, None


def raised_epochs(config: VerlConfig, overrides: Sequence[str], total: int | None, per_epoch: int | None) -> list[str]:
    """More steps than the compiled epochs hold need more epochs: verl stops at whichever ends first."""
    if overridden(config, overrides, "trainer.total_training_steps") is None or not total or not per_epoch:
        return []
    need = ceil(total / per_epoch)
    has_own = overridden(config, overrides, "trainer.total_epochs") is not None
    return [] if has_own or need <= config.number("trainer.total_epochs", 1) else [f"trainer.total_epochs={need}"]
