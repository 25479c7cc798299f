"""What a pass over one micro-batch holds beside the model: activations, logits, gathered layers.

These cannot be exact before the run, for nobody knows how long answers will be. Each is said three times: low, expected
and high. High takes every sequence at its limit. Expected takes the fullest of many micro-batches when sequences
average MEAN_SHARE of their limit: n sequences together stray from that mean by about one over the root of n. Low is
the mean itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from orbiter_spec.plan.model import Plan
from orbiter_spec.plan.model_facts import ModelFacts
from orbiter_spec.plan.sharding import Layout, layer_parameters

VERL_TOKENS = 16_384
MEAN_SHARE = 0.3
SPREAD = 0.5
SAVED_WIDTHS = 1
HALF = 2
SINGLE = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """Bytes (or tokens): at least, most likely, and at most."""

    low: int
    expected: int
    high: int

    def times(self, factor: float) -> Estimate:
        """Every bound times `factor`."""
        return Estimate(int(self.low * factor), int(self.expected * factor), int(self.high * factor))


def both(one: Estimate, other: Estimate) -> Estimate:
    """Two things held at the same time."""
    return Estimate(one.low + other.low, one.expected + other.expected, one.high + other.high)


def larger(one: Estimate, other: Estimate) -> Estimate:
    """Two things of which only one is held at a time."""
    return Estimate(max(one.low, other.low), max(one.expected, other.expected), max(one.high, other.high))


def exactly(amount: int) -> Estimate:
    """An amount that is known."""
    return Estimate(amount, amount, amount)


def micro_batch_tokens(plan: Plan, route: str, sequences: int, laid: Layout) -> Estimate:
    """Tokens that one GPU works on at once under the settings at `route`, of at most `sequences` a worker has."""
    longest = int(plan.get("agent.limits.prompt_tokens", 512)) + int(plan.get("agent.limits.response_tokens", 512))
    split = laid.sequence * laid.context
    dynamic = plan.get(f"{route}.dynamic", plan.get(f"{route}.tokens") is not None)
    if dynamic:
        budget = int(plan.get(f"{route}.tokens") or VERL_TOKENS)
        return _tokens(sequences, longest, split, budget, packed=True)
    held = min(int(plan.get(f"{route}.sequences") or sequences), sequences)
    return _tokens(held, longest, split, None, packed=bool(plan.get("hardware.train.remove_padding", True)))


def _tokens(sequences: int, longest: int, split: int, budget: int | None, *, packed: bool) -> Estimate:
    sequences = max(1, sequences)
    whole = sequences * longest // split
    mean = MEAN_SHARE if packed else 0.5
    fullest = min(1.0, MEAN_SHARE + SPREAD / sqrt(sequences)) if packed else 1.0
    shares = (mean, fullest, 1.0)
    low, expected, high = (max(1, int(whole * share)) for share in shares)
    if budget is not None:
        low, expected, high = (min(tokens, budget) for tokens in (low, expected, high))
    return Estimate(low, expected, high)


def saved_activations(facts: ModelFacts, laid: Layout, tokens: Estimate, *, recompute: bool, offload: bool) -> Estimate:
    """What the forward pass keeps for the backward pass, in 16 bits; one width a layer when it is recomputed."""
    if offload:
        return tokens.times(2 * SAVED_WIDTHS * facts.hidden * HALF)
    layers = -(-facts.layers // laid.pipeline)
    if recompute:
        split = laid.tensor if laid.megatron else 1
        return tokens.times(layers * SAVED_WIDTHS * facts.hidden * HALF / split)
    return layer_work(facts, laid, tokens).times(layers * 0.6)


def layer_work(facts: ModelFacts, laid: Layout, tokens: Estimate) -> Estimate:
    """One layer's activations and their gradients. Kernels that fuse hold about half of what plain ones do."""
    inner = _inner_width(facts)
    attention = (facts.heads + 2 * facts.kv_heads) * facts.head_dim
    width = 6 * facts.hidden + 2 * attention + 4 * inner
    plain = tokens.times(width * HALF / laid.tensor)
    return Estimate(plain.low, int(plain.expected * 1.5), 2 * plain.high)


def _inner_width(facts: ModelFacts) -> int:
    """Width of the feed-forward part that a token passes through, shared and routed experts together."""
    dense = sum(weight.parameters for weight in facts.weights if weight.kind == "mlp")
    routed = sum(weight.parameters for weight in facts.weights if weight.kind == "expert")
    active = dense + (routed * facts.active_experts // facts.experts if facts.experts else 0)
    return active // (3 * facts.hidden * facts.layers)


def logits(
    facts: ModelFacts, laid: Layout, tokens: Estimate, *, backward: bool, entropy: bool, fused: bool
) -> Estimate:
    """Scores over the vocabulary. Low: one copy in 16 bits, changed in place. High: copies in 32 bits."""
    if fused:
        return tokens.times(facts.hidden * SINGLE)
    one = tokens.times(facts.vocab * HALF / laid.tensor)
    copies = (1.0, 2.0, 4.0) if not backward else (2.0, 3.0, 6.0) if entropy else (1.0, 2.0, 5.0)
    low, expected, high = copies
    return Estimate(int(one.low * low), int(one.expected * expected), int(one.high * high))


def gathered_layers(facts: ModelFacts, laid: Layout, *, backward: bool) -> Estimate:
    """Weights that FSDP gathers in 16 bits for the layer at work and the next, with gradients before they are cut."""
    if laid.megatron:
        return exactly(0)
    layer, ends = layer_parameters(facts) * HALF, facts.embedding_parameters * HALF
    if facts.tied_embeddings:
        ends = max(ends, facts.vocab * facts.hidden * HALF)
    if not backward:
        return Estimate(layer + ends // 2, 2 * layer + ends, 3 * layer + ends)
    return Estimate(2 * layer + ends // 2, 4 * layer + ends, 6 * layer + 3 * ends)
