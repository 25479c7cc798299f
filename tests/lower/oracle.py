"""What Hydra and OmegaConf make of overrides and settings.

A composition takes Hydra most of a second, nearly all of it in reading YAML. So each engine is composed once, and
Hydra's own `_apply_overrides_to_config` then works on a copy; `test_compose.py` shows that this equals `hydra.compose`.
Releases that are not installed are unpacked beside the environment; where they cannot be had their tests are skipped.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hydra")
if find_spec("verl") is None:
    pytest.skip("verl is not installed", allow_module_level=True)

from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from orbiter_spec.devtools.catalogue import installed_config_dir
from orbiter_spec.devtools.releases import FetchError, config_dir

INSTALLED = version("verl")
ENGINES = ("dp", "megatron", "veomni", "torchtitan")
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "dev.json"
PARSER = OverridesParser.create()


def plain(config: DictConfig) -> Any:
    return OmegaConf.to_container(config, resolve=True, throw_on_missing=False)


def release_folder(release: str) -> Path:
    """The configuration folder of a release, the installed one or an unpacked one."""
    if release == INSTALLED:
        return installed_config_dir()
    try:
        return config_dir(release)
    except FetchError as problem:
        pytest.skip(str(problem))


def composed(overrides: Sequence[str], release: str = INSTALLED) -> Any:
    """The real thing."""
    with initialize_config_dir(str(release_folder(release)), version_base=None):
        return plain(compose("ppo_trainer", overrides=list(overrides)))


@cache
def _base(engine: str, release: str) -> DictConfig:
    with initialize_config_dir(str(release_folder(release)), version_base=None):
        return compose("ppo_trainer", overrides=[f"model_engine={engine}"])


def applied(overrides: Sequence[str], release: str = INSTALLED) -> Any:
    """The same from the cached composition; the engine is taken from `model_engine=...`."""
    engines = [text.partition("=")[2] for text in overrides if text.startswith("model_engine=")]
    config = copy.deepcopy(_base(engines[-1] if engines else "dp", release))
    rest = [text for text in overrides if not text.startswith("model_engine=")]
    ConfigLoaderImpl._apply_overrides_to_config(PARSER.parse_overrides(rest), config)
    return plain(config)


def updated(engine: str, settings: Mapping[str, Any], release: str = INSTALLED) -> Any:
    """Settings as values, without the text of overrides: what `++key=value` does."""
    config = copy.deepcopy(_base(engine, release))
    for key, value in settings.items():
        OmegaConf.update(config, key, value, merge=True, force_add=True)
    return plain(config)
