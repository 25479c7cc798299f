"""Sampling from a transformers model, a batch of requests at a time.

The loop is written out instead of calling `model.generate`, because requests in one batch differ: each has its own
temperature, top_p, top_k, limits and stop tokens, and its own stream of random numbers, so that what a request gets
does not depend on which requests it happened to share a batch with. A prompt that occurs several times (the samples of
one group) is run through the model once, then its key-value cache is copied.

Log-probabilities are those of the temperature-scaled distribution before top_p, top_k and the repetition penalty, taken
in the precision of the logits: this is what verl's actor recomputes. In bfloat16 that rounding is most of the
difference between two computations of the same number (0.03 near a probability of 1/256); repeating it keeps the two
in step. Tokens are drawn in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

IGNORED = frozenset({"logprobs", "n", "seed"})  # log-probabilities are always returned; the server reads the others
COMPLETED, ABORTED = "completed", "aborted"


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server fixes for all requests, in tokens. `stop` holds the model's own end-of-sequence tokens."""

    prompt: int
    response: int
    context: int
    stop: frozenset[int]
    ignore_eos: bool = False
    repetition_penalty: float = 1.0


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one request is sampled. Temperature 0 is greedy; top_p 1 and top_k 0 are off."""

    temperature: float
    top_p: float
    top_k: int
    repetition_penalty: float
    max_tokens: int
    stop: frozenset[int]

    @staticmethod
    def of(params: dict[str, Any], prompt_tokens: int, limits: Limits) -> Sampling:
        """Read verl's sampling parameters. Raises ValueError for one that is unknown or out of range."""
        given = {name: value for name, value in params.items() if value is not None and name not in IGNORED}
        ignore_eos = given.pop("ignore_eos", limits.ignore_eos)
        sampling = Sampling(
            temperature=float(given.pop("temperature", 1.0)),
            top_p=float(given.pop("top_p", 1.0)),
            top_k=max(0, int(given.pop("top_k", 0))),
            repetition_penalty=float(given.pop("repetition_penalty", limits.repetition_penalty)),
            max_tokens=_max_tokens(given, prompt_tokens, limits),
            stop=frozenset(given.pop("stop_token_ids", ())) | (frozenset() if ignore_eos else limits.stop),
        )
        sampling.check()
        if given:
            raise ValueError(f"the CPU rollout engine does not know the sampling parameters {sorted(given)}")
        return sampling

    def check(self) -> None:
        """Raise ValueError for a number outside its range."""
        if self.temperature < 0 or not 0 < self.top_p <= 1 or self.repetition_penalty <= 0:
            raise ValueError(f"sampling parameters out of range: {self}")


def _max_tokens(given: dict[str, Any], prompt_tokens: int, limits: Limits) -> int:
    """The request's own limit or what is left of the configured lengths, within the model's context."""
    room = limits.context - prompt_tokens
    if room < 1:
        raise ValueError(f"a prompt of {prompt_tokens} tokens leaves no room in a context of {limits.context} tokens")
    asked = [given.pop(name) for name in ("max_tokens", "max_new_tokens") if name in given]
    default = min(limits.response, limits.prompt + limits.response - prompt_tokens)
    return max(1, min(int(asked[0]) if asked else default, room))


@dataclass(slots=True)
class Request:
    """One prompt (token ids), how to sample it, and the seed of its random numbers; filled by `generate`."""

    prompt: tuple[int, ...]
    sampling: Sampling
    seed: int
    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    stop_reason: str | None = None

    def take(self, token: int, log_prob: float) -> None:
        """Append a token; the request is completed by a stop token (kept) or by its limit."""
        self.tokens.append(token)
        self.log_probs.append(log_prob)
        if token in self.sampling.stop or len(self.tokens) >= self.sampling.max_tokens:
            self.stop_reason = COMPLETED

    def uniforms(self) -> torch.Tensor:
        """One number in [0, 1) for each token that may be drawn, float64."""
        generator = torch.Generator().manual_seed(self.seed)
        return torch.rand(self.sampling.max_tokens, generator=generator, dtype=torch.float64)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def generate(model: Any, requests: Sequence[Request], aborted: Callable[[], bool] = lambda: False) -> None:
    """Fill `tokens`, `log_probs` and `stop_reason` of each request. All of them share each forward pass.

    `aborted` is asked before each token; once true, unfinished requests end as "aborted" with what they have.
    Raises RuntimeError when the model gives NaN.
    """
    active = list(requests)
    logits, mask, cache = _prefill(model, active)
    draws = _Draws(active)
    while True:
        tokens, log_probs = draws.next(logits)
        for request, token, log_prob in zip(active, tokens.tolist(), log_probs.tolist(), strict=True):
            request.take(token, log_prob)
        rows = [row for row, request in enumerate(active) if request.stop_reason is None]
        if not rows or aborted():
            break
        if len(rows) < len(active):
            kept = torch.tensor(rows)
            active, tokens, mask = [active[row] for row in rows], tokens[kept], mask[kept]
            cache.batch_select_indices(kept)
            draws.keep(kept)
        mask = torch.cat([mask, mask.new_ones(len(active), 1)], dim=1)
        logits = _forward(model, tokens[:, None], mask, mask.sum(1, keepdim=True) - 1, cache)
    for row in rows:
        active[row].stop_reason = ABORTED


def _prefill(model: Any, requests: Sequence[Request]) -> tuple[torch.Tensor, torch.Tensor, Any]:
    """Run each distinct prompt once, padded on the left; one row of logits, mask and cache for each request."""
    from transformers import DynamicCache

    prompts = list(dict.fromkeys(request.prompt for request in requests))
    width = max(map(len, prompts))
    ids = torch.tensor([(0,) * (width - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    cache = DynamicCache(config=model.config)
    logits = _forward(model, ids, mask, (mask.cumsum(1) - 1).clamp(min=0), cache)
    row_of = {prompt: row for row, prompt in enumerate(prompts)}
    rows = torch.tensor([row_of[request.prompt] for request in requests])
    cache.batch_select_indices(rows)
    return logits[rows], mask[rows], cache


def _forward(model: Any, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any) -> torch.Tensor:
    """Logits after the last token of each row, in the model's precision, shape (rows, vocabulary)."""
    output = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    logits: torch.Tensor = output.logits[:, -1]
    if torch.isnan(logits).any():
        raise RuntimeError("the model's logits are NaN: training has diverged or its weights are broken")
    return logits


class _Draws:
    """The sampling parameters of the active rows as columns, and the state that grows with each token."""

    def __init__(self, requests: Sequence[Request]) -> None:
        each = [request.sampling for request in requests]
        self.temperature = torch.tensor([sampling.temperature for sampling in each])[:, None]
        self.top_p = torch.tensor([sampling.top_p for sampling in each], dtype=torch.float64)[:, None]
        self.top_k = torch.tensor([sampling.top_k for sampling in each])[:, None]
        self.penalty = torch.tensor([sampling.repetition_penalty for sampling in each])[:, None]
        self.uniforms = torch.nn.utils.rnn.pad_sequence([request.uniforms() for request in requests], batch_first=True)
        self.step = 0
        self.prompts = [request.prompt for request in requests]
        self.seen: torch.Tensor | None = None

    def keep(self, rows: torch.Tensor) -> None:
        """Drop the rows that are not in `rows`."""
        for name in ("temperature", "top_p", "top_k", "penalty", "uniforms"):
            setattr(self, name, getattr(self, name)[rows])
        self.seen = None if self.seen is None else self.seen[rows]

    def next(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """A token for each row, and its log-probability under the temperature-scaled distribution."""
        greedy = self.temperature == 0
        scale = torch.where(greedy, torch.ones_like(self.temperature), self.temperature)
        penalised = self._penalise(logits.float())
        allowed = restrict(penalised / scale, self.top_k, self.top_p)
        drawn = draw(allowed, self.uniforms[:, self.step])
        tokens = torch.where(greedy[:, 0], penalised.argmax(-1), drawn)
        self.step += 1
        if self.seen is not None:
            self.seen.scatter_(1, tokens[:, None], True)
        log_probs = torch.log_softmax(logits / scale.to(logits.dtype), dim=-1)
        return tokens, log_probs.gather(1, tokens[:, None])[:, 0]

    def _penalise(self, logits: torch.Tensor) -> torch.Tensor:
        """The repetition penalty of CTRL: seen tokens' logits divided by it, or multiplied when negative."""
        if bool((self.penalty == 1).all()):
            return logits
        if self.seen is None:
            self.seen = torch.zeros_like(logits, dtype=torch.bool)
            for row, prompt in enumerate(self.prompts):
                self.seen[row, list(prompt)] = True
        punished = torch.where(logits > 0, logits / self.penalty, logits * self.penalty)
        return torch.where(self.seen, punished, logits)


def restrict(logits: torch.Tensor, top_k: torch.Tensor, top_p: torch.Tensor) -> torch.Tensor:
    """Set to minus infinity what top_k (column, 0 is off) and then top_p (column, 1 is off) leave out."""
    if not bool((top_k > 0).any()) and not bool((top_p < 1).any()):
        return logits
    ordered, order = logits.sort(dim=-1, descending=True)
    ranks = torch.arange(logits.shape[-1])
    ordered = ordered.masked_fill((top_k > 0) & (ranks >= top_k), float("-inf"))
    probabilities = torch.softmax(ordered.double(), dim=-1)
    before = probabilities.cumsum(-1) - probabilities
    ordered = ordered.masked_fill((top_p < 1) & (before >= top_p), float("-inf"))
    return torch.empty_like(logits).scatter_(1, order, ordered)


def draw(logits: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """One token for each row by inverting the cumulative distribution at `uniforms` (float64 in [0, 1))."""
    cumulative = torch.softmax(logits.double(), dim=-1).cumsum(-1)
    tokens = torch.searchsorted(cumulative, uniforms[:, None] * cumulative[:, -1:], right=True)[:, 0]
    return tokens.clamp(max=logits.shape[-1] - 1)
