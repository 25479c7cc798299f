"""Which checkpoint is meant, and what the merger makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orbiter_spec.data.tiny_model import write_tiny_model
from orbiter_spec.launch.chosen import NoCheckpointError, choose_checkpoint, split_name


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder whose checkpoints of steps 2 and 4 are whole, and that of step 6 half-written."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "run"
    (folder / "compiled").mkdir(parents=True)
    (folder / "compiled" / "verl.yaml").write_text(
        "actor_rollout_ref: {actor: {strategy: fsdp2}}\ntrainer: {default_local_dir: checkpoints}\n"
    )
    write_tiny_model(tmp_path / "model")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    for step in (2, 4, 6):
        actor = folder / "checkpoints" / f"global_step_{step}" / "actor"
        actor.mkdir(parents=True)
        weights = {name: value + step for name, value in model.state_dict().items()}
        torch.save(weights, actor / "model_world_size_1_rank_0.pt")
        (actor / "fsdp_config.json").write_text(json.dumps({"FSDP_version": 2, "world_size": 1}))
        model.config.save_pretrained(actor / "huggingface")
        transformers.AutoTokenizer.from_pretrained(tmp_path / "model").save_pretrained(actor / "huggingface")
        if step < 6:
            torch.save({}, actor.parent / "data.pt")
    return folder


def test_names_of_checkpoints() -> None:
    assert split_name("runs/a@12") == ("runs/a", 12)
    assert split_name("runs/a@b") == ("runs/a@b", None)
    assert split_name("@3") == ("@3", None)
    assert split_name("runs/a") == ("runs/a", None)


def test_the_last_whole_checkpoint_is_meant(run: Path) -> None:
    assert choose_checkpoint(str(run))[2].step == 4
    assert choose_checkpoint(f"{run}@2")[2].step == 2


def test_half_written_and_absent_checkpoints_are_refused(run: Path, cli, tmp_path: Path) -> None:
    with pytest.raises(NoCheckpointError, match="half-written"):
        choose_checkpoint(f"{run}@6")
    for name, said in ((f"{run}@6", "half-written"), (f"{run}@5", "whole checkpoints: 2, 4"), ("absent", "not a run")):
        done = cli("export", name, "-o", tmp_path / "out")
        assert done.returncode == 1
        assert said in done.stderr
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "out").exists()


def test_an_output_that_holds_something_is_left_alone(run: Path, cli, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    done = cli("export", run, "-o", tmp_path / "out")
    assert done.returncode == 1 and "ORB502" in done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_a_broken_shard_is_a_reason_and_leaves_nothing(run: Path, cli, tmp_path: Path) -> None:
    pytest.importorskip("verl")
    (run / "checkpoints" / "global_step_4" / "actor" / "fsdp_config.json").unlink()
    done = cli("export", run, "-o", tmp_path / "out")
    assert done.returncode == 3
    assert "ORB554" in done.stderr and "fsdp_config.json" in done.stderr
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out*"))


def test_the_merged_folder_is_the_checkpoint(run: Path, cli, tmp_path: Path) -> None:
    pytest.importorskip("verl")
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    done = cli("export", f"{run}@2", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    merged = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out", dtype=torch.bfloat16).state_dict()
    saved = torch.load(run / "checkpoints" / "global_step_2" / "actor" / "model_world_size_1_rank_0.pt")
    assert all(torch.equal(merged[name], value.bfloat16()) for name, value in saved.items())
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "out")("say 5")["input_ids"]
