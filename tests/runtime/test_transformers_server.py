"""The rollout server without Ray: batches, seeds, weights, failures, aborts."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from orbiter_spec.runtime import transformers_server
from orbiter_spec.runtime.transformers_server import Settings, TransformersServer

SAMPLING = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "logprobs": True}
Scenario = Callable[[TransformersServer], Coroutine[Any, Any, Any]]


@pytest.fixture
def settings(sharp_folder: Path) -> Settings:
    return Settings(
        path=str(sharp_folder),
        dtype="float32",
        overrides={},
        trust_remote_code=False,
        prompt_tokens=32,
        response_tokens=8,
        context_tokens=None,
        max_requests=64,
        ignore_eos=False,
        repetition_penalty=1.0,
        seed=42,
        replicas_on_node=1,
    )


def play(settings: Settings, scenario: Scenario) -> Any:
    """Run a scenario against a fresh server; a hang is a failure."""

    async def main() -> Any:
        server = TransformersServer(settings)
        return await asyncio.wait_for(scenario(server), 30)

    return asyncio.run(main())


async def ask(server: TransformersServer, prompt: list[int], **params: Any) -> dict[str, Any]:
    answer = await server.generate(prompt, {**SAMPLING, **params}, request_id="r")
    return answer.fields


async def ask_many(server: TransformersServer, count: int = 6) -> list[list[int]]:
    answers = await asyncio.gather(*[ask(server, [1, 120, index // 2]) for index in range(count)])
    return [answer["token_ids"] for answer in answers]


def test_concurrent_requests_share_a_batch(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    original = transformers_server.generate

    def counting(model: Any, requests: list[Any], aborted: Any) -> None:
        sizes.append(len(requests))
        original(model, requests, aborted)

    monkeypatch.setattr(transformers_server, "generate", counting)
    play(settings, lambda server: ask_many(server, 40))
    assert sum(sizes) == 40
    assert max(sizes) >= 20


def test_batches_keep_to_their_limits(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    original = transformers_server.generate

    def counting(model: Any, requests: list[Any], aborted: Any) -> None:
        sizes.append(len(requests))
        original(model, requests, aborted)

    monkeypatch.setattr(transformers_server, "generate", counting)
    play(replace(settings, max_requests=5), lambda server: ask_many(server, 12))
    assert sum(sizes) == 12
    assert max(sizes) == 5
    sizes.clear()
    monkeypatch.setattr(transformers_server, "CACHE_TOKENS", 3 * (3 + 8))
    play(settings, lambda server: ask_many(server, 12))
    assert sum(sizes) == 12
    assert max(sizes) == 3


def test_same_seed_same_answers(settings: Settings) -> None:
    first, second = play(settings, ask_many), play(settings, ask_many)
    assert first == second
    assert first[0] != first[1], "samples of one prompt differ"
    assert play(replace(settings, seed=43), ask_many) != first


def test_answers_do_not_depend_on_when_they_are_asked(settings: Settings) -> None:
    async def one_by_one(server: TransformersServer) -> list[list[int]]:
        return [(await ask(server, [1, 120, index // 2]))["token_ids"] for index in range(6)]

    assert play(settings, one_by_one) == play(settings, ask_many)


def test_new_weights_new_samples(settings: Settings) -> None:
    async def scenario(server: TransformersServer) -> tuple[Any, Any]:
        before = await ask(server, [1, 120])
        await server.load_weights([(name, value.clone()) for name, value in server.model.state_dict().items()])
        await server.finish_weights(global_steps=3)
        return before, await ask(server, [1, 120])

    before, after = play(settings, scenario)
    assert before["extra_fields"] == {"global_steps": None}
    assert after["extra_fields"] == {"global_steps": 3}
    assert before["token_ids"] != after["token_ids"]


def test_the_response_ends_at_the_configured_length(settings: Settings) -> None:
    answer = play(replace(settings, ignore_eos=True), lambda server: ask(server, [1, 120]))
    assert len(answer["token_ids"]) == len(answer["log_probs"]) == 8
    assert answer["stop_reason"] == "completed"


def test_end_of_sequence_comes_from_every_file(settings: Settings) -> None:
    async def scenario(server: TransformersServer) -> Any:
        return server.limits

    limits = play(settings, scenario)
    assert limits.stop == {0, 2}
    assert limits.context == 4096


def test_weights_are_used(settings: Settings) -> None:
    async def scenario(server: TransformersServer) -> Any:
        weights = {name: value.clone() for name, value in server.model.state_dict().items()}
        weights["lm_head.weight"] = torch.zeros_like(weights["lm_head.weight"])
        await server.load_weights(list(weights.items())[:5])
        await server.load_weights(list(weights.items())[5:])
        await server.finish_weights(global_steps=1)
        return await ask(server, [1, 120], ignore_eos=True)

    uniform = -torch.log(torch.tensor(259.0)).item()
    assert play(settings, scenario)["log_probs"] == pytest.approx([uniform] * 8, abs=1e-5)


def test_a_weight_that_does_not_come_is_an_error(settings: Settings) -> None:
    async def scenario(server: TransformersServer) -> None:
        await server.load_weights([("lm_head.weight", server.model.lm_head.weight.clone())])
        await server.finish_weights(global_steps=1)

    with pytest.raises(RuntimeError, match="26 weights were not sent"):
        play(settings, scenario)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [("model.extra", (3,), "no such weight"), ("lm_head.weight", (3, 64), r"shape \(259, 64\)")],
)
def test_a_weight_that_does_not_fit_is_an_error(
    settings: Settings, name: str, shape: tuple[int, ...], message: str
) -> None:
    with pytest.raises(RuntimeError, match=message):
        play(settings, lambda server: server.load_weights([(name, torch.zeros(shape))]))


def test_tied_weights_need_to_come_once(settings: Settings, tmp_path: Path) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    config = AutoConfig.from_pretrained(settings.path, tie_word_embeddings=True)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(settings.path).save_pretrained(tmp_path)

    async def scenario(server: TransformersServer) -> int | None:
        state = server.model.state_dict()
        assert "lm_head.weight" in state
        weights = [(name, value.clone()) for name, value in state.items() if name != "lm_head.weight"]
        await server.load_weights(weights)
        await server.finish_weights(global_steps=4)
        return server.global_steps

    assert play(replace(settings, path=str(tmp_path)), scenario) == 4


def test_a_failure_reaches_every_request(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("the matrix is full")

    async def scenario(server: TransformersServer) -> list[Any]:
        monkeypatch.setattr(transformers_server, "generate", broken)
        return await asyncio.gather(*[ask(server, [1, index]) for index in range(3)], return_exceptions=True)

    assert [str(result) for result in play(settings, scenario)] == ["the matrix is full"] * 3


def test_a_broken_loop_leaves_nobody_waiting(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: TransformersServer) -> None:
        raise RuntimeError("no batch today")

    async def scenario(server: TransformersServer) -> list[Any]:
        monkeypatch.setattr(TransformersServer, "_next_batch", broken)
        return await asyncio.gather(*[ask(server, [1, index]) for index in range(3)], return_exceptions=True)

    assert [str(result) for result in play(settings, scenario)] == ["no batch today"] * 3


def test_bad_requests_fail_at_once(settings: Settings) -> None:
    with pytest.raises(ValueError, match="text only"):
        play(settings, lambda server: server.generate([1], SAMPLING, image_data=[object()]))
    with pytest.raises(ValueError, match="best_of"):
        play(settings, lambda server: ask(server, [1], best_of=2))


def test_abort_holds_requests_until_resumed(settings: Settings) -> None:
    async def scenario(server: TransformersServer) -> dict[str, Any]:
        await server.abort_all_requests(reject_request=False)
        waiting = asyncio.create_task(ask(server, [1, 120]))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        await server.resume_generation()
        return await waiting

    assert play(settings, scenario)["stop_reason"] == "completed"


def test_abort_ends_running_requests(settings: Settings) -> None:
    async def scenario(server: TransformersServer) -> dict[str, Any]:
        running = asyncio.create_task(ask(server, [1, 120], max_tokens=3000, ignore_eos=True))
        await asyncio.sleep(0.5)
        await server.abort_all_requests()
        return await running

    answer = play(settings, scenario)
    assert answer["stop_reason"] == "aborted"
    assert 0 < len(answer["token_ids"]) < 3000


def test_an_answer_unpickles_as_verls_output(settings: Settings) -> None:
    from verl.workers.rollout.replica import TokenOutput

    async def scenario(server: TransformersServer) -> Any:
        return await server.generate([1, 120], SAMPLING)

    answer = play(settings, scenario)
    output = pickle.loads(pickle.dumps(answer))
    assert isinstance(output, TokenOutput)
    assert output.token_ids == answer.fields["token_ids"]
