"""The passes in their order. A pass takes a plan and returns a plan; each stands in the module named beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orbiter_spec.plan.algorithms import apply_preset
from orbiter_spec.plan.batches import fit_batches
from orbiter_spec.plan.given import flatten
from orbiter_spec.plan.hardware import place_hardware
from orbiter_spec.plan.hatch import heed_hatch
from orbiter_spec.plan.known import recall_model
from orbiter_spec.plan.memory import estimate_memory
from orbiter_spec.plan.model import NEWEST_RELEASE, Plan, Rows
from orbiter_spec.plan.offload import share_gpus
from orbiter_spec.plan.pools import size_pools
from orbiter_spec.plan.release import fit_release
from orbiter_spec.plan.roles import follow_actor
from orbiter_spec.plan.rollout import shape_rollout
from orbiter_spec.plan.schedule import schedule_run
from orbiter_spec.plan.trainer import choose_trainer
from orbiter_spec.spec.experiment import Experiment

PASSES: tuple[Callable[[Plan], Plan], ...] = (
    recall_model,
    fit_release,
    apply_preset,
    choose_trainer,
    place_hardware,
    heed_hatch,
    fit_batches,
    shape_rollout,
    schedule_run,
    share_gpus,
    follow_actor,
    size_pools,
    estimate_memory,
)


def make_plan(
    experiment: Experiment,
    rows: Rows | None = None,
    paths: Mapping[str, str] | None = None,
    release: str | None = None,
) -> Plan:
    """Decide everything that `experiment` leaves open.

    `rows` are the dataset's counts where they are known; `paths` say what routes that name files mean to verl;
    `release` is the verl release to plan for, by default the experiment's own.
    """
    given = flatten(experiment)
    release = release or str(given.get("verl.version", NEWEST_RELEASE))
    plan = Plan(experiment=experiment, given=given, rows=rows or Rows(), paths=paths or {}, release=release)
    for step in PASSES:
        plan = step(plan)
    return plan
