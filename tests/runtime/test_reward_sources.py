"""The reward's wrapper adds the source and nothing else."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import shutil
from pathlib import Path
from typing import Any

from orbiter_spec.runtime import reward_sources


def wrapped(folder: Path, reward: str) -> Any:
    (folder / "reward.py").write_text(reward)
    copy = shutil.copyfile(Path(reward_sources.__file__), folder / "reward_sources.py")
    spec = importlib.util.spec_from_file_location("copied", copy)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_source_stands_beside_the_score(tmp_path: Path) -> None:
    reward = "def compute_score(data_source, solution_str, **rest):\n    return {'score': 0.5, 'part': len(rest)}\n"
    score = wrapped(tmp_path, reward).compute_score
    assert not inspect.iscoroutinefunction(score)
    assert score(data_source="gsm8k", solution_str="x", ground_truth="y") == {
        "score": 0.5,
        "part": 1,
        "data_source": "gsm8k",
    }


def test_a_coroutine_stays_one(tmp_path: Path) -> None:
    module = wrapped(tmp_path, "async def compute_score_async(data_source, solution_str):\n    return 0.25\n")
    assert not hasattr(module, "compute_score")
    score = module.compute_score_async
    assert inspect.iscoroutinefunction(score)
    assert asyncio.run(score(data_source="a", solution_str="x")) == {"score": 0.25, "data_source": "a"}
