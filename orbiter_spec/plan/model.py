"""The plan: an experiment in which nothing is open any more.

A plan keeps the user's own routes: what was given stays under its route, what was decided stands under the route the
user would have written, with the pass and the reason. Numbers that several readers need (sequences a step, workers,
pools, Ray's demand) are fields here, computed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orbiter_spec.plan.model_facts import ModelFacts
from orbiter_spec.spec.experiment import Experiment

NEWEST_RELEASE = "0.9.1"


@dataclass(frozen=True, slots=True)
class Decision:
    """A value the user left out: what it became, which pass decided it, and why."""

    route: str
    value: Any
    by: str
    why: str


@dataclass(frozen=True, slots=True)
class Rows:
    """Row counts of the dataset; None where they are not known before the run."""

    train: int | None = None
    validation: int | None = None


@dataclass(frozen=True, slots=True)
class Batches:
    """The batch chain of one training step. Prompts unless the name says sequences."""

    prompts: int
    samples_per_prompt: int
    sequences: int
    data_parallel_size: int
    sequences_per_worker: int
    minibatch_prompts: int
    optimizer_steps: int
    micro_batch_sequences: int | None
    micro_batch_tokens: int | None
    gradient_accumulation: int | None
    steps_per_epoch: int | None
    total_steps: int | None
    max_tokens: int
    expected_tokens: int


@dataclass(frozen=True, slots=True)
class Pool:
    """Equal Ray resource pools as verl will build them, each with one placement group per node.

    `count` is above one only where every standalone rollout replica has a pool of its own; those groups are packed as
    well as Ray can, all others strictly onto one node. `replica_processes` are the processes of one rollout replica, 0
    where the pool serves none; `gpus_per_node` is how wide its nodes are drawn.
    """

    name: str
    processes_per_node: tuple[int, ...]
    roles: tuple[str, ...]
    cpus_per_process: int
    gpus_per_process: int = 1
    count: int = 1
    replica_processes: int = 0
    gpus_per_node: int = 0

    @property
    def processes(self) -> int:
        """Worker processes in all nodes and all equal pools."""
        return sum(self.processes_per_node) * self.count

    @property
    def replicas(self) -> int:
        """Rollout replicas served here; GPUs left over when they do not divide stay idle."""
        return self.processes // self.replica_processes if self.replica_processes else 0


@dataclass(frozen=True, slots=True)
class ActorGroup:
    """Ray actors that ask for CPUs outside the pools."""

    name: str
    actors: int
    cpus_per_actor: int


@dataclass(frozen=True, slots=True)
class Demand:
    """What Ray has to have before verl can start, in logical CPUs and GPUs."""

    cpus: int
    gpus: int
    largest_bundle_cpus: int
    largest_bundle_gpus: int
    groups: tuple[ActorGroup, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """What one role holds of one kind in one phase, in bytes of one GPU: at least, most likely, at most."""

    role: str
    kind: str
    low: int
    expected: int
    high: int


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a step on the fullest GPU of a pool. All its uses are held at the same time."""

    name: str
    pool: str
    uses: tuple[Use, ...]

    @property
    def low(self) -> int:
        """Bytes at least."""
        return sum(use.low for use in self.uses)

    @property
    def expected(self) -> int:
        """Bytes most likely."""
        return sum(use.expected for use in self.uses)

    @property
    def high(self) -> int:
        """Bytes at most."""
        return sum(use.high for use in self.uses)


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a step: phases per GPU, host memory per node for what is offloaded, disk for one checkpoint.

    `gpu_bytes` is None for an accelerator of unknown size; `checkpoints_kept` is None when all are. `verdict` is
    `fits`, `may not fit`, `does not fit` or `unknown`, and `reason` the phase and the numbers that decide it.
    `cache_tokens` are the tokens that the KV cache of one rollout replica holds, None where its size is unknown.
    `assumptions` name what the ranges rest on.
    """

    gpu_bytes: int | None
    phases: tuple[Phase, ...]
    host_bytes_low: int
    host_bytes_high: int
    checkpoint_bytes: int
    checkpoints_kept: int | None
    cache_tokens: int | None
    verdict: str
    reason: str
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything decided. `given`, `decided` and `paths` are keyed by spec route.

    `paths` holds what a route that names a file means to verl: a path inside the compiled folder, an absolute path, or
    a repository name left as it is. `release` is the verl release that is planned for. `model` is None when nothing is
    known about the model; `memory` then is None too.
    """

    experiment: Experiment
    given: Mapping[str, Any]
    rows: Rows = field(default_factory=Rows)
    paths: Mapping[str, str] = field(default_factory=dict)
    release: str = NEWEST_RELEASE
    decided: Mapping[str, Decision] = field(default_factory=dict)
    batches: Batches | None = None
    pools: tuple[Pool, ...] = ()
    demand: Demand | None = None
    model: ModelFacts | None = None
    memory: Memory | None = None

    def get(self, route: str, default: Any = None) -> Any:
        """The value under `route`: given, else decided, else `default`."""
        if route in self.given:
            return self.given[route]
        decision = self.decided.get(route)
        return default if decision is None or decision.value is None else decision.value

    def path(self, route: str) -> Any:
        """The file that `route` names as verl should see it, or its plain value."""
        return self.paths.get(route, self.get(route))

    def is_open(self, route: str) -> bool:
        """True when nobody has said anything about `route` yet."""
        return route not in self.given and route not in self.decided

    @property
    def on_cpu(self) -> bool:
        """True for a run without accelerators."""
        return bool(self.experiment.hardware.on_cpu)

    @property
    def is_legacy(self) -> bool:
        """True when verl's older trainer runs, the one without TransferQueue."""
        return bool(self.get("algorithm.trainer") == "legacy")

    @property
    def gpus(self) -> int:
        """Training workers, one for each GPU (or logical GPU of a CPU run)."""
        return int(self.get("hardware.nodes", 1)) * int(self.get("hardware.gpus_per_node", 8))

    @property
    def needs_reference(self) -> bool:
        """True when a KL term makes verl load the reference model."""
        return str(self.get("algorithm.kl.apply", "none")) != "none"

    @property
    def needs_critic(self) -> bool:
        """True when the advantage estimator learns a value function."""
        return str(self.get("algorithm.estimator")) == "gae"
