"""Sampling against transformers and against the arithmetic it stands for."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch

from orbiter_spec.runtime.generation import ABORTED, COMPLETED, Limits, Request, Sampling, draw, generate, restrict

LIMITS = Limits(prompt=64, response=16, context=128, stop=frozenset({2}))
GREEDY = Sampling(temperature=0.0, top_p=1.0, top_k=0, repetition_penalty=1.0, max_tokens=12, stop=frozenset())
WARM = replace(GREEDY, temperature=0.7)
PROMPTS = [(1, 120, 13, 50, 51, 2, 13, 1, 100, 13), (1, 120, 13), (5, 6, 7, 8, 9, 10), (1, 120, 13), (77,)]


def run(model: Any, *requests: Request) -> list[list[int]]:
    generate(model, requests)
    return [request.tokens for request in requests]


def requests_of(sampling: Sampling) -> list[Request]:
    return [Request(prompt, sampling, seed) for seed, prompt in enumerate(PROMPTS)]


def test_log_probabilities_are_the_actors(model: Any) -> None:
    requests = requests_of(WARM)
    generate(model, requests)
    for request in requests:
        ids = torch.tensor([[*request.prompt, *request.tokens]])
        with torch.no_grad():
            logits = model(input_ids=ids).logits[0, len(request.prompt) - 1 : -1] / request.sampling.temperature
        expected = torch.log_softmax(logits, -1).gather(1, ids[0, len(request.prompt) :, None])[:, 0]
        torch.testing.assert_close(torch.tensor(request.log_probs), expected, atol=1e-4, rtol=1e-4)


def test_log_probabilities_of_a_bfloat16_model_are_rounded_as_verls(model: Any) -> None:
    from verl.utils.torch_functional import logprobs_from_logits_v2

    half = copy.deepcopy(model).to(torch.bfloat16)
    requests = [Request((1, 120, prompt), replace(WARM, temperature=1.0), prompt) for prompt in range(3, 40)]
    generate(half, requests)
    expected = []
    for request in requests:
        ids = torch.tensor([[*request.prompt, *request.tokens]])
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            logits = half(input_ids=ids).logits[:, len(request.prompt) - 1 : -1]
            expected.append(logprobs_from_logits_v2(logits, ids[:, len(request.prompt) :])[0])
    got = torch.tensor([value for request in requests for value in request.log_probs])
    both = torch.stack([got, torch.cat(expected).float()]).exp()
    assert torch.corrcoef(both)[0, 1] > 0.999


def test_log_probabilities_ignore_top_p_top_k_and_penalty(model: Any) -> None:
    request = Request(PROMPTS[0], replace(WARM, top_p=0.5, top_k=3, repetition_penalty=1.3, max_tokens=1), 7)
    generate(model, [request])
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([PROMPTS[0]])).logits[0, -1] / 0.7
    expected = float(torch.log_softmax(logits, -1)[request.tokens[0]])
    assert request.log_probs[0] == pytest.approx(expected, abs=1e-4)


def test_a_request_does_not_depend_on_its_batch(model: Any) -> None:
    together = run(model, *requests_of(WARM))
    alone = [run(model, request)[0] for request in requests_of(WARM)]
    assert together == alone
    assert together[1] != together[3], "the same prompt with another seed gives another sample"


def test_finished_rows_leave_the_batch(model: Any) -> None:
    lengths = (1, 3, 12, 5, 2)
    requests = [
        Request(prompt, replace(WARM, max_tokens=length), seed)
        for seed, (prompt, length) in enumerate(zip(PROMPTS, lengths, strict=True))
    ]
    full = run(model, *requests_of(WARM))
    assert run(model, *requests) == [tokens[:length] for tokens, length in zip(full, lengths, strict=True)]


def test_greedy_is_transformers_greedy(model: Any) -> None:
    ids = torch.tensor([PROMPTS[0]])
    options = {"do_sample": False, "max_new_tokens": 12, "eos_token_id": None, "pad_token_id": 0}
    expected = model.generate(ids, attention_mask=torch.ones_like(ids), **options)[0, ids.shape[1] :].tolist()
    assert run(model, Request(PROMPTS[0], GREEDY, 0)) == [expected]


def test_repetition_penalty_is_transformers_penalty(model: Any) -> None:
    ids = torch.tensor([PROMPTS[2]])
    options = {"do_sample": False, "max_new_tokens": 12, "eos_token_id": None, "pad_token_id": 0}
    expected = model.generate(ids, attention_mask=torch.ones_like(ids), repetition_penalty=1.5, **options)
    penalised = run(model, Request(PROMPTS[2], replace(GREEDY, repetition_penalty=1.5), 0))
    assert penalised == [expected[0, ids.shape[1] :].tolist()]
    assert penalised != run(model, Request(PROMPTS[2], GREEDY, 0))


@pytest.mark.parametrize("narrow", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}])
def test_narrow_sampling_is_greedy(model: Any, narrow: dict[str, Any]) -> None:
    assert run(model, *requests_of(replace(WARM, **narrow))) == run(model, *requests_of(GREEDY))


def test_requests_with_different_sampling_share_a_batch(model: Any) -> None:
    mixed = [GREEDY, WARM, replace(WARM, top_k=2), replace(WARM, top_p=0.3), replace(WARM, repetition_penalty=2.0)]
    requests = [Request(prompt, sampling, 3) for prompt, sampling in zip(PROMPTS, mixed, strict=True)]
    alone = [run(model, Request(request.prompt, request.sampling, 3))[0] for request in requests]
    assert run(model, *requests) == alone


def test_stop_tokens_end_a_request_and_are_kept(model: Any) -> None:
    free = Request(PROMPTS[0], WARM, 5)
    generate(model, [free])
    stop = free.tokens[4]
    stopped = Request(PROMPTS[0], replace(WARM, stop=frozenset({stop})), 5)
    generate(model, [stopped])
    assert stopped.tokens == free.tokens[: free.tokens.index(stop) + 1]
    assert len(stopped.log_probs) == len(stopped.tokens)
    assert stopped.stop_reason == free.stop_reason == COMPLETED


def test_abort_keeps_what_there_is(model: Any) -> None:
    asked = []

    def aborted() -> bool:
        asked.append(None)
        return len(asked) == 3

    requests = [Request(PROMPTS[0], WARM, 0), Request(PROMPTS[1], replace(WARM, max_tokens=2), 1)]
    generate(model, requests, aborted)
    assert [len(request.tokens) for request in requests] == [3, 2]
    assert [request.stop_reason for request in requests] == [ABORTED, COMPLETED]


def test_nan_is_an_error(model: Any) -> None:
    weight = model.lm_head.weight
    kept = weight.detach().clone()
    with torch.no_grad():
        weight[0, 0] = float("nan")
    try:
        with pytest.raises(RuntimeError, match="NaN"):
            generate(model, [Request((1,), GREEDY, 0)])
    finally:
        with torch.no_grad():
            weight.copy_(kept)


def test_draw_follows_the_distribution() -> None:
    logits = torch.tensor([[0.1, 0.5, 0.0, 0.4]]).log().expand(20_000, -1)
    uniforms = torch.rand(20_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    shares = torch.bincount(draw(logits, uniforms), minlength=4) / 20_000
    torch.testing.assert_close(shares, torch.tensor([0.1, 0.5, 0.0, 0.4]), atol=0.015, rtol=0)


def test_draw_never_leaves_the_support() -> None:
    logits = torch.tensor([[float("-inf"), 0.0, float("-inf"), 0.0, float("-inf")]]).expand(2, -1)
    edges = torch.tensor([0.0, 1 - 2**-53], dtype=torch.float64)
    assert draw(logits, edges).tolist() == [1, 3]


def test_restrict_keeps_the_top() -> None:
    logits = torch.tensor([[0.5, 0.25, 0.15, 0.1]]).log()
    kept = {
        (0, 1.0): 4,
        (2, 1.0): 2,
        (0, 0.5): 1,
        (0, 0.51): 2,
        (0, 0.9): 3,
        (3, 0.6): 2,
        (9, 1.0): 4,
    }
    for (top_k, top_p), count in kept.items():
        narrowed = restrict(logits, torch.tensor([[top_k]]), torch.tensor([[top_p]], dtype=torch.float64))
        assert int(torch.isfinite(narrowed).sum()) == count, (top_k, top_p)


def test_sampling_reads_verls_parameters() -> None:
    params = {"temperature": 0.5, "top_p": 0.9, "top_k": -1, "repetition_penalty": 1.0, "logprobs": True}
    sampling = Sampling.of(params, 10, LIMITS)
    assert sampling == Sampling(0.5, 0.9, 0, 1.0, 16, frozenset({2}))


@pytest.mark.parametrize(
    ("params", "prompt", "expected"),
    [
        ({}, 10, 16),
        ({}, 70, 10),
        ({"max_tokens": 5}, 10, 5),
        ({"max_new_tokens": 7}, 10, 7),
        ({"max_tokens": 500}, 100, 28),
        ({"max_tokens": 0}, 10, 1),
        ({}, 100, 1),
    ],
)
def test_limits(params: dict[str, Any], prompt: int, expected: int) -> None:
    assert Sampling.of(params, prompt, LIMITS).max_tokens == expected


def test_stop_tokens_of_a_request_join_the_models() -> None:
    assert Sampling.of({"stop_token_ids": [9]}, 1, LIMITS).stop == {2, 9}
    assert Sampling.of({"stop_token_ids": [9], "ignore_eos": True}, 1, LIMITS).stop == {9}
    assert Sampling.of({}, 1, replace(LIMITS, ignore_eos=True)).stop == frozenset()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"min_p": 0.1}, "min_p"),
        ({"temperature": -1}, "out of range"),
        ({"top_p": 0}, "out of range"),
        ({"repetition_penalty": 0}, "out of range"),
    ],
)
def test_bad_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sampling.of(params, 1, LIMITS)


def test_a_prompt_as_long_as_the_context_is_refused() -> None:
    with pytest.raises(ValueError, match="no room"):
        Sampling.of({}, 128, LIMITS)
