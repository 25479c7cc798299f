"""Pass: the memory of one step, per GPU and phase, and whether it fits.

What training holds (weights, gradients, optimiser) is exact; activations and scores depend on lengths nobody knows
yet and carry a range (activations.py). A phase is the set of things held at the same time on the fullest GPU. The
verdict is that of the worst phase: `fits` when what is expected fits, `may not fit` when only the low end does, `does
not fit` when not even that. It is judged by the expected amount because the high end, every sequence at its limit at
once, would call most runs that work impossible; the plan shows that end all the same.

What is known of verl 0.9.1: training and rollout take turns on a GPU, and the sleeping engine gives its memory back
(`free_cache`); what is offloaded is loaded whole for the update; the reference of an FSDP run streams from host memory
always; with adapters the reference is the actor without them and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from orbiter_spec.plan.accelerators import GIB, gpu_bytes
from orbiter_spec.plan.activations import (
    MEAN_SHARE,
    Estimate,
    both,
    exactly,
    gathered_layers,
    larger,
    layer_work,
    logits,
    micro_batch_tokens,
    saved_activations,
)
from orbiter_spec.plan.model import Memory, Phase, Plan, Use
from orbiter_spec.plan.model_facts import ModelFacts, find_facts
from orbiter_spec.plan.rollout_size import cache_bytes_per_token, least_bytes, weight_bytes
from orbiter_spec.plan.serving import Served, served_models
from orbiter_spec.plan.sharding import Layout, State, layout, training_state, value_model

OVERHEAD = Estimate(int(1.0 * GIB), int(2.0 * GIB), int(4.0 * GIB))
ENGINE_WORK = Estimate(int(0.3 * GIB), int(0.8 * GIB), int(3.0 * GIB))
FITS, TIGHT, TOO_LARGE, UNKNOWN = "fits", "may not fit", "does not fit", "unknown"
GIVEN_CONTENTS = ("model", "optimizer", "extra")


@dataclass(frozen=True, slots=True)
class Trained:
    """A model that is trained: its role, facts, layout, exact state, and what it offloads between its phases.

    One that streams (FSDP's own offload policy) keeps all state in host memory, also while it computes.
    """

    role: str
    facts: ModelFacts
    laid: Layout
    state: State
    offloads_weights: bool
    offloads_optimizer: bool
    streams: bool

    @property
    def at_work(self) -> State:
        """What stands on the GPU while the model has its turn."""
        return replace(self.state, weights=0, gradients=0, optimizer=0) if self.streams else self.state

    @property
    def resident(self) -> int:
        """Bytes that stay on the GPU while others have their turn."""
        weights = 0 if self.offloads_weights else self.at_work.weights
        return weights + (0 if self.offloads_optimizer else self.at_work.optimizer)

    @property
    def offloaded(self) -> int:
        """Bytes that wait in host memory meanwhile."""
        return self.state.weights + self.state.optimizer - self.resident


def estimate_memory(plan: Plan) -> Plan:
    """`plan` with its memory; unchanged when the model's sizes are unknown."""
    if plan.model is None:
        return plan
    trained = tuple(_trained(plan, plan.model))
    capacity = gpu_bytes(plan.get("hardware.accelerator"))
    phases = tuple(_phases(plan, plan.model, trained, capacity))
    verdict, reason = _verdict(plan, plan.model, phases, capacity)
    low, high = _host(plan, plan.model, trained)
    memory = Memory(
        gpu_bytes=capacity,
        phases=phases,
        host_bytes_low=low,
        host_bytes_high=high,
        checkpoint_bytes=_checkpoint(plan, trained),
        checkpoints_kept=plan.get("run.checkpoint.keep"),
        cache_tokens=_cache_tokens(plan, plan.model, capacity),
        verdict=verdict,
        reason=reason,
        assumptions=tuple(_assumptions(plan, capacity)),
    )
    return replace(plan, memory=memory)


def lora_rank(plan: Plan) -> int:
    """Rank of the adapters, 0 when full weights are trained."""
    return _rank(plan, "agent.model")


def _rank(plan: Plan, model: str) -> int:
    return int(plan.get(f"{model}.lora.rank") or 0)


def _trained(plan: Plan, facts: ModelFacts) -> Iterator[Trained]:
    optimizer = str(plan.get("algorithm.optimizer.name", "AdamW"))
    laid = layout(plan)
    state = training_state(facts, laid, lora_rank(plan), optimizer)
    yield Trained("actor", facts, laid, state, *_offloads(plan, "train"))
    if plan.needs_critic:
        path = plan.path("algorithm.critic.model.path")
        own = facts if path is None else find_facts(str(path)) or facts
        model, laid = value_model(own), layout(plan, "critic")
        optimizer = str(plan.get("algorithm.critic.optimizer.name", "AdamW"))
        rank = _rank(plan, "algorithm.critic.model")
        state = training_state(model, laid, rank, optimizer)
        yield Trained("critic", model, laid, state, *_offloads(plan, "critic"))


def _offloads(plan: Plan, role: str) -> tuple[bool, bool, bool]:
    """Whether `role` offloads parameters, offloads its optimiser, and leaves both to the engine's own policy."""

    def says(what: str) -> bool:
        return bool(plan.get(f"hardware.{role}.offload.{what}", plan.get(f"hardware.train.offload.{what}", False)))

    return says("parameters"), says("optimizer"), says("policy")


def _phases(plan: Plan, facts: ModelFacts, trained: tuple[Trained, ...], capacity: int | None) -> Iterator[Phase]:
    resident = tuple(_use(model.role, "resident state", exactly(model.resident)) for model in trained if model.resident)
    reference = tuple(_resident_reference(plan, facts))
    yield Phase("rollout", "global_pool", (*resident, *reference, *_rollout(plan, facts, capacity)))
    kept = tuple(_kept_engine(plan, facts, capacity))
    actor = trained[0]
    others = tuple(
        _use(model.role, "resident state", exactly(model.resident)) for model in trained[1:] if model.resident
    )
    yield Phase("log-probabilities", "global_pool", (*others, *reference, *kept, *_scoring(plan, actor)))
    for model in trained:
        idle = tuple(
            _use(other.role, "resident state", exactly(other.resident))
            for other in trained
            if other is not model and other.resident
        )
        name = "update" if model.role == "actor" else f"{model.role} update"
        yield Phase(name, "global_pool", (*idle, *reference, *kept, *_update(plan, model)))
    if plan.get("hardware.rollout.placement") == "separate":
        yield Phase("generation", "rollout_pool", tuple(_rollout(plan, facts, capacity)))
    for served in served_models(plan):
        beside = (*resident, *reference, *kept) if served.pool == "global_pool" else ()
        yield Phase(served.role, served.pool, (*beside, *_serve(plan, served, capacity)))


def _serve(plan: Plan, served: Served, capacity: int | None) -> Iterator[Use]:
    """A served model takes its share of the GPU; the cache is what its weights leave of it."""
    share = 0 if capacity is None or plan.on_cpu else int(capacity * served.share)
    if served.facts is None:
        yield _use(served.role, "weights and KV cache", exactly(share))
    else:
        yield _use(served.role, "weights", exactly(served.weights))
        yield _use(served.role, "KV cache", exactly(max(0, share - served.weights)))
    yield from _overhead(plan)


def _rollout(plan: Plan, facts: ModelFacts, capacity: int | None) -> Iterator[Use]:
    """The engine takes its share of the GPU whatever it needs; the cache is what the weights leave of it."""
    weights = weight_bytes(plan, facts)
    yield _use("rollout", "weights", exactly(weights))
    least = least_bytes(plan, facts) - weights
    share = _share(plan, capacity)
    if share is None:
        yield _use("rollout", "KV cache", Estimate(least, least, 64 * least))
    else:
        left = max(share - weights, least)
        yield _use("rollout", "KV cache", exactly(left))
    yield from _overhead(plan)


def _share(plan: Plan, capacity: int | None) -> int | None:
    fraction = plan.get("hardware.rollout.memory_fraction")
    return None if capacity is None or fraction is None or plan.on_cpu else int(capacity * float(fraction))


def _kept_engine(plan: Plan, facts: ModelFacts, capacity: int | None) -> Iterator[Use]:
    """What the rollout engine holds while training has its turn."""
    if plan.get("hardware.rollout.free_cache", True) and not plan.on_cpu:
        return
    share = _share(plan, capacity)
    yield _use("rollout", "kept", exactly(weight_bytes(plan, facts) if share is None else share))


def _resident_reference(plan: Plan, facts: ModelFacts) -> Iterator[Use]:
    laid = layout(plan, "reference")
    streamed = not laid.megatron or _offloads(plan, "reference")[0]
    if plan.needs_reference and not lora_rank(plan) and not streamed:
        yield _use("reference", "weights", exactly(training_state(facts, laid).weights))


def _scoring(plan: Plan, actor: Trained) -> Iterator[Use]:
    """Forward passes over the whole batch: old log-probabilities, and the reference's in turn with them."""
    yield _use("actor", "weights", exactly(actor.at_work.weights))
    if not actor.offloads_optimizer:
        yield _use("actor", "optimizer", exactly(actor.at_work.optimizer))
    facts, laid = actor.facts, actor.laid
    held = plan.batches.sequences_per_worker if plan.batches else 1
    tokens = micro_batch_tokens(plan, "hardware.rollout.micro_batch", held, laid)
    fused = bool(plan.get("hardware.train.fused_kernels", False))
    yield _use("actor", "gathered layers", gathered_layers(facts, laid, backward=False))
    scores = logits(facts, laid, tokens, backward=False, entropy=True, fused=fused)
    yield _use("actor", "activations and logits", larger(layer_work(facts, laid, tokens), scores))
    yield from _overhead(plan)


def _update(plan: Plan, model: Trained) -> Iterator[Use]:
    facts, laid, state, role = model.facts, model.laid, model.at_work, model.role
    yield _use(role, "weights", exactly(state.weights))
    yield _use(role, "gradients", exactly(state.gradients))
    yield _use(role, "optimizer", exactly(state.optimizer))
    gathered = gathered_layers(facts, laid, backward=True)
    passing = both(_pass(plan, model), gathered)
    stepping = exactly(0 if laid.megatron else state.weights * state.optimizer // max(1, 2 * state.weights))
    yield _use(role, "gathered layers", gathered)
    yield _use(role, "activations and logits", _pass(plan, model))
    yield _use(role, "optimizer step", _beyond(stepping, passing))
    yield from _overhead(plan)


def _pass(plan: Plan, model: Trained) -> Estimate:
    """Activations kept for the backward pass, and the larger of the scores and one layer's work."""
    facts, laid = model.facts, model.laid
    batches = plan.batches
    held = batches.minibatch_prompts * batches.samples_per_prompt // batches.data_parallel_size if batches else 1
    route = "hardware.critic.micro_batch" if model.role == "critic" else "hardware.train.micro_batch"
    tokens = micro_batch_tokens(plan, route, max(1, held), laid)
    recompute = bool(plan.get("hardware.train.gradient_checkpointing", True))
    if laid.megatron:
        recompute = plan.get("hardware.train.recompute.granularity") == "full"
    offload = bool(plan.get("hardware.train.activation_offload", False))
    work = layer_work(facts, laid, tokens)
    if model.role != "critic":
        entropy = bool(plan.get("algorithm.entropy_coefficient", 0) or plan.get("algorithm.log_entropy", False))
        fused = bool(plan.get("hardware.train.fused_kernels", False))
        work = larger(work, logits(facts, laid, tokens, backward=True, entropy=entropy, fused=fused))
    return both(saved_activations(facts, laid, tokens, recompute=recompute, offload=offload), work)


def _beyond(step: Estimate, passing: Estimate) -> Estimate:
    """Temporaries of the optimiser's step, where they exceed what the pass has given back."""
    return Estimate(
        max(0, step.low - passing.low), max(0, step.expected - passing.expected), max(0, step.high - passing.high)
    )


def _overhead(plan: Plan) -> Iterator[Use]:
    """CUDA contexts and buffers; a CPU has none."""
    if not plan.on_cpu:
        yield _use("engine", "overhead", OVERHEAD)


def _use(role: str, kind: str, amount: Estimate) -> Use:
    return Use(role, kind, amount.low, amount.expected, amount.high)


def _verdict(plan: Plan, facts: ModelFacts, phases: tuple[Phase, ...], capacity: int | None) -> tuple[str, str]:
    if capacity is None:
        return UNKNOWN, "workers share the host's memory" if plan.on_cpu else "the accelerator's memory is unknown"
    share = _share(plan, capacity)
    if share is not None:
        least = least_bytes(plan, facts)
        if least + ENGINE_WORK.low > share:
            return TOO_LARGE, f"rollout: weights and one sequence take {_gib(least)} of its share of {_gib(share)}"
    for served in served_models(plan):
        own = int(capacity * served.share)
        if served.weights + ENGINE_WORK.low > own:
            return TOO_LARGE, f"{served.role}: weights take {_gib(served.weights)} of its share of {_gib(own)}"
    worst = max(phases, key=lambda phase: (phase.low > capacity, phase.expected))
    numbers = f"{worst.name}: {_gib(worst.expected)} expected, {_gib(worst.low)} at least, of {_gib(capacity)}"
    if worst.low > capacity:
        return TOO_LARGE, numbers
    return (TIGHT if worst.expected > capacity else FITS), numbers


def _cache_tokens(plan: Plan, facts: ModelFacts, capacity: int | None) -> int | None:
    share = _share(plan, capacity)
    if share is None:
        return None
    left = share - weight_bytes(plan, facts) - ENGINE_WORK.expected
    return max(0, left // cache_bytes_per_token(plan, facts)) * int(plan.get("hardware.rollout.data_parallel", 1))


def _host(plan: Plan, facts: ModelFacts, trained: tuple[Trained, ...]) -> tuple[int, int]:
    """Bytes per node: what is offloaded, the streamed reference, an engine that sleeps with adapters; and loading."""
    each = int(plan.get("hardware.gpus_per_node", 8))
    laid = layout(plan, "reference")
    waiting = sum(
        model.offloaded + (model.state.gradients if model.offloads_weights or model.streams else 0) for model in trained
    )
    if plan.needs_reference and not lora_rank(plan) and (not laid.megatron or _offloads(plan, "reference")[0]):
        waiting += training_state(facts, laid).weights
    if lora_rank(plan) and not plan.on_cpu:
        waiting += weight_bytes(plan, facts)
    copies = each if facts.tied_embeddings else 1
    loading = 0 if trained[0].laid.megatron else copies * facts.parameters * trained[0].laid.weight_bytes
    return each * waiting, each * waiting + loading


def _checkpoint(plan: Plan, trained: tuple[Trained, ...]) -> int:
    """Bytes of one checkpoint on all nodes together."""
    contents = plan.get("run.checkpoint.contents") or GIVEN_CONTENTS
    total = 0
    for model in trained:
        total += model.state.saved_weights if "model" in contents else 0
        total += model.state.saved_optimizer if "optimizer" in contents else 0
        total += model.facts.parameters * 2 if "hf_model" in contents else 0
    return total


def _assumptions(plan: Plan, capacity: int | None) -> Iterator[str]:
    yield f"low: sequences average {MEAN_SHARE:.0%} of their limits; expected: the fullest of many micro-batches"
    yield "high: every sequence at its limit, and no kernel that fuses"
    if not plan.on_cpu:
        yield f"{_gib(OVERHEAD.low)} to {_gib(OVERHEAD.high)} of CUDA contexts, NCCL buffers and the sleeping engine"
    if lora_rank(plan):
        yield "adapters on every linear layer"
    if plan.get("hardware.train.engine") in ("veomni", "torchtitan"):
        yield "this engine shards as FSDP2 does"
    for served in served_models(plan):
        if served.facts is None:
            yield f"{served.path}, the {served.role}, fits its share of the GPU: its size is unknown"
    if critic := _unknown_critic(plan):
        yield f"{critic}, the critic, to be as large as the policy"


def _unknown_critic(plan: Plan) -> str | None:
    """The critic's own model, where nothing is known of it."""
    path = plan.path("algorithm.critic.model.path") if plan.needs_critic else None
    return str(path) if path is not None and find_facts(str(path)) is None else None


def _gib(amount: int) -> str:
    return f"{amount / GIB:.1f} GiB"
