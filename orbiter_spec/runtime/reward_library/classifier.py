"""A discriminative reward model as one part among others: the model that verl serves beside the run gives the score.

The question is the one that verl asks when it scores alone (`RewardLoopWorker.compute_score_disrm`): the conversation
in the reward model's own template, sent to `/classify` of vLLM or `/v1/embeddings` of SGLang; the score is the last
number that comes back. It has no fixed range: `normalize: sigmoid` or `running` brings it beside other parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import CallError
from .settings import Settings
from .web import Server, UnusableError

_SERVER = Server("reward_model", at_once=256, seconds=600.0, tries=6)


async def reward_model(
    response: str,
    prompt: Any,
    settings: Settings,
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
) -> dict[str, float]:
    """The reward model's score of the conversation, and `tries`."""
    if reward_router_address is None or settings.model is None:
        raise CallError("asks for a reward model, and none runs beside this function; declare rewards.model")
    if prompt is None:
        raise CallError("needs the prompt, and the row's extra_info has none")
    engine, model = settings.model.get("engine"), settings.model.get("path")
    said = conversation(prompt, response, reward_model_tokenizer)
    if engine == "vllm":
        path, body, read = "classify", {"model": model, "input": said, "use_activation": False}, _probabilities
    elif engine == "sglang":
        path, body, read = "v1/embeddings", {"model": model, "input": said}, _embedding
    else:
        raise CallError(f"asks a reward model of engine {engine}, which gives no scores; use vllm or sglang")
    reply = await _SERVER.ask(f"http://{reward_router_address}/{path}", body, read)
    return {"score": reply.value, "tries": float(reply.tries)}


def conversation(prompt: Any, response: str, tokenizer: Any) -> str:
    """Prompt and response in the reward model's template, without the start token that its server adds."""
    chat = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(turn) for turn in prompt]
    chat.append({"role": "assistant", "content": response})
    text = str(tokenizer.apply_chat_template(chat, add_generation_prompt=False, tokenize=False))
    return text.removeprefix(tokenizer.bos_token) if tokenizer.bos_token else text


def _probabilities(answer: Any) -> float:
    return _last(answer, "probs")


def _embedding(answer: Any) -> float:
    return _last(answer, "embedding")


def _last(answer: Mapping[str, Any], field: str) -> float:
    try:
        return float(answer["data"][-1][field][-1])
    except (KeyError, IndexError, TypeError, ValueError):
        raise UnusableError(f"answered without data[-1].{field}[-1]") from None
