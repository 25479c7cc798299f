"""Run folders made on the spot, with numbers planted in them that a report must show."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

STATUS = {
    "state": "finished",
    "reason": None,
    "started_at": "2026-03-01T08:00:00+00:00",
    "updated_at": "2026-03-01T09:30:00+00:00",
    "finished_at": "2026-03-01T09:30:00+00:00",
    "host": "elsewhere",
    "pid": 1,
    "pid_started": 1,
    "attempt": 1,
    "exit_code": 0,
    "resumable_step": None,
}
PLAN = {
    "algorithm": "grpo",
    "hardware": {"accelerator": "H100-80GB", "nodes": 2, "gpus_per_node": 8},
    "model": {"path": "Qwen/Planted-7B"},
    "batches": {"prompts": 128, "samples_per_prompt": 8},
}


def make_run(folder: Path, *, steps: int, metrics: int = 0, **status: Any) -> Path:
    """A run of `steps` steps whose reward rises from 0.125 to 0.8125; `metrics` more columns of noise."""
    folder.mkdir(parents=True)
    values = {**STATUS, "step": steps, "total_steps": steps, **status}
    (folder / "status.json").write_text(json.dumps(values), encoding="utf-8")
    compiled = folder / "compiled"
    compiled.mkdir()
    (compiled / "plan.json").write_text(json.dumps(PLAN), encoding="utf-8")
    (compiled / "manifest.json").write_text(json.dumps({"verl": "0.9.1", "name": folder.name}), encoding="utf-8")
    (compiled / "verl.yaml").write_text("trainer: {logger: [console]}\nalgorithm: {gamma: 1.0}\n", encoding="utf-8")
    with (folder / "metrics.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record(step, steps, metrics)) + "\n" for step in range(steps + 1))
    return folder


def record(step: int, steps: int, metrics: int) -> dict[str, float]:
    """One line of metrics."""
    dice = random.Random(step)
    if step == 0:
        return {"step": 0, "val-core/planted-source/reward/mean@1": 0.03125}
    share = step / steps
    found = {
        "step": step,
        "critic/score/mean": 0.125 + 0.6875 * share,
        "critic/score/max": 1.0,
        "critic/score/min": 0.0,
        "reward/planted_part/mean": 0.25 * share,
        "reward/other_part/mean": 0.5 * math.sin(share),
        "actor/kl_loss": 0.01 * share,
        "actor/entropy": 2.0 - share,
        "response_length/mean": 300 + 50 * dice.random(),
        "perf/throughput": 4321.0,
        "timing_s/step": 8.0,
        "timing_s/gen": 5.0,
        "timing_s/update_actor": 2.0,
        "actor/perf/cpu_memory_used_gb": 77.5,
        "actor/grad_norm": 0.5 + 0.1 * dice.random(),
    }
    if step == steps:
        found["val-core/planted-source/reward/mean@1"] = 0.71875
    return {**found, **{f"extra/metric_{number}": dice.random() for number in range(metrics)}}


def write_rollouts(folder: Path, step: int, prompts: int, answers: int, text: str) -> int:
    """Answers of one step as verl writes them, with their parts; returns the bytes written."""
    (folder / "rollouts" / "rewards").mkdir(parents=True, exist_ok=True)
    records, parts = [], []
    for prompt in range(prompts):
        for answer in range(answers):
            uid = f"{step:05d}-{prompt}_{answer}_0"
            body = f"{text} answer {answer} to prompt {prompt} of step {step}"
            score = answer / max(1, answers - 1)
            records.append({"input": f"prompt {prompt}", "output": body, "gts": "42", "score": score, "uid": uid})
            parts.append({"uid": uid, "score": score, "planted_part": 0.4375})
    main, beside = (folder / "rollouts" / f"{step}.jsonl"), (folder / "rollouts" / "rewards" / f"{step}.jsonl")
    main.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    beside.write_text("".join(json.dumps(one) + "\n" for one in parts), encoding="utf-8")
    return main.stat().st_size
