"""What compile writes, for every example: reviewed as a snapshot, the same bytes every time, complete and accepted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from orbiter_spec.compiler import compile_spec
from tests.conftest import ROOT, SPECS

TEXTS = ("overrides.txt", "resource_pools.yaml", "plan.json", "origins.json", "rewards.json", "manifest.json")
WHOLE = ("quickstart", "ppo-critic-cpu", "grpo-7b-8gpu", "ppo-7b-2nodes", "lora-1gpu", "sglang-8gpu")


def compiled(spec: Path, folder: Path) -> Path:
    done = compile_spec(spec, folder)
    assert done.folder is not None, [f"{found.id} {found.message}" for found in done.report]
    return done.folder


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_snapshot(spec: Path, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    folder = compiled(spec, tmp_path / "out")
    names = (*TEXTS, "verl.yaml") if spec.stem in WHOLE else TEXTS
    for name in names:
        if (folder / name).exists():
            assert (folder / name).read_text(encoding="utf-8") == snapshot(name=name)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_same_spec_same_bytes(spec: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(ROOT / "specs", copy)
    first, second = compiled(spec, tmp_path / "a"), compiled(copy / spec.name, tmp_path / "deep" / "b")

    def content(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    assert content(first) == content(second)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_example_begins_with_the_schema_line(spec: Path) -> None:
    first = spec.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=../schemas/experiment.schema.json"


def test_compiling_again_replaces_the_folder(project: Path) -> None:
    out = project.parent / "out"
    compiled(project, out)
    (out / "overrides.txt").write_text("stale", encoding="utf-8")
    compiled(project, out)
    assert "stale" not in (out / "overrides.txt").read_text(encoding="utf-8")
    assert [path.name for path in project.parent.iterdir() if path.name.startswith(".")] == []
