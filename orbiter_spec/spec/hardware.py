"""`hardware`: machines, and how training and generation are laid over them."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

from pydantic import Field

from orbiter_spec.spec.base import GpuCount, NodeCount, NonNegativeInt, PositiveInt, Section
from orbiter_spec.spec.engine import CriticEngine, Reference, Train
from orbiter_spec.spec.rollout import Rollout

SHORTHAND = re.compile(r"^(?:(?P<nodes>[1-9]\d*)x)?(?P<gpus>[1-9]\d*)x(?P<accelerator>[A-Za-z][\w.-]*)$")
SHORTHAND_PATTERN = r"^(cpu|([1-9]\d*x)?[1-9]\d*x[A-Za-z][\w.-]*)$"


class Cluster(Section):
    """Where the processes run."""

    kind: Literal["local", "ray", "kuberay", "slurm", "skypilot", "shell"] | None = Field(
        None, description="This machine, a Ray cluster, or what starts one for the run. Left out: local."
    )
    address: str | None = Field(
        None, description="Ray's job server, http://HOST:PORT (ray). Left out: http://127.0.0.1:8265."
    )
    cpus: PositiveInt | None = Field(None, description="Logical CPUs Ray may use here. Left out: what the plan needs.")
    folder: str | None = Field(
        None,
        description="Folder for output that every node sees. Left out: the run folder where the cluster sees it, else "
        "~/orbiter-runs there.",
    )
    image: str | None = Field(
        None, description="Container image with Ray and verl (kuberay, skypilot). Left out: verl's own on kuberay."
    )
    namespace: str | None = Field(None, description="Kubernetes namespace (kuberay). Left out: the client's own.")
    queue: str | None = Field(None, description="Slurm partition, or Kueue's queue (kuberay). Left out: the default.")
    account: str | None = Field(None, description="Slurm account that pays. Left out: the user's own.")
    minutes: PositiveInt | None = Field(None, description="Longest time the run may take. Left out: the site's limit.")
    setup: list[str] | None = Field(
        None, description="Shell lines run on each node before Ray starts (slurm, skypilot, shell). Left out: none."
    )


class Hardware(Section):
    """Machines, and how training and generation are laid over them."""

    shorthand: ClassVar[str | None] = "accelerator"

    accelerator: str | None = Field(None, description="cpu, or a GPU type such as H100-80GB. Left out: unknown.")
    nodes: NodeCount | None = Field(None, description="Nodes that train. Left out: 1.")
    gpus_per_node: GpuCount | None = Field(None, description="GPUs on each node. Left out: 8.")
    workers: NodeCount | None = Field(None, description="Worker processes of a CPU run. Left out: 1.")
    train: Train | None = Field(None, description="The actor's training engine. Left out: planned.")
    reference: Reference | None = Field(None, description="The reference model's engine. Left out: as the actor's.")
    critic: CriticEngine | None = Field(None, description="The critic's engine. Left out: as the actor's.")
    rollout: Rollout | None = Field(None, description="The inference engine. Left out: planned.")
    cluster: Cluster | None = Field(None, description="Where the processes run. Left out: this machine.")
    device: Literal["cuda", "npu", "cpu"] | None = Field(
        None, description="Device type of torch. Left out: cuda, and cpu on a CPU."
    )
    storage: dict[str, Any] | None = Field(
        None, description="Further keys of TransferQueue's section, by verl's names. Left out: none."
    )
    startup_timeout_seconds: PositiveInt | None = Field(
        None, description="Seconds that workers may take to register. Left out: 300."
    )
    storage_samples: PositiveInt | None = Field(None, description="Samples TransferQueue can hold. Left out: 100000.")
    storage_units: NonNegativeInt | None = Field(
        None, ge=1, description="TransferQueue storage actors, one CPU each. Left out: twice the nodes, and 1 on a CPU."
    )

    @classmethod
    def expand(cls, scalar: Any) -> dict[str, Any]:
        """`8xH100`, `2x8xH100` or `cpu` as a mapping."""
        match = SHORTHAND.match(scalar) if isinstance(scalar, str) else None
        if match is None:
            return {"accelerator": scalar}
        expanded: dict[str, Any] = {"accelerator": match["accelerator"], "gpus_per_node": int(match["gpus"])}
        return expanded | ({"nodes": int(match["nodes"])} if match["nodes"] else {})

    @classmethod
    def shorthand_schema(cls, schema: dict[str, Any]) -> dict[str, Any]:
        """cpu, GPUs x type, or nodes x GPUs x type."""
        return {"type": "string", "pattern": SHORTHAND_PATTERN, "examples": ["cpu", "8xH100", "2x8xH100"]}

    @property
    def on_cpu(self) -> bool:
        """True for a run without accelerators."""
        return self.accelerator == "cpu"
