"""Prompts in tokens, as verl counts them: the chat template with a generation prompt, then the tokenizer.

verl's RLHFDataset calls `apply_chat_template(messages, add_generation_prompt=True)` row by row. Here messages are
rendered the same way and a batch of texts is tokenised at once. transformers is needed: it knows which class reads a
tokenizer's folder, and counts would not be verl's without that. Images count as their placeholders.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from orbiter_spec.data.request import TokenizerRequest
from orbiter_spec.data.tiny_model import NAME as BUILTIN
from orbiter_spec.data.tiny_model import write_tiny_model
from orbiter_spec.data.word_counts import WordCounts, word_counts

Messages = Sequence[dict[str, str]]
FEW_TEXTS = 500
"""So many are tokenised whole; for more it pays to learn how the tokenizer cuts them."""


class TokenizerError(Exception):
    """A tokenizer that cannot be loaded, or a chat template that fails; `id` is that of the finding."""

    def __init__(self, message: str, *, id: str, note: str = "", help: str = "") -> None:
        super().__init__(message)
        self.id, self.note, self.help = id, note, help


class PromptMeter:
    """A tokenizer with its chat template. It is loaded when something is measured."""

    def __init__(self, request: TokenizerRequest) -> None:
        self.request = request
        self._counted = 0

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers. Raises `TokenizerError`."""
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
        try:
            from transformers import AutoTokenizer
        except ImportError:
            raise TokenizerError(
                "prompts cannot be measured without transformers", id="ORB446", help="pip install 'orbiter-spec[cpu]'"
            ) from None
        folder = self.request.name
        made = Path(tempfile.mkdtemp(prefix="tokenizer-")) if folder == BUILTIN else None
        try:
            if made is not None:
                write_tiny_model(made)
            loaded = AutoTokenizer.from_pretrained(
                str(made or folder), trust_remote_code=self.request.trust_remote_code
            )
        except Exception as error:  # whatever a broken folder or an absent network raises
            help = "name a local folder with a tokenizer, or a repository that can be reached"
            raise TokenizerError(
                f"tokenizer of {folder} cannot be loaded", id="ORB446", note=_said(error), help=help
            ) from None
        finally:
            if made is not None:
                shutil.rmtree(made, ignore_errors=True)
        if self.request.chat_template is not None:
            loaded.chat_template = self.request.chat_template
        return loaded

    def texts(self, prompts: Sequence[Messages], *, generation: bool = True) -> list[str]:
        """What the model reads. Raises `TokenizerError` when the chat template cannot render some prompt."""
        try:
            rendered: list[str] = self.tokenizer.apply_chat_template(
                list(prompts),
                tokenize=False,
                add_generation_prompt=generation,
                **self.request.chat_template_args,
            )
            return rendered
        except TokenizerError:
            raise
        except Exception as error:  # whatever the template raises
            raise TokenizerError(
                "chat template fails", id="ORB447", note=_said(error), help="agent.model.chat_template sets another one"
            ) from None

    def count(self, prompts: Sequence[Messages]) -> list[int]:
        """Tokens of each prompt. Raises `TokenizerError`."""
        return self.count_texts(self.texts(prompts))

    def count_texts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of texts as they are, without special tokens added."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None:
            return [len(ids) for ids in self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]]
        self._counted += len(texts)
        if self._counted > FEW_TEXTS and self._by_words is not None:
            return self._by_words.count(texts)
        return [len(encoding) for encoding in backend.encode_batch_fast(list(texts), add_special_tokens=False)]

    @cached_property
    def _by_words(self) -> WordCounts | None:
        return word_counts(self.tokenizer.backend_tokenizer)

    def cut(self, text: str, tokens: int, side: str) -> str:
        """`text` without its first (`left`) or last (`right`) `tokens` tokens, cut between characters."""
        offsets = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        if tokens >= len(offsets):
            return ""
        return text[offsets[tokens][0] :] if side == "left" else text[: offsets[len(offsets) - tokens - 1][1]]


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
