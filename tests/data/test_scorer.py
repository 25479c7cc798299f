"""A scorer that verl calls itself is looked at as verl will call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orbiter_spec.compiler import check

CODE = """
def whole(data_source, solution_str, ground_truth, extra_info=None):
    return 1.0

def open_ended(solution_str, **rest):
    return 1.0

def strict(data_source, solution_str, ground_truth, extra_info, strict):
    return 1.0

def short(solution_str, ground_truth):
    return 1.0

async def later(data_source, solution_str, ground_truth, extra_info):
    return 1.0

class Manager:
    pass
"""


def findings(folder: Path, rewards: str) -> list[str]:
    (folder / "r.py").write_text(CODE, encoding="utf-8")
    rows = [{"prompt": f"question {number}", "answer": "1"} for number in range(64)]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    text = f"""version: 1
name: scorer
agent: {{model: builtin:tiny-llama}}
dataset: {{train: rows.jsonl}}
rewards: {{{rewards}}}
algorithm: {{name: grpo, batch: {{prompts: 4, samples_per_prompt: 4}}}}
hardware: cpu
"""
    (folder / "spec.yaml").write_text(text, encoding="utf-8")
    report = check(str(folder / "spec.yaml")).report
    return [found.id for found in report if str(found.severity) == "error"]


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        ("scorer: 'r.py:whole'", []),
        ("scorer: 'r.py:open_ended'", []),
        ("scorer: 'r.py:later'", []),
        ("scorer: 'r.py:hole'", ["ORB402"]),
        ("scorer: 'r.py:short'", ["ORB405"]),
        ("scorer: 'r.py:strict'", ["ORB407"]),
        ("scorer: 'r.py:strict', args: {strict: true}", []),
        ("scorer: 'r.py:whole', args: {strict: true}", ["ORB405"]),
        ("scorer: 'r.py:later', manager: remote", ["ORB154"]),
        ("scorer: 'r.py:whole', manager: remote", []),
        ("scorer: 'r.py:whole', manager: 'r.py:Manger'", ["ORB402"]),
        ("scorer: 'r.py:short', manager: 'r.py:Manager'", []),
    ],
)
def test_it_is_found_and_callable(rewards: str, expected: list[str], tmp_path: Path) -> None:
    assert findings(tmp_path, rewards) == expected
