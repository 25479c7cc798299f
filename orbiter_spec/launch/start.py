"""Start or go on with a prepared run folder, wherever its `launch.json` says it belongs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from orbiter_spec.diagnostics import Diagnostic
from orbiter_spec.launch.attempt import EXIT_CODES, RunOutcome, tell
from orbiter_spec.launch.local import run_local
from orbiter_spec.launch.progress import Reporter, Silent
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.settings import read_settings
from orbiter_spec.launch.status import State


def start(
    folder: RunFolder,
    *,
    reporter: Reporter | None = None,
    resume: bool = False,
    detach: bool = False,
    overrides: Sequence[str] = (),
) -> RunOutcome:
    """Run `folder` here or on its cluster. With `detach`, return once it is on its way."""
    try:
        settings = read_settings(folder.compiled)
    except ValueError as error:
        found = Diagnostic("ORB534", str(error), help="compile the spec again")
        return RunOutcome(State.FAILED, str(error), EXIT_CODES[State.FAILED], 0, (found,))
    if settings.cluster.kind == "ray":
        from orbiter_spec.launch.cluster.run import run_on_cluster

        return run_on_cluster(folder, reporter=reporter, resume=resume, detach=detach, overrides=overrides)
    if settings.cluster.kind != "local":
        return _handed_over(folder, settings.cluster.kind, reporter or Silent(), resume)
    if detach:
        return _detached(folder, reporter or Silent(), resume)
    return run_local(folder, reporter=reporter, resume=resume, overrides=overrides)


def _handed_over(folder: RunFolder, kind: str, reporter: Reporter, resume: bool) -> RunOutcome:
    """Give the run to another launcher; from there on it is asked with that launcher's own client."""
    from orbiter_spec.launch.cluster.parcel import ParcelError
    from orbiter_spec.launch.render import RenderError, as_finding, render, send

    try:
        said = send(render(folder, kind, resume=resume))
    except (RenderError, ParcelError, OSError, ValueError) as error:
        found = as_finding(error)
        return RunOutcome(State.FAILED, found.message, EXIT_CODES[State.FAILED], 0, (found,))
    tell(reporter.close)
    tell(reporter.note, f"given to {kind}: {said}")
    return RunOutcome(State.PREPARING, None, 0, 0)


def _detached(folder: RunFolder, reporter: Reporter, resume: bool) -> RunOutcome:
    """A launcher of its own, out of reach of this terminal."""
    command = [sys.executable, "-m", "orbiter_spec.launch.start", str(folder.path), *(["resume"] if resume else [])]
    folder.logs.mkdir(parents=True, exist_ok=True)
    with (folder.logs / "launcher.log").open("ab") as log:
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    tell(reporter.close)
    tell(reporter.note, f"started\nfollow it: orbiter-spec logs -f {folder.path}")
    return RunOutcome(State.PREPARING, None, 0, 0)


if __name__ == "__main__":
    from orbiter_spec.launch.progress import PlainReporter

    outcome = start(RunFolder.at(sys.argv[1]), reporter=PlainReporter(), resume="resume" in sys.argv[2:])
    sys.exit(outcome.exit_code)
