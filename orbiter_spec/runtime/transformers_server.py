"""The process that generates: a Ray actor around a transformers model.

verl sends one request a sample. They are gathered for a few milliseconds, run as one batch in a thread, and answered;
requests that arrive meanwhile form the next batch. This module is imported by Ray, so its class must not live in the
plugin's module; and it imports nothing of verl, which saves seconds of start-up. Answers turn into verl's `TokenOutput`
when the receiver, who has verl loaded, unpickles them.

An error during generation is given to each request of that batch.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from orbiter_spec.runtime.generation import Limits, Request, Sampling, generate
from orbiter_spec.runtime.packed_experts import expert_views
from orbiter_spec.runtime.threads import set_threads

GATHER_SECONDS, GATHER_AT_MOST_SECONDS = 0.005, 0.1
CACHE_TOKENS = 65_536  # prompt and response tokens that one batch may hold in its key-value cache


@dataclass(frozen=True, slots=True)
class Settings:
    """What the server is told at its start; plain values, so that unpickling them does not import verl."""

    path: str
    dtype: str
    overrides: dict[str, Any]
    trust_remote_code: bool
    prompt_tokens: int
    response_tokens: int
    context_tokens: int | None
    max_requests: int
    ignore_eos: bool
    repetition_penalty: float
    seed: int
    replicas_on_node: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished request; unpickles as verl's `TokenOutput`."""

    fields: dict[str, Any] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        return _token_output, (self.fields,)


def _token_output(fields: dict[str, Any]) -> Any:
    from verl.workers.rollout.replica import TokenOutput

    return TokenOutput(**fields)


class TransformersServer:
    """Generates for one replica. Methods are those that verl calls on a rollout server."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.model, stop = load_model(settings)
        set_threads(self.model, settings.replicas_on_node)
        self.limits = _limits(settings, self.model.config, stop)
        self.global_steps: int | None = None
        self._weights = dict(self.model.state_dict())
        self._experts = expert_views(self._weights)
        self._slots = self._weights | {name: view for views in self._experts.values() for name, view in views.items()}
        self._loaded: set[str] = set()
        self._occurrences: Counter[tuple[int, ...]] = Counter()
        self._queue: list[tuple[Request, asyncio.Future[Request]]] = []
        self._loop: asyncio.Task[None] | None = None
        self._busy = asyncio.Lock()
        self._open = asyncio.Event()
        self._open.set()

    async def ready(self) -> None:
        """Returns once the model is loaded; raises what loading raised."""

    async def generate(
        self,
        prompt_ids: Iterable[int],
        sampling_params: dict[str, Any],
        request_id: str = "",
        image_data: Any = None,
        video_data: Any = None,
        **_: Any,
    ) -> Answer:
        """Continue `prompt_ids`. Raises ValueError for images, video or unknown sampling parameters."""
        if image_data or video_data:
            raise ValueError("the CPU rollout engine generates from text only")
        prompt = tuple(int(token) for token in prompt_ids)
        sampling = Sampling.of(sampling_params, len(prompt), self.limits)
        await self._open.wait()
        request = Request(prompt, sampling, self._seed(prompt, sampling_params.get("seed")))
        await self._submit(request)
        fields = {"token_ids": request.tokens, "log_probs": request.log_probs, "stop_reason": request.stop_reason}
        return Answer({**fields, "extra_fields": {"global_steps": self.global_steps}})

    def _seed(self, prompt: tuple[int, ...], asked: int | None) -> int:
        """A seed from what the request is (weights, prompt, how often it was asked), not from when it came."""
        self._occurrences[prompt] += 1
        base = self.settings.seed if asked is None else asked
        key = (base, self.global_steps, self._occurrences[prompt], prompt)
        return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest()) >> 1

    async def _submit(self, request: Request) -> None:
        done = asyncio.get_running_loop().create_future()
        self._queue.append((request, done))
        if self._loop is None or self._loop.done():
            self._loop = asyncio.create_task(self._serve())
            self._loop.add_done_callback(self._fail_the_rest)
        await done

    def _fail_the_rest(self, loop: asyncio.Task[None]) -> None:
        """Should the loop itself break, nobody waits for an answer that cannot come."""
        error = None if loop.cancelled() else loop.exception()
        if isinstance(error, Exception):
            left, self._queue = self._queue, []
            _settle(left, error)

    async def _serve(self) -> None:
        """Run batches until the queue is empty."""
        while self._queue:
            await self._gather()
            async with self._busy:
                batch = self._next_batch()
                if not batch:  # an abort came first
                    continue
                try:
                    await asyncio.to_thread(generate, self.model, [request for request, _ in batch], self._is_closed)
                except Exception as error:
                    _settle(batch, error)
                else:
                    _settle(batch, None)

    async def _gather(self) -> None:
        """Wait while requests keep coming, but not for long."""
        waited, known = 0.0, 0
        while known < len(self._queue) and waited < GATHER_AT_MOST_SECONDS:
            known = len(self._queue)
            await asyncio.sleep(GATHER_SECONDS)
            waited += GATHER_SECONDS

    def _next_batch(self) -> list[tuple[Request, asyncio.Future[Request]]]:
        """Take from the front of the queue what fits the limits on requests and cache; one request at least."""
        size, longest = 0, 0
        for request, _ in self._queue[: self.settings.max_requests]:
            longest = max(longest, len(request.prompt) + request.sampling.max_tokens)
            if size and longest * (size + 1) > CACHE_TOKENS:
                break
            size += 1
        batch, self._queue = self._queue[:size], self._queue[size:]
        return batch

    def _is_closed(self) -> bool:
        return not self._open.is_set()

    async def load_weights(self, weights: list[tuple[str, torch.Tensor]]) -> None:
        """Copy some of the actor's weights. Raises RuntimeError for a name or a shape that the model does not have."""
        async with self._busy:
            for name, value in weights:
                slot = self._slots.get(name)
                if slot is None or slot.shape != value.shape:
                    have = "no such weight" if slot is None else f"shape {tuple(slot.shape)}"
                    raise RuntimeError(f"weight {name} of shape {tuple(value.shape)}: the rollout model has {have}")
                slot.copy_(value)
                self._loaded.add(name)

    async def finish_weights(self, global_steps: int | None) -> None:
        """End an update. Raises RuntimeError when a weight of the model did not come, tied ones excepted."""
        whole = {name for name, views in self._experts.items() if views.keys() <= self._loaded}
        filled = {self._weights[name].data_ptr() for name in (self._loaded | whole) & self._weights.keys()}
        missing = [name for name, slot in self._weights.items() if slot.data_ptr() not in filled]
        if missing:
            raise RuntimeError(f"{len(missing)} weights were not sent to the rollout model: {missing[:5]}")
        self._loaded.clear()
        self._occurrences.clear()
        self.global_steps = self.global_steps if global_steps is None else global_steps

    async def set_global_steps(self, global_steps: int) -> None:
        """Name the version of the weights."""
        self.global_steps = global_steps

    async def abort_all_requests(self, **_: Any) -> None:
        """End running requests with what they have, and hold new ones until `resume_generation`."""
        self._open.clear()
        async with self._busy:
            batch, self._queue = self._queue, []
            for request, _done in batch:
                request.stop_reason = "aborted"
            _settle(batch, None)

    async def resume_generation(self) -> None:
        """Take requests again."""
        self._open.set()

    async def wake_up(self, **_: Any) -> None:
        """Weights stay in memory: there is nothing to wake."""

    sleep = clear_kv_cache = release_kv_cache = resume_kv_cache = start_profile = stop_profile = wake_up


def _settle(batch: list[tuple[Request, asyncio.Future[Request]]], error: Exception | None) -> None:
    for request, done in batch:
        if done.done():
            continue
        if error is None:
            done.set_result(request)
        else:
            done.set_exception(error)


def load_model(settings: Settings) -> tuple[Any, frozenset[int]]:
    """The causal language model in evaluation mode, and the tokens that end a sequence."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    trust = settings.trust_remote_code
    overrides = {"attn_implementation": "sdpa", **settings.overrides}
    config = AutoConfig.from_pretrained(settings.path, trust_remote_code=trust, **overrides)
    dtype = getattr(torch, settings.dtype)
    model = AutoModelForCausalLM.from_pretrained(settings.path, config=config, dtype=dtype, trust_remote_code=trust)
    tokenizer = AutoTokenizer.from_pretrained(settings.path, trust_remote_code=trust)
    stop = (tokenizer.eos_token_id, model.config.eos_token_id, model.generation_config.eos_token_id)
    return model.eval().requires_grad_(False), frozenset(_flatten(stop))


def _flatten(values: Iterable[Any]) -> Iterable[int]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from value
        elif value is not None:
            yield value


def _limits(settings: Settings, config: Any, stop: frozenset[int]) -> Limits:
    contexts = (settings.context_tokens, getattr(config, "max_position_embeddings", None))
    known = [tokens for tokens in contexts if tokens]
    return Limits(
        prompt=settings.prompt_tokens,
        response=settings.response_tokens,
        context=min(known) if known else settings.prompt_tokens + settings.response_tokens,
        stop=stop,
        ignore_eos=settings.ignore_eos,
        repetition_penalty=settings.repetition_penalty,
    )
