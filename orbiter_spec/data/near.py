"""Which of many texts are nearly the same as an earlier one: locality-sensitive hashing on disk.

Signatures are cut into bands; texts that agree in a whole band are compared (Leskovec, Rajaraman, Ullman: Mining of
Massive Datasets, 3.4). The longest bands are taken with which two texts at the threshold are missed at most once in a
hundred times. Signatures and band hashes lie in files, and one band is sorted at a time: memory grows by some 30 bytes
a text, where an index in memory takes more than a thousand.

Comparing is in the order of the texts: a text goes when it is similar to an earlier one that stays. In a band where
many agree, each is compared with the first of them and with the `NEIGHBOURS` before it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from orbiter_spec.data.shingles import SIGNATURE_BYTES, SLOTS

MISSED = 0.01
NEIGHBOURS = 4
COMPARED_AT_ONCE = 16_384


def rows_in_band(threshold: float) -> int:
    """Slots of a band: 1 - (1 - t^r)^b is the chance that two texts of similarity t share one of b bands."""
    fitting = [size for size in range(1, SLOTS + 1) if (1 - threshold**size) ** (SLOTS // size) <= MISSED]
    return max(fitting, default=1)


class NearIndex:
    """Signatures of texts in order. Use `add`, then `duplicates`."""

    def __init__(self, folder: Path, threshold: float) -> None:
        self._folder, self._threshold = folder, threshold
        self._size = rows_in_band(threshold)
        self._bands = SLOTS // self._size
        self._signatures: BinaryIO = (folder / "signatures").open("wb")
        self._keys: list[BinaryIO] = [(folder / f"band-{band:03}").open("wb") for band in range(self._bands)]
        self.texts = 0

    def add(self, signatures: list[bytes]) -> None:
        """Take the signatures of the next texts. Raises OSError when the disk is full."""
        import numpy

        block = b"".join(signatures)
        self._signatures.write(block)
        slots = numpy.frombuffer(block, dtype=numpy.uint32).reshape(len(signatures), SLOTS)
        for band, stream in enumerate(self._keys):
            stream.write(_keys(slots[:, band * self._size : (band + 1) * self._size]).tobytes())
        self.texts += len(signatures)

    def duplicates(self) -> Any:
        """For each text whether an earlier one that stays is similar, as a numpy array of bool."""
        import numpy

        self.close()
        dropped = numpy.zeros(self.texts, dtype=bool)
        for later, earlier in self._similar(self._candidates()):
            if not dropped[earlier]:
                dropped[later] = True
        return dropped

    def close(self) -> None:
        """Close the files; the folder is the caller's."""
        for stream in (self._signatures, *self._keys):
            stream.close()

    def _candidates(self) -> Any:
        """Pairs that share a band as later * 2**32 + earlier, sorted, each once."""
        import numpy

        pairs = numpy.zeros(0, dtype=numpy.uint64)
        for band in range(self._bands):
            keys = numpy.fromfile(self._folder / f"band-{band:03}", dtype=numpy.uint64)
            pairs = numpy.union1d(pairs, _pairs(keys))
        return pairs

    def _similar(self, pairs: Any) -> list[tuple[int, int]]:
        """The pairs whose signatures agree often enough, in order."""
        import numpy

        similar: list[tuple[int, int]] = []
        wanted = round(self._threshold * SLOTS)
        with (self._folder / "signatures").open("rb") as stream:
            for start in range(0, len(pairs), COMPARED_AT_ONCE):
                part = pairs[start : start + COMPARED_AT_ONCE]
                later, earlier = part >> numpy.uint64(32), part & numpy.uint64(0xFFFFFFFF)
                equal = (_read(stream, later) == _read(stream, earlier)).sum(axis=1) >= wanted
                similar += zip(later[equal].tolist(), earlier[equal].tolist(), strict=True)
        return similar


def _keys(slots: Any) -> Any:
    """One number of 64 bits for each row of slots, by a polynomial over an odd constant."""
    import numpy

    keys = numpy.full(len(slots), 0x9E3779B97F4A7C15, dtype=numpy.uint64)
    for column in slots.T:
        keys = (keys ^ column) * numpy.uint64(0xD6E8FEB86659FD93)
        keys ^= keys >> numpy.uint64(32)
    return keys


def _pairs(keys: Any) -> Any:
    """Positions with equal keys: each with the first of its kind and with its neighbours before it."""
    import numpy

    order = numpy.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = numpy.flatnonzero(numpy.concatenate(([True], ordered[1:] != ordered[:-1])))
    first = numpy.repeat(starts, numpy.diff(numpy.append(starts, len(ordered))))
    places = numpy.arange(len(ordered))
    found = []
    for back in range(1, NEIGHBOURS + 1):
        inside = places - back >= first
        found.append((order[inside], order[places[inside] - back]))
    far = places - NEIGHBOURS > first
    found.append((order[far], order[first[far]]))
    shift = numpy.uint64(32)
    joined = [later.astype(numpy.uint64) << shift | earlier.astype(numpy.uint64) for later, earlier in found]
    return numpy.unique(numpy.concatenate(joined))


def _read(stream: BinaryIO, positions: Any) -> Any:
    """Signatures at these positions, read where they lie."""
    import os

    import numpy

    handle = stream.fileno()
    block = b"".join(os.pread(handle, SIGNATURE_BYTES, position * SIGNATURE_BYTES) for position in positions.tolist())
    return numpy.frombuffer(block, dtype=numpy.uint32).reshape(len(positions), SLOTS)
