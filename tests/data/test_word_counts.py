from __future__ import annotations

import random
from typing import Any

import pytest

from orbiter_spec.data.word_counts import PATTERNS, pieces, word_counts

tokenizers = pytest.importorskip("tokenizers")

TEXTS = ["it's 12 (x + 3)  = y\n\n  foo_bar the the éa\u0301 中文字", "the answer is 42, isn't it?"] * 50
PARTS = ["a", "The", "é", "a\u0301", "\u0301", "中", " ", " ", " ", "  ", "\n", "\r", "\t", "\u00a0", "\u2003", "\x1c"]
PARTS += ["\u200b", "1", "23", "²", "'s", "'", "(", "!", "_", "<|start|>", "<|end|>", "<|en|>", "<|en", "\u2028", "🙂"]


def trained(pattern: str | None, *, nfc: bool = False, token: dict[str, Any] | None = None) -> Any:
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    if nfc:
        made.normalizer = normalizers.NFC()
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    cut = [] if pattern is None else [pre_tokenizers.Split(Regex(pattern), "isolated")]
    made.pre_tokenizer = pre_tokenizers.Sequence([*cut, level]) if cut else level
    letters = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=400, initial_alphabet=letters, show_progress=False))
    plain = {"normalized": False, **(token or {})}
    made.add_special_tokens([AddedToken(text, **plain) for text in ("<|start|>", "<|end|>", "<|en|>")])
    return made


@pytest.mark.parametrize("pattern", [None, *sorted(PATTERNS)])
@pytest.mark.parametrize("nfc", [False, True])
def test_the_sum_over_words_is_what_the_tokenizer_counts(pattern: str | None, nfc: bool) -> None:
    backend = trained(pattern, nfc=nfc)
    counter = word_counts(backend)
    assert counter is not None
    draw = random.Random(1)
    for _ in range(100):
        texts = ["".join(draw.choices(PARTS, k=draw.randrange(14))) for _ in range(20)]
        whole = [len(each) for each in backend.encode_batch_fast(texts, add_special_tokens=False)]
        assert counter.count(texts) == whole


def test_words_that_are_forgotten_are_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = trained(None)
    counter = word_counts(backend)
    assert counter is not None
    monkeypatch.setattr("orbiter_spec.data.word_counts.KEPT_PIECES", 5)
    for text in ("one two three four", "five six seven eight nine", "one two 3 4  5 \n six"):
        assert counter.count([text, text]) == [len(backend.encode(text, add_special_tokens=False))] * 2


@pytest.mark.parametrize(
    "token", [{"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"normalized": True}], ids=str
)
def test_no_sum_where_a_special_token_takes_its_neighbours(token: dict[str, Any]) -> None:
    assert word_counts(trained(None, token=token)) is None


def test_no_sum_for_tokenizers_that_cut_otherwise() -> None:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    assert word_counts(trained(r"\s+\S+")) is None
    assert word_counts(Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))) is None
    made = trained(None)
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    assert word_counts(made) is None
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    assert word_counts(made) is None
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(min(PATTERNS)), "removed"), level])
    assert word_counts(made) is None


def test_pieces_are_the_text() -> None:
    draw = random.Random(2)
    for _ in range(500):
        text = "".join(draw.choices(PARTS, k=12))
        assert "".join(pieces(text)) == text
