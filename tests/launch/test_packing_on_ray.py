"""What the plan says of a cluster's room, and what real Ray then does with verl's placement groups."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from orbiter_spec.plan.model import Pool
from orbiter_spec.plan.packing import Room, unplaced
from tests.launch.packing_on_ray import TRAINING_CPUS

pytest.importorskip("ray")
ROOT = Path(__file__).resolve().parents[2]
FITS_SECONDS, NEVER_SECONDS = 60.0, 3.0
NONE = (0, 0)
SHAPES: dict[str, tuple[tuple[tuple[int, int], ...], tuple[tuple[int, ...], ...]]] = {
    "one node, exactly": (((24, 8), NONE, NONE), ((8,),)),
    "one CPU short": (((23, 8), NONE, NONE), ((8,),)),
    "two equal nodes": (((24, 8), (24, 8), NONE), ((8, 8),)),
    "both shares on one large node": (((48, 16), NONE, NONE), ((8, 8),)),
    "GPUs enough, no node has eight": (((12, 4), (12, 4), (12, 4)), ((8,),)),
    "CPUs here and GPUs there": (((64, 4), (12, 8), NONE), ((8,),)),
    "one GPU short on the second": (((24, 8), (24, 7), NONE), ((8, 8),)),
    "large pool first": (((24, 8), (12, 4), NONE), ((8,), (4,))),
    "two pools on each of two nodes": (((18, 6), (18, 6), NONE), ((4, 4), (2, 2))),
    "a second pool that finds two halves": (((18, 6), (18, 6), NONE), ((4, 4), (3,))),
    "four shares on three nodes": (((12, 4), (12, 4), (24, 8)), ((4, 4, 4, 4),)),
    "five shares on three nodes": (((12, 4), (12, 4), (24, 8)), ((4, 4, 4, 4, 4),)),
    "three pools on three nodes": (((6, 2), (12, 4), (24, 8)), ((8,), (4,), (2,))),
    "many small pools in the gaps": (((9, 3), (9, 3), (9, 3)), ((2, 2, 2), (1, 1, 1))),
    "small pools, one too many": (((9, 3), (9, 3), (9, 3)), ((2, 2, 2), (1, 1, 1, 1))),
}
"""Free CPUs and GPUs of three nodes, and pools as GPUs on each of their nodes, in verl's order."""


def fits(name: str) -> bool:
    nodes, pools = SHAPES[name]
    made = [Pool(f"pool-{number}", shares, (), TRAINING_CPUS) for number, shares in enumerate(pools)]
    return unplaced(made, (), [Room(cpus, gpus) for cpus, gpus in nodes]) is None


@pytest.fixture(scope="module")
def seen() -> dict[str, bool]:
    """What Ray did. What is said to fit gets long to come into being; what never fits would wait for ever."""
    cases = [(*SHAPES[name], FITS_SECONDS if fits(name) else NEVER_SECONDS) for name in SHAPES]
    command = [sys.executable, "-m", "tests.launch.packing_on_ray"]
    done = subprocess.run(
        command, input=json.dumps(cases), capture_output=True, text=True, timeout=500, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(zip(SHAPES, json.loads(done.stdout.splitlines()[-1]), strict=True))


@pytest.mark.training
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SHAPES)
def test_ray_does_as_predicted(seen: dict[str, bool], name: str) -> None:
    assert seen[name] is fits(name)


def test_the_shapes_are_of_both_kinds() -> None:
    answers = [fits(name) for name in SHAPES]
    assert len(answers) >= 10
    assert 5 <= sum(answers) <= len(answers) - 5
