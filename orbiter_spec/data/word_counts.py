"""Tokens of a text as the sum over its words, each looked up once: several times as fast as tokenising it whole.

Byte-pair tokenizers cut a text into pieces by a fixed pattern and merge inside a piece only. With the patterns listed
here a piece always begins at a space that follows something else than white space, and special tokens are cut out
first; so what stands between such places can be counted by itself, and words come again and again. The sum is exact,
and only offered where the tokenizer's own description says that this holds; `None` otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

KEPT_PIECES = 200_000
KEPT_CHARACTERS = 64
"""Longer pieces seldom come again."""

_TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_HEAD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
PATTERNS: Final = frozenset((_HEAD + r"\p{N}" + _TAIL, _HEAD + r"\p{N}{1,3}" + _TAIL))
"""Of Qwen 2 to 3 and of Llama 3; GPT-2's, which `ByteLevel` has built in, is the third."""


def word_counts(backend: Any) -> WordCounts | None:
    """A counter for a tokenizer of the `tokenizers` library, or None where a sum over words need not be exact."""
    described: dict[str, Any] = json.loads(backend.to_str())
    tokens = described.get("added_tokens") or []
    model = described.get("model") or {}
    plain = model.get("type") == "BPE" and not any(
        model.get(name) for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix")
    )
    normal = (described.get("normalizer") or {"type": "NFC"}) == {"type": "NFC"}
    unpadded = described.get("truncation") is None and described.get("padding") is None
    if plain and normal and unpadded and _cuts_at_words(described.get("pre_tokenizer")) and all(map(_is_plain, tokens)):
        return WordCounts(backend, [token["content"] for token in tokens])
    return None


def _cuts_at_words(found: Any) -> bool:
    parts = found.get("pretokenizers") if (found or {}).get("type") == "Sequence" else [found or {}]
    *splits, last = parts or [{}]
    if last.get("type") != "ByteLevel" or last.get("add_prefix_space"):
        return False
    if not splits:
        return bool(last.get("use_regex", True))
    (first, *more) = splits
    listed = first.get("type") == "Split" and (first.get("pattern") or {}).get("Regex") in PATTERNS
    kept = first.get("behavior") == "Isolated" and not first.get("invert")
    return listed and kept and not more and not last.get("use_regex", True)


def _is_plain(token: dict[str, Any]) -> bool:
    """Whether an added token is cut out wherever it stands, and takes nothing beside it along."""
    odd = any(token.get(name) for name in ("single_word", "lstrip", "rstrip", "normalized"))
    return not odd and bool(token.get("content"))


class WordCounts:
    """Counts by pieces. Whole parts, pieces that begin one, and words that follow a space are kept apart."""

    def __init__(self, backend: Any, special: Sequence[str]) -> None:
        self._backend = backend
        longest_first = sorted(special, key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, longest_first))) if special else None
        self._forget()

    def _forget(self) -> None:
        self._whole: dict[str, int] = {"": 0}
        self._first: dict[str, int] = {"": 0}
        self._later: dict[str, int] = {}

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens added."""
        counted = [self._known(text) for text in texts]
        missing = [text for text, count in zip(texts, counted, strict=True) if count is None]
        if missing:
            self._learn(missing)
            rest = iter([self._sum(text) for text in missing])
            counted = [next(rest) if count is None else count for count in counted]
        return counted  # type: ignore[return-value]

    def _known(self, text: str) -> int | None:
        """The sum, where each piece is at hand and begins where a piece must."""
        parts = self._parts(text)
        total = len(parts) - 1
        try:
            for part in parts:
                if part in self._whole:
                    total += self._whole[part]
                    continue
                first, *later = part.split(" ")
                total += self._first[first] + sum(map(self._later.__getitem__, later))
        except KeyError:
            return None
        return total

    def _sum(self, text: str) -> int:
        parts = self._parts(text)
        cut = [piece for part in parts for piece in pieces(part)]
        counts = [self._whole.get(piece) for piece in cut]
        rest = self._tokens([piece for piece, count in zip(cut, counts, strict=True) if count is None])
        return len(parts) - 1 + sum(count for count in counts if count is not None) + sum(rest)

    def _learn(self, texts: Sequence[str]) -> None:
        found = {piece for text in texts for part in self._parts(text) for piece in pieces(part)}
        new = sorted(piece for piece in found if len(piece) <= KEPT_CHARACTERS and self._whole.get(piece) is None)
        if len(self._whole) + len(self._later) + len(new) > KEPT_PIECES:
            self._forget()
        for piece, count in zip(new, self._tokens(new), strict=True):
            self._whole[piece] = count
            if _is_word(piece):
                self._first[piece] = count
            elif piece[0] == " " and _is_word(piece[1:]):
                self._later[piece[1:]] = count

    def _parts(self, text: str) -> list[str]:
        return self._special.split(text) if self._special is not None else [text]

    def _tokens(self, texts: Sequence[str]) -> list[int]:
        encoded = self._backend.encode_batch_fast(list(texts), add_special_tokens=False) if texts else []
        return [len(one) for one in encoded]


def pieces(part: str) -> list[str]:
    """A part cut before each space that does not follow white space; joined they are the part."""
    first, *later = part.split(" ")
    found = [first]
    for word in later:
        if found[-1] and not found[-1][-1].isspace():
            found.append(f" {word}")
        else:
            found[-1] += f" {word}"
    return found


def _is_word(text: str) -> bool:
    """Whether a text is a piece, or the rest of one after its space, wherever it stands between two spaces."""
    return bool(text) and " " not in text and not text[-1].isspace()
