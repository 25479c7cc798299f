"""What only the older trainer feeds, really trained: estimators get their input, and Ray has what they ask for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SPEC = """version: 1
name: legacy
agent:
  model: builtin:tiny-llama
  prompt: "{{ question }}"
  limits: {prompt_tokens: 64, response_tokens: 8}
dataset: {train: DATA, validation: {fraction: 0.1}}
rewards:
  - {name: digits, builtin: character_share, args: {kind: digits}}
  - {name: brevity, builtin: length_penalty, weight: 0.5, args: {target: 4}}
algorithm: ALGORITHM
hardware: cpu
run: {evaluate: {every: never, before_training: false}, checkpoint: {every: never}}
"""
BATCH = "learning_rate: 1e-2, steps: 2, batch: {prompts: 8"
ALGORITHMS = {
    "gdpo": f"{{name: gdpo, {BATCH}, samples_per_prompt: 4}}, kl: none}}",
    "preference-feedback": f"{{name: ppo, {BATCH}}}, preference_feedback: {{method: pow}}}}",
}


@pytest.mark.training
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_what_only_the_older_trainer_feeds(name: str, tmp_path: Path) -> None:
    pytest.importorskip("verl")
    spec = tmp_path / "spec.yaml"
    data = ROOT / "specs" / "data" / "digits.jsonl"
    spec.write_text(SPEC.replace("DATA", str(data)).replace("ALGORITHM", ALGORITHMS[name]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "orbiter_spec", "run", str(spec)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    metrics = next(tmp_path.rglob("metrics.jsonl"))
    steps = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    assert len(steps) >= 2
