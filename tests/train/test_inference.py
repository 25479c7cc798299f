"""The inference engines of the Python API, played for real."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.data.tiny_model import write_tiny_model
from orbiter_spec.train import (
    BatchInferenceManager,
    InferenceError,
    InferenceOutput,
    MultiTurnInferenceEngine,
    create_inference_engine,
)
from orbiter_spec.train.environments import SimpleGameEnvironment

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_tiny_model(folder)
    return folder


@pytest.fixture(scope="module")
def engine(model: Path) -> Any:
    return create_inference_engine(str(model), backend="transformers", config={"dtype": "float32"})


def test_one_answer_a_prompt(engine: Any) -> None:
    output = engine.generate(prompts=["Hello, how are you?", "b"], max_tokens=6, temperature=0.7, top_p=0.9)
    assert len(output.sequences) == 2
    assert output.tokens.shape[0] == 2
    assert 1 <= output.tokens.shape[1] <= 6
    assert output.tokens.dtype == "int64"


def test_greedy_answers_do_not_depend_on_the_batch(engine: Any) -> None:
    prompts = ["a", "a longer prompt", "b", "and one more of them", "c"]
    together = BatchInferenceManager(engine, batch_size=5).generate_batch(prompts, max_tokens=5, temperature=0)
    apart = BatchInferenceManager(engine, batch_size=2).generate_batch(prompts, max_tokens=5, temperature=0)
    assert together.sequences == apart.sequences
    assert (together.tokens == apart.tokens).all()
    assert len(together.sequences) == 5


def test_no_prompts_no_answers(engine: Any) -> None:
    output = BatchInferenceManager(engine).generate_batch([], max_tokens=5)
    assert output.sequences == []
    assert output.tokens.shape == (0, 0)


def test_a_conversation_is_rendered_by_the_chat_template(engine: Any) -> None:
    talk = MultiTurnInferenceEngine(engine=engine, max_turns=2, system_prompt="You are a helpful assistant.")
    talk.start_conversation("Initial prompt")
    system = "<|im_start|>s\nYou are a helpful assistant.<|im_end|>\n"
    user = "<|im_start|>u\nInitial prompt<|im_end|>\n"
    assert talk.format_conversation() == f"{system}{user}<|im_start|>a\n"
    first = talk.step(max_tokens=4)
    assert talk.messages[-1] == {"role": "assistant", "content": first}
    talk.add_observation("and then?")
    talk.step(max_tokens=4)
    with pytest.raises(InferenceError, match="2 turns"):
        talk.step(max_tokens=4)


def test_a_conversation_has_to_be_started(engine: Any) -> None:
    with pytest.raises(InferenceError, match="start_conversation"):
        MultiTurnInferenceEngine(engine=engine).step()


def test_an_untrained_model_plays_to_the_last_turn(engine: Any) -> None:
    talk = MultiTurnInferenceEngine(engine=engine, max_turns=3)
    said = talk.run_episode(
        environment=SimpleGameEnvironment(), initial_prompt="Start playing the game.", max_turns=5, max_tokens=4
    )
    assert len(said) == 3
    assert talk.trajectory is not None
    assert talk.trajectory.actions == said
    assert talk.trajectory.rewards == pytest.approx([-0.1] * 3)
    assert talk.trajectory.states[0].startswith("Welcome to the game!")


class Player:
    """An engine that says what it is told to, so that the course of a game is known."""

    def __init__(self, tokenizer: Any, lines: list[str]) -> None:
        self.tokenizer, self.lines, self.heard = tokenizer, lines, list[str]()

    def generate(self, prompts: Sequence[str], **_: Any) -> InferenceOutput:
        import numpy

        self.heard += prompts
        return InferenceOutput([self.lines.pop(0)], numpy.zeros((1, 1), dtype=numpy.int64), 0)


def test_a_game_that_ends_ends_the_episode(engine: Any) -> None:
    player = Player(engine.tokenizer, ["take it", "attack!", "never said"])
    talk = MultiTurnInferenceEngine(engine=player, max_turns=5)
    assert talk.run_episode(SimpleGameEnvironment()) == ["take it", "attack!"]
    assert talk.trajectory is not None
    assert talk.trajectory.total_reward == 6.0
    assert talk.trajectory.dones == [False, True]
    assert "Score: 1, Inventory: ['item']" in player.heard[1]


def test_a_backend_that_does_not_exist() -> None:
    with pytest.raises(InferenceError, match="vllm, sglang, transformers"):
        create_inference_engine("any", backend="vlm")


@pytest.mark.skipif(importlib.util.find_spec("sglang") is not None, reason="sglang is installed")
def test_a_backend_that_is_not_installed() -> None:
    with pytest.raises(InferenceError, match="pip install sglang"):
        create_inference_engine("any", backend="sglang")


@pytest.mark.vllm_cpu
@pytest.mark.timeout(300)
def test_vllm_answers_as_transformers_does(model: Path, engine: Any) -> None:
    pytest.importorskip("vllm", reason="vllm is not installed")
    size = {"max_model_len": 256, "max_num_seqs": 4, "gpu_memory_utilization": 0.1, "kv_cache_memory_bytes": 1 << 24}
    vllm = create_inference_engine(str(model), "vllm", {"dtype": "float32", "enforce_eager": True, **size})
    prompts = ["Hello, how are you?", "say 5"]
    expected = engine.generate(prompts, max_tokens=8, temperature=0)
    assert (vllm.generate(prompts, max_tokens=8, temperature=0).tokens == expected.tokens).all()
