"""A tiny model on disk and in memory, and real verl runs of a few steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.data.tiny_model import write_tiny_model

MODULES = ("torch", "verl", "ray", "transformers")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Without the `cpu` extra there is nothing here to test."""
    import importlib.util

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
