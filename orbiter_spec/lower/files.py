"""The text files of a compiled folder, as values: name to text. Writing them is somebody else's work.

Nothing here depends on a clock, on the folder or on the machine: the same spec gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from orbiter_spec.lower.compose import dump_verl_yaml, minimal_overrides
from orbiter_spec.lower.lowering import Lowered
from orbiter_spec.lower.target import Target
from orbiter_spec.lower.tree import same
from orbiter_spec.plan.model import Plan

HEADER = (
    "# verl {version}, complete and resolved. Start it from this folder:\n"
    '#   python -m verl.trainer.main_ppo --config-path "$PWD" --config-name verl\n'
)
PlaceOf = Callable[[str], Mapping[str, Any] | None]


def config_files(target: Target, lowered: Lowered, config: dict[str, Any]) -> dict[str, str]:
    """`verl.yaml` and `overrides.txt`; `config` is the composition of what was lowered."""
    overrides = minimal_overrides(target, lowered.engine, lowered.settings)
    return {
        "verl.yaml": HEADER.format(version=target.version) + dump_verl_yaml(config),
        "overrides.txt": "".join(f"{override}\n" for override in overrides),
    }


def pools_file(plan: Plan) -> str:
    """`resource_pools.yaml`: pools as verl builds them, and what Ray is asked for."""
    demand = plan.demand
    assert demand is not None, "size_pools is the last pass of every plan"
    content = {
        "pools": {
            pool.name: {
                "processes_per_node": list(pool.processes_per_node),
                "roles": list(pool.roles),
                "gpus_per_process": pool.gpus_per_process,
                "cpus_per_process": pool.cpus_per_process,
                "placement": "STRICT_PACK, one group a node" if pool.count == 1 else f"PACK, {pool.count} such pools",
                **({} if pool.count == 1 else {"count": pool.count}),
            }
            for pool in plan.pools
        },
        "actor_groups": {
            group.name: {"actors": group.actors, "cpus_per_actor": group.cpus_per_actor} for group in demand.groups
        },
        "largest_bundle": {"cpus": demand.largest_bundle_cpus, "gpus": demand.largest_bundle_gpus},
        "total": {"cpus": demand.cpus, "gpus": demand.gpus},
    }
    return dump_verl_yaml(content)


CLUSTER_FIELDS = ("kind", "address", "folder", "image", "namespace", "queue", "account", "minutes", "setup")
RAY_ADDRESS = "http://127.0.0.1:8265"


def launch_file(plan: Plan) -> dict[str, str]:
    """`launch.json`, where the spec has words for the launcher: names and references, no value of a secret."""
    secrets = plan.get("run.secrets") or {}
    cluster = {name: plan.get(f"hardware.cluster.{name}") for name in CLUSTER_FIELDS}
    if cluster["kind"] == "ray":
        cluster["address"] = cluster["address"] or RAY_ADDRESS
    content = {
        "retries": plan.get("run.retries"),
        "env": plan.get("run.env"),
        "secrets": {name: _reference(secret) for name, secret in secrets.items()},
        "cluster": {name: value for name, value in cluster.items() if value is not None},
    }
    content = {name: value for name, value in content.items() if value}
    return {"launch.json": as_json(content)} if content else {}


def _reference(secret: Any) -> dict[str, str]:
    values = secret if isinstance(secret, Mapping) else vars(secret)
    return {name: str(values[name]) for name in ("environment", "file") if values.get(name)}


def origins_file(plan: Plan, target: Target, lowered: Lowered, place_of: PlaceOf) -> str:
    """`origins.json`: for each key that differs from verl's default, the spec line or the pass that decided it."""
    origins = {
        key: _origin(plan, lowered.routes[key], value, place_of)
        for key, value in lowered.settings.items()
        if not target.has(lowered.engine, key) or not same(target.default(lowered.engine, key), value)
    }
    return as_json(origins)


def _origin(plan: Plan, route: str, value: Any, place_of: PlaceOf) -> dict[str, Any]:
    decision = plan.decided.get(route)
    if decision is not None:
        return {"value": value, "spec": route, "decided_by": decision.by, "why": decision.why}
    return {"value": value, "spec": route, **(place_of(route) or {})}


def as_json(content: Any) -> str:
    """JSON as it stands in every compiled file: indented, in order, with a final newline."""
    return json.dumps(content, indent=1, ensure_ascii=False, default=str) + "\n"
