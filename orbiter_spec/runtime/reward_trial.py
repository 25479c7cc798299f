"""The program behind `rewards test`: users' functions run here, and never in the command's own process.

It loads reward.py of a folder as verl does and scores the answers of a JSON file, one line of JSON on the standard
output for each. What users' functions print goes to the standard error. Parts that would end a run only report.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import os
import sys
from pathlib import Path
from typing import Any, TextIO


def main(folder: Path, answers: Path) -> None:
    """Score every answer of the file `answers` with the rewards of `folder`."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    todo = json.loads(answers.read_text(encoding="utf-8"))
    try:
        module = _load(folder / "reward.py")
    except BaseException as error:
        _say(out, {"failed": str(error.__cause__ or error)})
        return
    scorer = module._library().scorer(str(folder))
    for part in scorer.parts:
        part.on_error = "skip" if part.on_error == "stop" else part.on_error
        part.error_limit = math.inf
    _say(out, {"parts": [part.name for part in scorer.parts]})
    asyncio.run(_score_all(module, scorer, todo["answers"], todo["at_once"], out))
    out.flush()
    os._exit(0)  # a function that never returns would keep its thread, and this program


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("orbiter_reward_trial", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def _score_all(module: Any, scorer: Any, answers: list[dict[str, Any]], at_once: int, out: TextIO) -> None:
    turns = asyncio.Semaphore(at_once)

    async def one(index: int, answer: dict[str, Any]) -> None:
        async with turns:
            sample = module._sample(
                answer["data_source"], answer["response"], answer["ground_truth"], dict(answer["extra_info"])
            )
            total, outcomes = await asyncio.to_thread(scorer.outcomes, sample)
            parts = {
                name: {
                    "value": outcome.value,
                    "raw": outcome.raw,
                    "counted": outcome.counted,
                    "seconds": outcome.seconds,
                    "error": outcome.error,
                }
                for name, outcome in outcomes.items()
            }
            _say(out, {"index": index, "total": total, "parts": parts})

    await asyncio.gather(*(one(index, answer) for index, answer in enumerate(answers)))


def _say(out: TextIO, record: dict[str, Any]) -> None:
    out.write(json.dumps(record) + "\n")
    out.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
