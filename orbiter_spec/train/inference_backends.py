"""The engines behind `create_inference_engine`, each in its own words. Loaded only when one is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orbiter_spec.train.inference_output import InferenceOutput, stack


class VllmEngine:
    """vLLM's offline engine (https://docs.vllm.ai, `vllm.LLM`)."""

    def __init__(self, model_path: str, config: dict[str, Any]) -> None:
        from vllm import LLM

        self._engine = LLM(model=model_path, **config)
        self.tokenizer = self._engine.get_tokenizer()

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 256, temperature: float = 1.0, top_p: float = 1.0
    ) -> InferenceOutput:
        """One answer to each prompt."""
        from vllm import SamplingParams

        sampling = SamplingParams(max_tokens=max_tokens, temperature=temperature, top_p=top_p)
        answers = [one.outputs[0] for one in self._engine.generate(list(prompts), sampling, use_tqdm=False)]
        return _output([one.text for one in answers], [list(one.token_ids) for one in answers], self.tokenizer)


class SglangEngine:
    """SGLang's offline engine (https://docs.sglang.ai, `sglang.Engine`), which has other names for some settings."""

    NAMES: Mapping[str, str] = {"tensor_parallel_size": "tp_size", "max_model_len": "context_length"}

    def __init__(self, model_path: str, config: dict[str, Any]) -> None:
        import sglang
        from transformers import AutoTokenizer

        named = {self.NAMES.get(name, name): value for name, value in config.items()}
        self._engine = sglang.Engine(model_path=model_path, **named)
        self.tokenizer = AutoTokenizer.from_pretrained(
            model_path, trust_remote_code=bool(config.get("trust_remote_code"))
        )

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 256, temperature: float = 1.0, top_p: float = 1.0
    ) -> InferenceOutput:
        """One answer to each prompt."""
        sampling = {"max_new_tokens": max_tokens, "temperature": temperature, "top_p": top_p}
        answers = self._engine.generate(list(prompts), sampling) if prompts else []
        return _output([one["text"] for one in answers], [list(one["output_ids"]) for one in answers], self.tokenizer)


class TransformersEngine:
    """transformers' own `generate`; prompts of a batch are filled up on the left."""

    def __init__(self, model_path: str, config: dict[str, Any]) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        trust = bool(config.pop("trust_remote_code", False))
        device = config.pop("device", "cuda" if torch.cuda.is_available() else "cpu")
        config.pop("tensor_parallel_size", None)
        self._longest = config.pop("max_model_len", None)
        self.tokenizer = AutoTokenizer.from_pretrained(model_path, trust_remote_code=trust, padding_side="left")
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        model = AutoModelForCausalLM.from_pretrained(model_path, trust_remote_code=trust, **config)
        self._model = model.to(device).eval()

    def generate(
        self, prompts: Sequence[str], *, max_tokens: int = 256, temperature: float = 1.0, top_p: float = 1.0
    ) -> InferenceOutput:
        """One answer to each prompt."""
        if not prompts:
            return _output([], [], self.tokenizer)
        limit = {} if self._longest is None else {"truncation": True, "max_length": self._longest - max_tokens}
        batch = self.tokenizer(list(prompts), return_tensors="pt", padding=True, add_special_tokens=False, **limit)
        drawn = {"temperature": temperature, "top_p": top_p, "top_k": 0} if temperature > 0 else {}
        given = {name: batch[name].to(self._model.device) for name in ("input_ids", "attention_mask")}
        ids = self._model.generate(
            **given,
            max_new_tokens=max_tokens,
            do_sample=temperature > 0,
            pad_token_id=self.tokenizer.pad_token_id,
            **drawn,
        )
        rows = [self._answer(row) for row in ids[:, given["input_ids"].shape[1] :].tolist()]
        return _output(self.tokenizer.batch_decode(rows, skip_special_tokens=True), rows, self.tokenizer)

    def _answer(self, row: list[int]) -> list[int]:
        """`row` up to its first token that ends an answer, that token included."""
        ends = self._model.generation_config.eos_token_id
        stops = set(ends if isinstance(ends, list) else [ends])
        end = next((index for index, token in enumerate(row) if token in stops), len(row) - 1)
        return row[: end + 1]


def _output(texts: list[str], rows: list[list[int]], tokenizer: Any) -> InferenceOutput:
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    return InferenceOutput(texts, stack(rows, int(pad)), int(pad))


ENGINES: Mapping[str, Callable[[str, dict[str, Any]], Any]] = {
    "vllm": VllmEngine,
    "sglang": SglangEngine,
    "transformers": TransformersEngine,
}
