"""A trained checkpoint is evaluated by the real trainer and exported for transformers: both are the trained policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.training.runs import orbiter

pytest.importorskip("verl")
pytestmark = pytest.mark.training


@pytest.mark.timeout(900)
def test_evaluate_and_export_the_trained_policy(tmp_path: Path) -> None:
    spec, output = ROOT / "specs" / "quickstart.yaml", f"run.output={tmp_path}"
    sets = ["--set", output, "--set", "algorithm.steps=6", "--set", "run.log=[console, tensorboard]"]
    done = orbiter("run", spec, *sets, "--set", "run.evaluate.before_training=false", timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = tmp_path.glob("quickstart-*")
    assert_tensorboard_wrote(run)

    exported = tmp_path / "exported"
    done = orbiter("export", f"{run}@6", "-o", exported, timeout=120)
    assert done.returncode == 0, done.stderr
    assert_same_policy(run / "checkpoints" / "global_step_6", exported)

    sets = ["--set", output, "--set", "run.evaluate.samples=2"]
    done = orbiter("evaluate", spec, "--checkpoint", run, *sets, "--format", "json", timeout=400)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    reward = next(one for one in found["scores"] if one["measure"] == "reward")
    assert (reward["source"], reward["prompts"], reward["answers"]) == ("digits-validation", 32, 64)
    assert reward["low"] <= reward["mean"] <= reward["high"]
    assert reward["mean"] > 0.2, "an untrained model scores 0.04"
    answers = [json.loads(line) for line in (Path(found["answers"]) / "6.jsonl").read_text().splitlines()]
    assert reward["mean"] == pytest.approx(sum(one["score"] for one in answers) / 64)
    assert json.loads((Path(found["folder"]) / "scores.json").read_text())["step"] == 6


def assert_tensorboard_wrote(run: Path) -> None:
    """verl's TensorBoard logger has the run's own numbers."""
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    (events,) = (run / "logs" / "tensorboard").rglob("events.out.tfevents.*")
    found = reader.EventAccumulator(str(events)).Reload()
    written = {event.step: event.value for event in found.Scalars("critic/score/mean")}
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    measured = {record["step"]: record["critic/score/mean"] for record in metrics if "critic/score/mean" in record}
    assert written == pytest.approx(measured, rel=1e-5)
    assert len(written) == 6


def assert_same_policy(checkpoint: Path, exported: Path) -> None:
    """transformers loads the export; its weights are the checkpoint's in bfloat16 and its answers follow."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    shard = torch.load(checkpoint / "actor" / "model_world_size_1_rank_0.pt", map_location="cpu", weights_only=False)
    trained = {name: getattr(value, "_local_tensor", value) for name, value in shard.items()}
    model = transformers.AutoModelForCausalLM.from_pretrained(exported, dtype=torch.float32)
    weights = model.state_dict()
    assert set(weights) == set(trained)
    for name, value in trained.items():
        assert torch.equal(weights[name], value.to(torch.bfloat16).float()), name
    tokens = transformers.AutoTokenizer.from_pretrained(exported)("say 5", return_tensors="pt")
    rounded = model(**tokens).logits
    model.load_state_dict({name: value.float() for name, value in trained.items()})
    exact = model(**tokens).logits
    assert torch.nn.functional.cosine_similarity(rounded, exact, dim=-1).min() > 0.999
    assert torch.equal(rounded.argmax(-1), exact.argmax(-1))
