"""From a run folder to a job on the cluster: first everything that can be known, then one submission.

Nothing is sent while a check fails. A cluster that could never place the run and one that is only busy are told apart;
the second is refused as well, with the jobs that keep it busy, because verl would wait without a word.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from orbiter_spec.diagnostics import Diagnostic, Place, Severity
from orbiter_spec.launch.cluster.demand import Asked, lacks, read_asked
from orbiter_spec.launch.cluster.inside import SECRETS_VARIABLE
from orbiter_spec.launch.cluster.nodes import Node, emptied, read_nodes
from orbiter_spec.launch.cluster.parcel import ParcelError, packed
from orbiter_spec.launch.cluster.record import (
    JobRecord,
    Submission,
    log_size,
    submission_id,
    with_submission,
    write_record,
)
from orbiter_spec.launch.cluster.task import CARRIED_PACKAGE, TOKEN_FILE, Task
from orbiter_spec.launch.job_server import ClusterError, JobServer
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.secrets import Scrubber, passed_environment
from orbiter_spec.launch.settings import LaunchSettings
from orbiter_spec.launch.verl_config import (
    OUTPUT_KEYS,
    VerlConfig,
    logger_overrides,
    named_start,
    planned_steps,
    raised_epochs,
    total_steps,
)
from orbiter_spec.plan.packing import Piece

MODULES_VARIABLE = "VERL_USE_EXTERNAL_MODULES"
INSIDE = f"{CARRIED_PACKAGE}.cluster.inside"
ENTRYPOINT = f"python -u -m {CARRIED_PACKAGE}.cluster.on_cluster"


def check_cluster(server: JobServer, compiled: Path) -> list[Diagnostic]:
    """Whether Ray would place the run on the cluster now. Raises ClusterError, OSError, ValueError."""
    return check_nodes(read_nodes(server), read_asked(compiled), server)


def check_nodes(nodes: Sequence[Node], asked: Asked, server: JobServer | None = None) -> list[Diagnostic]:
    """Findings about `nodes`; `server` is asked who is at work where the cluster is busy."""
    idle = emptied(nodes)
    never = asked.missing(idle)
    if never is not None:
        return [_too_small(idle, never)]
    now = asked.missing(nodes)
    return [] if now is None else [_busy(nodes, now, server)]


def _too_small(nodes: Sequence[Node], piece: Piece) -> Diagnostic:
    return Diagnostic(
        "ORB530",
        f"{piece.name} asks for {piece.cpus} CPUs and {piece.gpus} GPUs on one node: "
        + ("; ".join(lacks(node, piece) for node in nodes) or "there is no node"),
        help="ask for fewer GPUs a node, or start Ray's nodes with more (ray start --num-cpus --num-gpus)",
    )


def _busy(nodes: Sequence[Node], piece: Piece, server: JobServer | None) -> Diagnostic:
    jobs = [job.id for job in server.running()] if server else []
    free = "; ".join(lacks(node, piece) for node in nodes)
    return Diagnostic(
        "ORB531",
        f"the cluster is busy: {piece.name} asks for {piece.cpus} CPUs and {piece.gpus} GPUs on one node; free now: "
        f"{free}" + (f"; at work: {', '.join(jobs)}" if jobs else ""),
        help="wait until a job has ended, or stop one: orbiter-spec stop RUN",
    )


def submit(
    server: JobServer,
    folder: RunFolder,
    record: JobRecord,
    config: VerlConfig,
    settings: LaunchSettings,
    *,
    attempt: int,
    retries: int,
    resume: bool,
    overrides: Sequence[str] = (),
) -> tuple[JobRecord, bool]:
    """Start the job of `attempt`, or find it there; the record with it, and whether this call started it.

    Raises:
        ClusterError, ParcelError, OSError: when nothing was started.
    """
    id = submission_id(folder.name, record.run, attempt)
    known = next((one for one in record.submissions if one.id == id), None)
    if known is not None and server.job(id) is not None:
        return record, False
    record = with_submission(record, Submission(id, attempt, log_size(folder.log)))
    (folder.path / TOKEN_FILE).write_text(record.run, encoding="utf-8")
    write_record(folder, record)
    task = make_task(folder, record, config, settings, attempt, retries, resume, list(overrides))
    with packed(folder.compiled, task, Scrubber.of(known_secrets(settings))) as parcel:
        (folder.logs / "parcel.txt").write_text(parcel.listing, encoding="utf-8")
        environment = job_environment(config, settings)
        started = server.submit(
            ENTRYPOINT,
            {"working_dir": str(parcel.path), "env_vars": environment},
            id=id,
            metadata={"orbiter_run": record.run, "name": folder.name},
        )
    return record, started is not None


def make_task(
    folder: RunFolder,
    record: JobRecord,
    config: VerlConfig,
    settings: LaunchSettings,
    attempt: int,
    retries: int,
    resume: bool,
    overrides: list[str],
) -> Task:
    """What the program on the cluster has to know."""
    planned, per_epoch = planned_steps(folder.compiled)
    total = total_steps(config, overrides, planned)
    outputs = {key: str(config.get(key)) for key in OUTPUT_KEYS if config.get(key)}
    outputs[OUTPUT_KEYS[0]] = outputs.get(OUTPUT_KEYS[0], "checkpoints")
    return Task(
        run=record.run,
        name=folder.name,
        folder=settings.cluster.folder or "",
        run_folder=str(folder.path),
        attempt=attempt,
        retries=retries,
        resume=resume,
        total_steps=total,
        checkpoints=outputs[OUTPUT_KEYS[0]],
        outputs=outputs,
        overrides=[*logger_overrides(config), *raised_epochs(config, overrides, total, per_epoch), *overrides],
        secrets=settings.secrets,
        on_cpu=config.get("trainer.device") == "cpu",
        resume_from=str(named_start(config) or ""),
    )


def job_environment(config: VerlConfig, settings: LaunchSettings) -> dict[str, str]:
    """The environment of every process of the job. Ray shows it to whoever can open the dashboard."""
    passed = passed_environment(settings.env)
    modules = ",".join([INSIDE, *(one for one in (passed.get(MODULES_VARIABLE),) if one)])
    mild = {"RAY_USAGE_STATS_ENABLED": "0", "TQ_NUM_THREADS": "2", "HYDRA_FULL_ERROR": "1"}
    firm = {MODULES_VARIABLE: modules, SECRETS_VARIABLE: json.dumps(settings.secrets), "PYTHONUNBUFFERED": "1"}
    if config.get("trainer.device") == "cpu":
        firm["VERL_PLATFORM"] = "cpu"
    return {**mild, **passed, **firm}


def known_secrets(settings: LaunchSettings) -> dict[str, str]:
    """Values of the secrets that this machine can resolve, to look for them where they must not be."""
    from orbiter_spec.launch.secrets import SecretMissingError, resolve_secrets

    found: dict[str, str] = {}
    for name, reference in settings.secrets.items():
        try:
            found |= resolve_secrets({name: reference}, os.environ)
        except SecretMissingError:
            continue
    return found


def as_finding(error: Exception, address: str) -> Diagnostic:
    """An error of the cluster or of the parcel, for people."""
    if isinstance(error, ParcelError):
        return Diagnostic("ORB532", str(error), help="keep it out of the files that the spec names")
    if isinstance(error, ClusterError):
        return Diagnostic("ORB533", str(error), Place(address), help="check hardware.cluster.address")
    return Diagnostic("ORB534", str(error), Place(address), severity=Severity.ERROR)
