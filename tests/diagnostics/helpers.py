"""Two findings that use everything, and one without a place."""

from __future__ import annotations

from orbiter_spec.diagnostics import Diagnostic, Place, Related, Report, Severity

LINE = "  tensor_parallel: 4"
STYLE = Diagnostic(
    "ORB203",
    "rollout tensor parallelism does not divide its pool",
    Place("specs/math.yaml", 18, 20, 1, LINE),
    "6 is not a multiple of 4",
    "use 1, 2, 3 or 6, or give the pool 8 GPUs",
)
WARNING = Diagnostic(
    "ORB224",
    "rows are dropped: 100%, or so",
    Place("specs/math.yaml", 7, 3, 5, "  batch: 3"),
    severity=Severity.WARNING,
    related=(Related(Place("base, x.yaml", 112, 1, 4, "rows: 10"), "the rows: these"),),
)
BARE = Diagnostic("ORB501", "nothing can be written", help="free some space")
REPORT = Report.of([STYLE, WARNING, BARE])
EMPTY = Report.of([])
