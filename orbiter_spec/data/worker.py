"""A worker: `python -m orbiter_spec.data.worker` takes pickled batches on standard input and answers on its output.

A process of its own rather than `multiprocessing`: it needs no guard in the user's script, inherits no threads, and
ends when the pipe does, so a build that is killed leaves none behind. What a user's function prints goes to standard
error.
"""

from __future__ import annotations

import gc
import os
import pickle
import struct
import sys
from typing import Any, BinaryIO

LENGTH = struct.Struct("<Q")


def send(stream: BinaryIO, payload: bytes) -> None:
    """Write one message."""
    stream.write(LENGTH.pack(len(payload)))
    stream.write(payload)
    stream.flush()


def receive(stream: BinaryIO) -> bytes | None:
    """The next message, or None when there are no more."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    payload = stream.read(length)
    return payload if len(payload) == length else None


def _answer(work: Any, payload: bytes) -> Any:
    from orbiter_spec.data.blocks import NotPlainError
    from orbiter_spec.data.pipeline import StepError

    try:
        return work(pickle.loads(payload))
    except (StepError, NotPlainError) as error:
        return error


def main() -> None:
    """The first message is the search path, what makes the work and its arguments; every other one a piece of it."""
    gc.set_threshold(100_000, 20, 20)  # rows are plain values: looking for cycles in every batch finds none
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    first = receive(sys.stdin.buffer)
    if first is None:
        return
    path, setup = pickle.loads(first)
    sys.path[:] = path
    make, given = pickle.loads(setup)
    work = make(*given)
    while (payload := receive(sys.stdin.buffer)) is not None:
        send(answers, pickle.dumps(_answer(work, payload), protocol=pickle.HIGHEST_PROTOCOL))


if __name__ == "__main__":
    main()
