"""The plan on one screen, drawn from the data of plan.json and from nothing else.

Whoever reads the file later sees what the author saw. Plain text of at most `width` columns; many equal nodes are drawn
once. What was decided is printed as YAML, so that any line of it can be pasted under its section.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Any

FOLLOWING = "follow_actor"
NODES_DRAWN = 2
SERVING = {"rollout": "r", "reward model": "m", "teacher": "t"}
GIB = 1024**3
MIB = (1024**2, "MiB")


def render_plan(plan: dict[str, Any], width: int = 100) -> str:
    """The screen for `plan`, ending in a newline."""
    sections = (_head, _not_seen, _batches, _pools, _demand, _memory, _decisions)
    blocks = ["\n".join(section(plan, width)) for section in sections]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(plan: dict[str, Any], width: int) -> Iterator[str]:
    hardware, model = plan["hardware"], plan["model"]
    where = f"{_count(hardware['nodes'], 'node')} x {hardware['gpus_per_node']} {hardware['accelerator'] or 'GPU'}"
    if hardware["accelerator"] == "cpu":
        where = f"this machine's CPU, {_count(hardware['gpus_per_node'], 'worker')}"
    yield f"{plan['name']}: {plan['algorithm']} on {where}{_further(plan)}, {hardware['mode']}"
    facts = model["facts"]
    if facts is None:
        yield f"  model    {model['path']}: sizes unknown, so nothing is decided from them"
    else:
        size = _amount(facts["parameters"])
        active = (
            ""
            if facts["active_parameters"] == facts["parameters"]
            else f", {_amount(facts['active_parameters'])} active"
        )
        yield f"  model    {model['path']}: {size} parameters{active}, from {facts['source']}"
    yield f"  train    {hardware['train_engine']}{_parallel(hardware['train_parallel'])}"
    yield f"  rollout  {hardware['rollout_engine']}{_parallel(hardware['rollout_parallel'])}"


def _further(plan: dict[str, Any]) -> str:
    """The pools beyond the training pool, which is the first."""
    nodes = [(len(_drawn_nodes(pool)), pool["gpus_per_node"], pool["roles"][0]) for pool in plan["pools"][1:]]
    return "".join(f" and {_count(count, 'node')} x {gpus} for {role}" for count, gpus, role in nodes)


def _parallel(sizes: dict[str, int]) -> str:
    return "".join(f", {name} parallel {size}" for name, size in sizes.items() if size > 1)


def _not_seen(plan: dict[str, Any], width: int) -> Iterator[str]:
    """Keys that go past the plan: whatever numbers they change are not in what follows."""
    if plan["not_seen"]:
        text = f"not seen here, set by verl.overrides: {', '.join(plan['not_seen'])}"
        yield from textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)


def _batches(plan: dict[str, Any], width: int) -> Iterator[str]:
    chain = plan["batches"]
    if chain is None:
        return
    minibatches = -(-chain["prompts"] // chain["minibatch_prompts"])
    yield "batch"
    samples, sequences = chain["samples_per_prompt"], chain["sequences"]
    yield f"  {chain['prompts']} prompts x {_count(samples, 'sample')} = {sequences:,} sequences a step"
    ranks = _count(chain["data_parallel_size"], "data-parallel rank")
    yield f"  / {ranks} = {_count(chain['sequences_per_worker'], 'sequence')} each"
    parts = _count(minibatches, "mini-batch", "mini-batches")
    yield f"  {parts} of {chain['minibatch_prompts']} prompts, {_micro(chain, _worker(plan))}"
    yield f"  {_count(chain['optimizer_steps'], 'optimiser update')} a step; {_steps(plan)}"
    expected = _amount(chain["expected_tokens"])
    yield f"  at most {_amount(chain['max_tokens'])} tokens a step; {expected} if half the limits are used"


def _worker(plan: dict[str, Any]) -> str:
    return "worker" if plan["hardware"]["accelerator"] == "cpu" else "GPU"


def _micro(chain: dict[str, Any], worker: str) -> str:
    if chain["micro_batch_tokens"]:
        return f"in passes of at most {chain['micro_batch_tokens']:,} tokens per {worker}"
    if chain["micro_batch_sequences"]:
        passes = _count(chain["gradient_accumulation"] or 1, "pass", "passes")
        return f"in {passes} of {_count(chain['micro_batch_sequences'], 'sequence')} per {worker}"
    return "in passes sized by the engine"


def _steps(plan: dict[str, Any]) -> str:
    chain, rows = plan["batches"], plan["rows"]["train"]
    if chain["total_steps"] is None:
        return "how many steps is known once the rows are"
    each = chain["steps_per_epoch"]
    epoch = f"{_count(each, 'step')} an epoch of {rows:,} rows, " if each is not None else ""
    return f"{epoch}{_count(chain['total_steps'], 'step')} in all"


def _pools(plan: dict[str, Any], width: int) -> Iterator[str]:
    served = any(pool["replica_processes"] for pool in plan["pools"])
    logical = ", of logical GPUs of Ray" if _worker(plan) == "worker" else ""
    yield "pools" + logical + (" (numbers are ranks; GPUs of one rN serve together)" if served else "")
    replicas = 0
    for pool in plan["pools"]:
        rollout = "rollout" in pool["roles"]
        yield from _pool(pool, replicas if rollout else 0, width)
        replicas += pool["replicas"] if rollout else 0


def _pool(pool: dict[str, Any], first_replica: int, width: int) -> Iterator[str]:
    drawn = _drawn_nodes(pool)
    size = f"{_count(len(drawn), 'node')} x {_count(pool['gpus_per_node'], 'GPU')}"
    replica = (
        f"; {_count(pool['replicas'], 'replica')} of {_count(pool['replica_processes'], 'GPU')}"
        if pool["replica_processes"]
        else ""
    )
    yield f"  {pool['name']}: {size}{replica}"
    shown = len(drawn) if len(drawn) <= NODES_DRAWN else 1
    start = 0
    for node, processes in enumerate(drawn[:shown]):
        yield from _node(pool, node, start, processes, first_replica, width)
        start += processes
    if shown < len(drawn):
        yield f"    nodes {shown + 1}-{len(drawn)}: likewise, {_rest(pool, start, sum(drawn), first_replica)}"


def _drawn_nodes(pool: dict[str, Any]) -> list[int]:
    """Processes on each node as Ray packs them: replicas with pools of their own fill one node after the other."""
    if pool["name"] != "rollout_pool":
        return list(pool["processes_per_node"])
    left, each, nodes = pool["processes"], pool["gpus_per_node"], []
    while left > 0:
        nodes.append(min(each, left))
        left -= each
    return nodes


def _node(pool: dict[str, Any], node: int, start: int, processes: int, first_replica: int, width: int) -> Iterator[str]:
    cell = max(4, len(str(pool["processes"])) + 1)
    per_row = max(1, (width - 20) // cell)
    for low in range(0, processes, per_row):
        gpus = range(low, min(processes, low + per_row))
        label = f"node {node + 1}" if low == 0 else ""
        yield f"    {label:<8}{'gpu':<8}" + "".join(f"{gpu:>{cell}}" for gpu in gpus)
        for role in pool["roles"]:
            yield f"    {'':<4}{role:<12}" + "".join(
                f"{_cell(pool, role, start + gpu, first_replica):>{cell}}" for gpu in gpus
            )


def _cell(pool: dict[str, Any], role: str, rank: int, first_replica: int) -> str:
    """The rank of a training role; for one that serves its replica, the same number for GPUs that share it."""
    letter = SERVING.get(role)
    if letter is None:
        return str(rank)
    if role not in (pool["roles"][0], "rollout") or not pool["replica_processes"]:
        return letter
    replica = rank // pool["replica_processes"]
    return f"{letter}{first_replica + replica}" if replica < pool["replicas"] else "-"


def _rest(pool: dict[str, Any], start: int, stop: int, first_replica: int) -> str:
    parts = []
    if any(role not in SERVING for role in pool["roles"]):
        parts.append(f"ranks {start}-{stop - 1}")
    if pool["replicas"]:
        parts.append(f"replicas up to {first_replica + pool['replicas'] - 1}")
    return ", ".join(parts)


def _demand(plan: dict[str, Any], width: int) -> Iterator[str]:
    demand = plan["demand"]
    if demand is None:
        return
    yield f"asked of Ray: {_count(demand['cpus'], 'CPU')}, {_count(demand['gpus'], 'GPU')}"
    for group in demand["groups"]:
        actors, cpus, gpus = group["actors"], group["cpus_per_actor"], group["gpus_per_actor"]
        each = f"{_count(cpus, 'CPU')}" + (f" + {_count(gpus, 'GPU')}" if gpus else "")
        total = f"{actors * cpus:>6,} {'CPU' if actors * cpus == 1 else 'CPUs'}"
        yield f"  {group['name']:<26}{actors:>6} x {each:<16}={total}" + (
            f", {_count(actors * gpus, 'GPU')}" if gpus else ""
        )
    bundle = demand["largest_bundle"]
    yield f"  the largest has to fit one node: {_count(bundle['cpus'], 'CPU')} and {_count(bundle['gpus'], 'GPU')}"
    yield "  task runner, agent loops, reward loops and rollout servers ask for none"


def _memory(plan: dict[str, Any], width: int) -> Iterator[str]:
    memory = plan["memory"]
    if memory is None:
        yield "memory: not estimated" + ("" if plan["model"]["facts"] else ", since the model's sizes are unknown")
        return
    unit, name = (GIB, "GiB") if any(phase["bytes_per_gpu"]["high"] >= GIB for phase in memory["phases"]) else MIB
    worker = _worker(plan)
    size = f" of {memory['gpu_bytes'] / unit:.0f}" if memory["gpu_bytes"] else ""
    yield f"memory per {worker} in {name}{size}: {memory['verdict']} ({memory['reason']})"
    yield f"  {'':<18}{'expected':>9}{'range':>14}"
    for phase in memory["phases"]:
        yield from _phase(phase, unit, width)
    yield from _cache(plan, memory)
    host = memory["host_bytes_per_node"]
    checkpoint = f"{memory['checkpoint_bytes'] / unit:.1f}"
    kept = _kept(memory)
    yield f"  host memory per node {_span(host, unit)} {name}; one checkpoint {checkpoint} {name} on disk{kept}"
    for assumption in memory["assumptions"]:
        yield from textwrap.wrap(f"assuming {assumption}", width, initial_indent="  ", subsequent_indent="    ")


def _phase(phase: dict[str, Any], unit: int, width: int) -> Iterator[str]:
    """Expected bytes, their range, and what they are: the largest first, specks left out."""
    amount = phase["bytes_per_gpu"]
    shown = sorted((use for use in phase["uses"] if use["high"] >= unit / 20), key=lambda use: -int(use["high"]))
    uses = "; ".join(f"{use['role']} {use['kind']} {_span(use, unit)}" for use in shown)
    lead = f"  {phase['name']:<18}{amount['expected'] / unit:>9.1f}{_span(amount, unit):>14}  "
    parts = textwrap.wrap(uses, max(20, width - len(lead)), break_on_hyphens=False, break_long_words=False) or [""]
    yield (lead + parts[0]).rstrip()
    yield from (" " * len(lead) + part for part in parts[1:])


def _cache(plan: dict[str, Any], memory: dict[str, Any]) -> Iterator[str]:
    tokens = memory["cache_tokens_per_replica"]
    if tokens is None or plan["batches"] is None:
        return
    longest = plan["batches"]["max_tokens"] // plan["batches"]["sequences"]
    yield f"  the KV cache of a replica holds {tokens:,} tokens: {tokens // longest:,} sequences at their limit"


def _kept(memory: dict[str, Any]) -> str:
    kept = memory["checkpoints_kept"]
    return f", {kept} kept: {kept * memory['checkpoint_bytes'] / GIB:.1f} GiB" if kept else ", all kept"


def _span(bytes_range: dict[str, Any], unit: int) -> str:
    low, high = bytes_range["low"] / unit, bytes_range["high"] / unit
    return f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f}-{high:.1f}"


def _decisions(plan: dict[str, Any], width: int) -> Iterator[str]:
    shown = [decision for decision in plan["decisions"] if decision["by"] != FOLLOWING]
    if not shown:
        return
    yield "decided for you; paste a line under its section to fix it"
    yield from _yaml(_tree(shown), 1)
    followers = len(plan["decisions"]) - len(shown)
    if followers:
        yield f"  ({followers} settings of other roles follow the actor; --format json lists them)"


def _tree(decisions: list[dict[str, Any]]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for decision in decisions:
        *sections, name = decision["field"].split(".")
        branch = tree
        for section in sections:
            branch = branch.setdefault(section, {})
        branch[name] = (decision["value"], decision["why"])
    return tree


def _yaml(tree: dict[str, Any], depth: int) -> Iterator[str]:
    for name, entry in tree.items():
        if isinstance(entry, dict):
            yield f"{'  ' * depth}{name}:"
            yield from _yaml(entry, depth + 1)
        else:
            line = f"{'  ' * depth}{name}: {json.dumps(entry[0], ensure_ascii=False)}"
            yield f"{line:<46}  # {entry[1]}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _amount(number: int) -> str:
    """`7.6B`, `1.2M`, `900`: three digits and a letter."""
    for scale, letter in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k")):
        if number >= scale:
            return f"{number / scale:.3g}{letter}"
    return str(number)
