"""What rules may ask of the machines a run is meant for; `launch/site_facts.py` answers.

Sizes are bytes. A node that gave no answer in time has `answered` false and only Ray's numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Node(Protocol):
    """One machine."""

    @property
    def address(self) -> str:
        """Ray's address of it, or its name."""

    @property
    def answered(self) -> bool:
        """False when it was silent."""

    @property
    def cpus(self) -> float:
        """Logical CPUs Ray has there."""

    @property
    def gpus(self) -> float:
        """GPUs Ray has there."""

    @property
    def free_cpus(self) -> float:
        """Those of them that nobody holds."""

    @property
    def free_gpus(self) -> float:
        """Those of them that nobody holds."""

    @property
    def python(self) -> str:
        """Python's version."""

    @property
    def accelerators(self) -> tuple[str, ...]:
        """Names of the devices, as Ray and the driver call them."""

    @property
    def memory_bytes(self) -> int | None:
        """Host memory."""

    @property
    def packages(self) -> Mapping[str, str | None]:
        """Distribution to version; None where it is missing."""

    @property
    def free_bytes(self) -> Mapping[str, int | None]:
        """Folder to the free bytes of its disk."""

    @property
    def unreadable(self) -> Mapping[str, str]:
        """Spec route of a path to the reason it cannot be read."""

    @property
    def unwritable(self) -> Mapping[str, str]:
        """Folder to the reason nothing can be written there."""

    @property
    def missing_modules(self) -> tuple[str, ...]:
        """Modules that cannot be imported."""

    @property
    def models(self) -> Mapping[str, str]:
        """Repository of the hub to where it would come from: cache, network or offline."""

    @property
    def ports_taken(self) -> tuple[int, ...]:
        """Ports that somebody listens on already."""


class Site(Protocol):
    """Where a run goes."""

    @property
    def address(self) -> str | None:
        """The cluster's address; None for this machine."""

    @property
    def problem(self) -> str | None:
        """Why nothing is known."""

    @property
    def is_cluster(self) -> bool:
        """False for this machine alone."""

    @property
    def nodes(self) -> Sequence[Node]:
        """The machines."""

    @property
    def unconnected(self) -> Sequence[tuple[str, str]]:
        """Pairs of nodes between which no connection can be made."""

    @property
    def not_shared(self) -> Mapping[str, Sequence[str]]:
        """Folder to the nodes that do not see what another one writes there."""

    @property
    def other_run(self) -> bool:
        """True while another run of verl lives there."""
