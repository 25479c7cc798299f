"""Only whole checkpoints are gone on from."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from orbiter_spec.launch.checkpoints import latest_checkpoint


def save(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/data.pkl", "x" * 5000)


def checkpoint(folder: Path, step: int, roles: tuple[str, ...] = ("actor",), world: int = 2) -> Path:
    for role in roles:
        for kind in ("model", "optim", "extra_state"):
            for rank in range(world):
                save(folder / f"global_step_{step}" / role / f"{kind}_world_size_{world}_rank_{rank}.pt")
        (folder / f"global_step_{step}" / role / "huggingface").mkdir()
    save(folder / f"global_step_{step}" / "data.pt")
    (folder / "latest_checkpointed_iteration.txt").write_text(str(step))
    return folder / f"global_step_{step}"


def test_the_latest_by_number_not_by_name(tmp_path: Path) -> None:
    for step in (2, 10, 9):
        checkpoint(tmp_path, step)
    assert latest_checkpoint(tmp_path).step == 10


@pytest.mark.parametrize("folder", ["", "no/such/folder"])
def test_no_checkpoint(tmp_path: Path, folder: str) -> None:
    assert latest_checkpoint(tmp_path / folder) is None


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGE: dict[str, Callable[[Path], object]] = {
    "the data loader's state is missing": lambda step: (step / "data.pt").unlink(),
    "the data loader's state is cut": lambda step: cut(step / "data.pt"),
    "the data loader's state is empty": lambda step: (step / "data.pt").write_bytes(b""),
    "the actor is missing": lambda step: shutil.rmtree(step / "actor"),
    "a rank is missing": lambda step: (step / "actor" / "optim_world_size_2_rank_1.pt").unlink(),
    "a shard is cut": lambda step: cut(step / "actor" / "model_world_size_2_rank_0.pt"),
    "the model is missing": lambda step: [path.unlink() for path in (step / "actor").glob("model*")],
    "the critic is cut": lambda step: cut(step / "critic" / "extra_state_world_size_2_rank_1.pt"),
    "two world sizes are mixed": lambda step: save(step / "actor" / "model_world_size_1_rank_0.pt"),
    "nothing is there": lambda step: [shutil.rmtree(path) for path in step.iterdir() if path.is_dir()],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path, damage: str) -> None:
    checkpoint(tmp_path, 5, ("actor", "critic"))
    DAMAGE[damage](checkpoint(tmp_path, 10, ("actor", "critic")))
    assert latest_checkpoint(tmp_path).step == 5


def test_without_the_number_a_whole_checkpoint_is_found(tmp_path: Path) -> None:
    checkpoint(tmp_path, 5)
    (tmp_path / "latest_checkpointed_iteration.txt").unlink()
    assert latest_checkpoint(tmp_path).step == 5


def test_other_formats_are_believed_when_verl_said_done(tmp_path: Path) -> None:
    for step in (5, 10):
        (tmp_path / f"global_step_{step}" / "actor" / "dist_ckpt").mkdir(parents=True)
        save(tmp_path / f"global_step_{step}" / "data.pt")
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("5")
    assert latest_checkpoint(tmp_path).step == 5
