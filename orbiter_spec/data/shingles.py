"""MinHash signatures of texts, by rensa: what near-duplicates are found by.

A text is the set of its runs of words, in lower case; two are as similar as the Jaccard coefficient of their sets,
which the share of equal slots in two signatures estimates (Broder, 1997) with a standard error of
sqrt(s (1 - s) / SLOTS): 0.027 at 0.9. Words are what stands between spaces: punctuation and digits count, because sums
that differ in one sign are different questions. Text that has no spaces, such as Chinese, is taken by characters.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

SLOTS = 128
SIGNATURE_BYTES = SLOTS * 4
HASH_SEED = 42
LONG_WORD = 24
"""Characters; where words are longer on average there are no words, and characters stand for them."""


def signatures(texts: Iterable[str], shingle_words: int) -> list[bytes]:
    """The signature of each text, `SIGNATURE_BYTES` long. Raises ImportError without rensa."""
    from rensa import RMinHash

    made = []
    for text in texts:
        sketch = RMinHash(SLOTS, HASH_SEED)
        sketch.update(shingles(text, shingle_words))
        made.append(array("I", sketch.digest()).tobytes())
    return made


def shingles(text: str, size: int) -> list[str]:
    """Runs of `size` words; the whole text where it has fewer."""
    words = text.lower().split()
    if len(text) > LONG_WORD * max(1, len(words)):
        words, size = list("".join(words)), size + 2
    if len(words) <= size:
        return [" ".join(words)]
    if size == 3:
        return [f"{a} {b} {c}" for a, b, c in zip(words, words[1:], words[2:], strict=False)]
    return [" ".join(words[start : start + size]) for start in range(len(words) - size + 1)]
