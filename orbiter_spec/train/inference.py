"""Text out of a model, in batches and in conversations, over the engines that train: vLLM, SGLang, transformers.

Each engine is loaded when it is asked for and does all the work; what stands here gives the three one signature, so
that an environment can be played with a model before and after training. Training itself generates inside verl and
uses none of this.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from orbiter_spec.train.inference_output import InferenceOutput, stack

if TYPE_CHECKING:
    from orbiter_spec.train.environments import Trajectory

Message = dict[str, str]
BACKENDS = ("vllm", "sglang", "transformers")
"""Named as their packages are."""


class InferenceError(RuntimeError):
    """An engine cannot be made or used; the message says what is missing."""


class InferenceEngine(Protocol):
    """What the three engines have in common. `tokenizer` is the transformers tokenizer of the model."""

    tokenizer: Any

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 256, temperature: float = 1.0, top_p: float = 1.0
    ) -> InferenceOutput:
        """One answer to each prompt, in tokens at most `max_tokens`; temperature 0 is greedy."""


def create_inference_engine(
    model_path: str, backend: str = "transformers", config: Mapping[str, Any] | None = None
) -> InferenceEngine:
    """An engine for the model at `model_path` (folder or repository).

    `config` knows `dtype`, `tensor_parallel_size`, `max_model_len` (tokens), `trust_remote_code` and `device`
    (transformers only); further names go to the engine as they are.

    Raises:
        InferenceError: for a backend that does not exist or is not installed.
    """
    if backend not in BACKENDS:
        raise InferenceError(f"no backend is called {backend!r}; there are {', '.join(BACKENDS)}")
    if importlib.util.find_spec(backend) is None:
        raise InferenceError(f"backend {backend} is not installed: pip install {backend}")
    from orbiter_spec.train import inference_backends

    engine: InferenceEngine = inference_backends.ENGINES[backend](model_path, dict(config or {}))
    return engine


@dataclass
class BatchInferenceManager:
    """Splits long lists of prompts into batches that an engine holds; answers keep the order of the prompts."""

    engine: InferenceEngine
    batch_size: int = 32

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise InferenceError(f"batch_size must be at least 1, not {self.batch_size}")

    def generate_batch(self, prompts: Sequence[str], **sampling: Any) -> InferenceOutput:
        """One answer to each prompt; `sampling` is that of `InferenceEngine.generate`."""
        starts = range(0, len(prompts), self.batch_size)
        parts = [self.engine.generate(prompts[start : start + self.batch_size], **sampling) for start in starts]
        if not parts:
            return self.engine.generate([], **sampling)
        return InferenceOutput(
            [text for part in parts for text in part.sequences],
            stack([row for part in parts for row in part.tokens.tolist()], parts[0].pad_id),
            parts[0].pad_id,
        )


@dataclass
class MultiTurnInferenceEngine:
    """A conversation with a model, rendered by the model's own chat template.

    `messages` are what was said so far, with `role` and `content`. Turns count the model's answers.
    """

    engine: InferenceEngine
    max_turns: int = 5
    system_prompt: str | None = None
    messages: list[Message] = field(default_factory=list)
    turns: int = 0
    trajectory: Trajectory | None = None

    def start_conversation(self, initial_prompt: str) -> None:
        """Forget what was said and begin with the user's words."""
        self.messages = [{"role": "system", "content": self.system_prompt}] if self.system_prompt else []
        self.turns = 0
        self.add_observation(initial_prompt)

    def add_observation(self, text: str) -> None:
        """What the user, or the environment, says next."""
        self.messages.append({"role": "user", "content": text})

    def format_conversation(self) -> str:
        """The text that the model goes on with."""
        text = self.engine.tokenizer.apply_chat_template(self.messages, tokenize=False, add_generation_prompt=True)
        return str(text)

    def step(self, **sampling: Any) -> str:
        """The model's next answer, which becomes part of the conversation.

        Raises:
            InferenceError: before a conversation was started, or after `max_turns` answers.
        """
        if not self.messages:
            raise InferenceError("start a conversation first: start_conversation(initial_prompt)")
        if self.turns >= self.max_turns:
            raise InferenceError(f"the conversation has had its {self.max_turns} turns")
        answer = self.engine.generate([self.format_conversation()], **sampling).sequences[0]
        self.messages.append({"role": "assistant", "content": answer})
        self.turns += 1
        return answer

    def run_episode(
        self, environment: Any, initial_prompt: str | None = None, max_turns: int | None = None, **sampling: Any
    ) -> list[str]:
        """Play `environment` to its end or to `max_turns`, and return what the model wrote.

        `environment` has `reset` and `step` as in `BaseEnvironment`; its first observation follows `initial_prompt`.
        `trajectory` then holds the episode.
        """
        from orbiter_spec.train.environments import Trajectory

        seen = str(environment.reset())
        played = self.trajectory = Trajectory()
        self.start_conversation(f"{initial_prompt}\n{seen}" if initial_prompt else seen)
        for _ in range(min(max_turns or self.max_turns, self.max_turns)):
            action = self.step(**sampling)
            following, reward, done, _info = environment.step(action)
            played.append(seen, action, float(reward), bool(done))
            if done:
                break
            seen = str(following)
            self.add_observation(seen)
        return list(played.actions)
