"""A run for launchers that start Ray themselves: KubeRay, Slurm, SkyPilot, plain shells on several machines.

Each is one text, rendered from `templates/` in a sandbox and printable before anything is sent. All run the same
program on the same parcel as a Ray cluster does (`cluster/on_cluster.py`), so retries and resuming are the same. The
templates are package data: a run must not depend on where the repository is.
"""

from __future__ import annotations

import base64
import io
import json
import re
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from orbiter_spec.diagnostics import Diagnostic
from orbiter_spec.launch.cluster.demand import read_asked
from orbiter_spec.launch.cluster.parcel import Parcel, ParcelError, packed
from orbiter_spec.launch.cluster.record import new_record
from orbiter_spec.launch.cluster.submit import ENTRYPOINT, job_environment, known_secrets, make_task
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.secrets import Scrubber
from orbiter_spec.launch.settings import ClusterSettings, LaunchSettings, read_settings
from orbiter_spec.launch.verl_config import VerlConfig, read_verl_config

KINDS = {
    "kuberay": "kuberay.yaml.jinja",
    "slurm": "slurm.sh.jinja",
    "skypilot": "skypilot.yaml.jinja",
    "shell": "shell.sh.jinja",
}
CLIENTS: Mapping[str, tuple[str, ...]] = {
    "kuberay": ("kubectl", "create", "-f"),
    "slurm": ("sbatch", "--parsable"),
    "skypilot": ("sky", "launch", "--yes", "--detach-run"),
}
IMAGE = "verlai/verl:vllm011.latest"
CONFIG_MAP_BYTES = 900 << 10
PARCEL_FOLDER = "parcel"
SUBMIT_SECONDS = 600
NAME_CHARACTERS = 45


class RenderError(Exception):
    """The launcher cannot take this run; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A launcher's text, and the file of the run folder that holds it."""

    kind: str
    text: str
    path: Path


def render(folder: RunFolder, kind: str, *, resume: bool = False) -> Rendered:
    """Write the parcel and the launcher's file into `folder`.

    Raises:
        RenderError, ParcelError, OSError, ValueError: when the run cannot go there.
    """
    settings, config = read_settings(folder.compiled), read_verl_config(folder.compiled)
    record = new_record(kind)
    task = make_task(folder, record, config, settings, 1, settings.retries, resume, [])
    parcel_folder = folder.path / PARCEL_FOLDER
    with packed(folder.compiled, task, Scrubber.of(known_secrets(settings))) as parcel:
        shutil.rmtree(parcel_folder, ignore_errors=True)
        shutil.copytree(parcel.path, parcel_folder)
        (folder.path / ".orbiter-run").write_text(record.run, encoding="utf-8")
        values = facts(folder, kind, settings, config, parcel)
    name = KINDS[kind].removesuffix(".jinja")
    path = folder.path / f"launch-{name}"
    text = environment().get_template(KINDS[kind]).render(values)
    path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    return Rendered(kind, path.read_text(encoding="utf-8"), path)


def environment() -> Any:
    """Jinja in its sandbox; `sh` quotes for shells, `tojson` for YAML."""
    from jinja2 import PackageLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    made = ImmutableSandboxedEnvironment(
        loader=PackageLoader("orbiter_spec.launch"), undefined=StrictUndefined, keep_trailing_newline=True
    )
    made.filters["sh"] = shlex.quote
    made.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return made


def facts(folder: RunFolder, kind: str, settings: LaunchSettings, config: VerlConfig, parcel: Parcel) -> dict[str, Any]:
    """What the templates know."""
    asked = read_asked(folder.compiled)
    nodes = sum(len(pool.processes_per_node) * pool.count for pool in asked.pools)
    gpus = max(max(pool.processes_per_node) * pool.gpus_per_process for pool in asked.pools)
    cpus = max(max(pool.processes_per_node) * pool.cpus_per_process for pool in asked.pools)
    single = sum(group.actors * group.cpus_per_actor for group in asked.groups)
    variables = job_environment(config, settings)
    refuse_lines(folder, settings.cluster)
    return {
        "job": job_name(folder.name),
        "nodes": nodes,
        "gpus_per_node": gpus,
        "cpus_per_node": cpus + -(-single // nodes),
        "on_cpu": config.get("trainer.device") == "cpu",
        "accelerator": accelerator(folder.compiled),
        "cluster": settings.cluster,
        "image": settings.cluster.image or IMAGE,
        "folder": settings.cluster.folder
        or ("~/orbiter-runs" if kind in ("kuberay", "skypilot") else str(folder.path)),
        "parcel": str(folder.path / PARCEL_FOLDER),
        "output": f"{folder.logs}/".replace("%", "%%") + "slurm-%j.log",
        "variables": variables,
        "secrets": sorted(settings.secrets),
        "entrypoint": ENTRYPOINT,
        "archive": archive(parcel) if kind == "kuberay" else "",
    }


def refuse_lines(folder: RunFolder, cluster: ClusterSettings) -> None:
    """Values stand in comments and in options of one line: what begins a new one would be run. Raises RenderError."""
    values = {f"hardware.cluster.{one.name}": getattr(cluster, one.name) for one in fields(cluster)}
    for name, value in {**values, "the run folder's path": str(folder.path)}.items():
        if isinstance(value, str) and not value.isprintable():
            raise RenderError(f"{name} holds a line break or another control character: {value!r}")


def job_name(name: str) -> str:
    """A name that Kubernetes, Slurm and SkyPilot take: small letters, digits and hyphens, at most 45 of them."""
    text = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    text = text if text[:1].isalpha() else f"run-{text}"
    return text if len(text) <= NAME_CHARACTERS else text[:NAME_CHARACTERS].strip("-")


def accelerator(compiled: Path) -> str:
    """The GPU's name as SkyPilot has it: H100, A100-80GB."""
    try:
        plan = json.loads((compiled / "plan.json").read_text(encoding="utf-8"))
        text = str((plan.get("hardware") or {}).get("accelerator") or plan.get("accelerator") or "H100")
    except (OSError, ValueError):
        return "H100"
    return text.removesuffix("-80GB") if text.startswith("H100") else text


def archive(parcel: Parcel) -> str:
    """The parcel as a zip in base64, small enough for a ConfigMap. Raises RenderError."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, _ in parcel.files:
            file.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), (parcel.path / name).read_bytes())
    text = base64.b64encode(data.getvalue()).decode()
    if len(text) > CONFIG_MAP_BYTES:
        raise RenderError(
            f"the run's files are {len(text) >> 10} KiB, and a ConfigMap takes {CONFIG_MAP_BYTES >> 10} KiB: "
            "put rows and model on a volume of the pods and name them there (dataset.prepared: true)"
        )
    return text


def send(rendered: Rendered) -> str:
    """Give the file to the launcher's own client and return what it said.

    Raises:
        RenderError: when the client is not there, or refuses.
    """
    client = CLIENTS.get(rendered.kind)
    if client is None:
        raise RenderError(f"start {rendered.path} on each machine; its first lines say how")
    if shutil.which(client[0]) is None:
        raise RenderError(
            f"{client[0]} is not installed here; where it is: {shlex.join((*client, str(rendered.path)))}"
        )
    try:
        done = subprocess.run(
            [*client, str(rendered.path)], capture_output=True, text=True, timeout=SUBMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RenderError(f"{client[0]} gives no answer within {SUBMIT_SECONDS} s") from error
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()
        raise RenderError(f"{client[0]} refuses: {last[-1][:300] if last else f'exit code {done.returncode}'}")
    return done.stdout.strip()


def as_finding(error: Exception) -> Diagnostic:
    """A refusal for people."""
    id = "ORB532" if isinstance(error, ParcelError) else "ORB538"
    return Diagnostic(id, str(error), help="run --render KIND prints the launcher's file without sending it")
