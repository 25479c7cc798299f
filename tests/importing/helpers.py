"""What the tests of importing share."""

from __future__ import annotations

from collections.abc import Mapping

from orbiter_spec.importing import Imported, import_text
from orbiter_spec.importing.check import check_import
from orbiter_spec.lower.target import load_target

TARGET = load_target("0.9.1")
BASE = (
    "data.train_files=/data/train.parquet",
    "data.val_files=/data/test.parquet",
    "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct",
    "actor_rollout_ref.rollout.name=vllm",
    "algorithm.adv_estimator=grpo",
)


def imported(text: str, environ: Mapping[str, str] | None = None, **options: object) -> Imported:
    """Import `text` for the newest target."""
    return import_text(text, target=TARGET, environ=environ, **options)  # type: ignore[arg-type]


def equal(*overrides: str) -> Imported:
    """Import overrides on top of a usual run and hold the written spec to them."""
    found = imported("\n".join((*BASE, *overrides)))
    assert found.spec_text is not None, found.report.diagnostics
    assert found.left == ()
    assert check_import(found, TARGET) == []
    return found


def ids(found: Imported) -> list[str]:
    """The ids of all findings, sorted and without repetition."""
    return sorted({problem.id for problem in found.diagnostics})
