"""Which rollout server takes a request: on the CPU, a prompt always goes to the same one.

verl's balancer picks the least busy server and tosses a coin between equals, so with two servers the same run gives
other samples each time. Here the prompt decides. Samples of one prompt then also share a server, which runs the prompt
once for all of them. The whole prompt counts, since a long system prompt is common to all. The price is an uneven load
when there are few prompts; on one machine the servers share its cores anyway.

Imports nothing of verl: the process that holds this actor starts seconds earlier and stays small.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any


class PromptRouter:
    """verl's `RequestLoadBalancer` protocol; see there for what each method promises."""

    def __init__(self, servers: dict[str, Any], **_: Any) -> None:
        self._servers = dict(servers)
        self._inflight: Counter[str] = Counter()

    def acquire_server(self, request_id: str, prompt_ids: Sequence[int] = ()) -> tuple[str, Any]:
        """Name and handle of the server for this prompt."""
        if not self._servers:
            raise RuntimeError("No available servers in load balancer")
        names = sorted(self._servers)
        name = names[_hash(prompt_ids) % len(names)]
        self._inflight[name] += 1
        return name, self._servers[name]

    def release_server(self, server_id: str, request_id: str | None = None) -> None:
        """A request of `server_id` ended."""
        self._inflight[server_id] = max(0, self._inflight[server_id] - 1)

    def require_acquire_fields(self) -> list[str]:
        """The prompt decides."""
        return ["prompt_ids"]

    def require_release_fields(self) -> list[str]:
        """The server's name is enough."""
        return []

    def add_servers(self, servers: dict[str, Any]) -> None:
        """More servers from now on."""
        self._servers.update(servers)

    def remove_servers(self, server_ids: list[str]) -> None:
        """Fewer servers from now on."""
        for name in server_ids:
            self._servers.pop(name, None)
            self._inflight.pop(name, None)

    def get_all_servers(self) -> list[str]:
        """Names of the servers."""
        return sorted(self._servers)

    def get_inflight_count(self, server_id: str) -> int:
        """Requests that `server_id` has not answered."""
        return self._inflight[server_id]

    def get_total_inflight(self) -> int:
        """Requests that no server has answered."""
        return self._inflight.total()

    def get_status(self) -> dict[str, Any]:
        """Numbers for debugging."""
        loads = {name: self._inflight[name] for name in self.get_all_servers()}
        return {"servers": loads, "total_inflight": self.get_total_inflight(), "active_servers": len(loads)}

    def clear_sticky_cache(self) -> dict[str, Any]:
        """Nothing is cached."""
        return {"cleared_entries": 0, "server_loads": self.get_status()["servers"]}


def _hash(tokens: Sequence[int]) -> int:
    """The same in each process, which Python's own hash of a tuple of ints need not be."""
    return int.from_bytes(hashlib.blake2b(repr(tuple(tokens)).encode(), digest_size=8).digest())
