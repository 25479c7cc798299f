"""The reward path's calls a second, beside verl's naive reward manager with the same function.

    python benchmarks/rewards.py [CALLS]

Both go through `NaiveRewardManager.run_single` as a reward worker calls it, with all calls in flight at once; one has
the plain function, the other the compiled reward path with that function as its only part. The other lines are what the
reward path adds: several parts, a gate, a function in a process of its own, a batch.

Seen on two cores that had other work as well, with 500 calls: 2,778 calls a second of the naive manager, 2,647 of the
reward path with the same function, 617 with three parts, 1,797 gated, 607 in a process of its own, 1,692 in batches.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import orbiter_spec.runtime.reward

RUNTIME = Path(orbiter_spec.runtime.reward.__file__).parent
CODE = """
def score(response, expected): return float(response == expected)
def many(response, expected): return [float(a == b) for a, b in zip(response, expected)]
def plain(data_source, solution_str, ground_truth, extra_info=None): return float(solution_str == ground_truth)
"""


class Characters:
    def decode(self, ids: Any, **_: Any) -> str:
        return "".join(chr(int(token)) for token in ids)


def part(function: str, **changes: Any) -> dict[str, Any]:
    item = {"name": function, "weight": 1.0, "kind": "function", "path": "code/rewards.py", "function": function}
    return {**item, "args": {}, "on_error": "stop", **changes}


CASES: dict[str, list[dict[str, Any]] | None] = {
    "verl naive, plain function": None,
    "reward path, same function": [part("score")],
    "reward path, three parts": [part("score", name=f"part{index}") for index in range(3)],
    "reward path, gated part": [part("score"), part("score", name="gated", only_if={"part": "score"})],
    "reward path, own process": [part("score", timeout_seconds=10)],
    "reward path, batches of 64": [part("many", batch=64)],
}


def sample() -> Any:
    import numpy as np
    import torch
    from verl import DataProto

    info = {"index": 0, "split": "train", "source": "a", "row": 1, "prompt": "?", "expected": None, "fields": "{}"}
    others = {
        "data_source": np.array(["sums"], dtype=object),
        "reward_model": np.array([{"ground_truth": "42"}], dtype=object),
        "extra_info": np.array([info], dtype=object),
    }
    tensors = {"responses": torch.tensor([[52, 50]]), "attention_mask": torch.ones(1, 2, dtype=torch.long)}
    return DataProto.from_dict(tensors=tensors, non_tensors=others)


def folder_with(parts: list[dict[str, Any]] | None) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="orbiter-benchmark-"))
    (folder / "code").mkdir()
    (folder / "code" / "rewards.py").write_text(CODE, encoding="utf-8")
    if parts is not None:
        shutil.copy(RUNTIME / "reward.py", folder / "reward.py")
        shutil.copytree(RUNTIME / "reward_library", folder / "reward_library")
        (folder / "rewards.json").write_text(json.dumps({"version": 1, "rewards": parts}), encoding="utf-8")
    return folder


async def calls_per_second(parts: list[dict[str, Any]] | None, calls: int) -> float:
    from omegaconf import OmegaConf
    from verl.trainer.ppo.reward import load_reward_manager

    folder = folder_with(parts)
    path, name = ("code/rewards.py", "plain") if parts is None else ("reward.py", "compute_score_async")
    function = {"path": str(folder / path), "name": name}
    config = {"reward": {"custom_reward_function": function, "reward_manager": {"source": "register", "name": "naive"}}}
    manager = load_reward_manager(OmegaConf.create(config), Characters())
    manager.loop = asyncio.get_running_loop()
    data = [sample() for _ in range(calls)]
    await asyncio.gather(*(manager.run_single(one) for one in data[: calls // 10]))
    started = time.perf_counter()
    results = await asyncio.gather(*(manager.run_single(one) for one in data))
    seconds = time.perf_counter() - started
    assert all(result["reward_score"] >= 1.0 for result in results)
    shutil.rmtree(folder, ignore_errors=True)
    return calls / seconds


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{calls} calls at once, {os.cpu_count()} cores")
    for name, parts in CASES.items():
        print(f"{name:28} {asyncio.run(calls_per_second(parts, calls)):10,.0f} calls/s", flush=True)


if __name__ == "__main__":
    main()
