"""Rehearses every spec of a folder, one after another, and writes what was seen as a table.

    python scripts/rehearse_all.py                                 # all of specs/, then docs/rehearsals.md
    python scripts/rehearse_all.py specs/dapo-8gpu.yaml --out DIR  # these only; what DIR knows of others stays
    python scripts/rehearse_all.py --only-table --out DIR          # the table again

Each is `orbiter-spec rehearse SPEC`, as a user would type it, in a folder of its own and with a time limit. A spec that
needs what no rehearsal has (images, code of a model that is not here) is said to be refused, with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from orbiter_spec.rehearse.watch import OURS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "rehearsals.md"
GRACE_SECONDS = 30.0
REFUSED = "ORB560"
GOLD = {"gated-product-8gpu": "<think>so</think><answer>{{ expected }}</answer>"}
"""How a right answer looks where it is more than the expected one; the argument of `--gold`."""
EVERY_RUN = {"training", "answers", "entropy", "validation", "checkpoint", "turns", "advantages", "loss"}
EVERY_GPU_SPEC = ("inference engine", "GPUs: memory")
HEAD = """\
# Rehearsals of the examples

Written by `python scripts/rehearse_all.py`: every file of `specs/`, each by `orbiter-spec rehearse FILE` through real
verl on a machine with two cores and no GPU. Seconds are those of the whole command; where they are above 150, the
machine had other work to do at the same time.

In every rehearsal that passed verl trained two steps, validated before and after, saved a whole checkpoint and sent its
weights to the rollout; rewards were tried on known answers, and the probabilities of rollout and trainer were compared.
The table says what else was exercised, and how many of the seconds pass before verl starts (checks, weights, probes).
What only GPUs show is in none: the inference engine of the spec, its memory, its speed and its parallel sizes.

"""


def main() -> int:
    """Rehearse, write the page, and return 1 when a rehearsal failed."""
    asked = _arguments()
    asked.out.mkdir(parents=True, exist_ok=True)
    for spec in [] if asked.only_table else asked.specs or sorted((ROOT / "specs").glob("*.yaml")):
        if asked.missing and (asked.out / f"{spec.stem}.json").is_file():
            continue
        result = rehearse(spec.resolve(), asked.out, asked.seconds)
        _write(asked.out / f"{spec.stem}.json", json.dumps(result, indent=2))
        print(f"{result['spec']}: {result['verdict']} in {result['seconds']:.0f} s", flush=True)
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(asked.out.glob("*.json"))]
    _write(asked.page, HEAD + table(results))
    return int(any(result["verdict"] == "failed" for result in results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("specs", nargs="*", type=Path, help="specs; left out: all of specs/")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "outputs" / "rehearsals", help="folder of run folders and results"
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="the page that is written")
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit of one rehearsal")
    parser.add_argument("--missing", action="store_true", help="only specs without a result in the folder")
    parser.add_argument("--only-table", action="store_true", help="write the page from the results that are there")
    return parser.parse_args()


def rehearse(spec: Path, out: Path, limit: float) -> dict[str, Any]:
    """The result of one rehearsal."""
    command = [sys.executable, "-m", "orbiter_spec", "rehearse", str(spec), "--format", "json"]
    command += ["--gold", GOLD[spec.stem]] if spec.stem in GOLD else []
    log, started = out / f"{spec.stem}.log", time.monotonic()
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [*command, "--set", f"run.output={out}"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        printed, ended = _wait(process, limit)
    found = _content(printed)
    verdict = "failed" if not ended else _verdict(process.returncode, found)
    findings = [f"{one['id']} {one['message']}: {one['note']}" for one in found.get("findings", [])]
    if not found and ended:
        findings = [line.split("]: ")[-1] for line in log.read_text(encoding="utf-8").splitlines() if "[ORB" in line]
    return {
        "spec": spec.stem,
        "verdict": verdict,
        "seconds": time.monotonic() - started,
        "findings": findings if ended else [*findings, f"no end within {limit:.0f} s"],
        "seen": found,
    }


def _wait(process: subprocess.Popen[str], limit: float) -> tuple[str, bool]:
    """What was printed, and whether it ended by itself; else it is stopped as by Ctrl-C, so that Ray ends too."""
    try:
        return process.communicate(timeout=limit)[0], True
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
    try:
        return process.communicate(timeout=GRACE_SECONDS)[0], False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], False


def _content(printed: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(printed)
    except ValueError:
        found = {}
    return found


def _verdict(code: int, found: dict[str, Any]) -> str:
    if code == 0 and found.get("passed"):
        return "passed"
    return "refused" if any(one["id"] == REFUSED for one in found.get("findings", [])) else "failed"


def table(results: Iterable[dict[str, Any]]) -> str:
    """The page's tables, passed ones first."""
    results = list(results)
    passed = [result for result in results if result["verdict"] == "passed"]
    lines = [f"{len(passed)} of {len(results)} passed.", ""]
    lines += [
        "| Spec | Seconds | Before verl | Also exercised | Rewards of the random model | Not exercised | Findings |"
    ]
    lines += ["| --- | ---: | ---: | --- | --- | --- | --- |", *(_row(result) for result in passed)]
    others = [result for result in results if result["verdict"] != "passed"]
    if others:
        lines += ["", "| Spec | Verdict | Why |", "| --- | --- | --- |"]
        lines += [f"| {one['spec']} | {one['verdict']} | {_cell(one['findings'])} |" for one in others]
    return "\n".join(lines) + "\n"


def _row(result: dict[str, Any]) -> str:
    seen = result["seen"]
    shown = [one["part"] for one in seen["exercised"] if one["part"] not in EVERY_RUN]
    shown += [f"{len(seen['episodes'])} episodes played"] if seen["episodes"] else []
    shown += [f"tool {one['tool']}" for one in seen["tool_calls"]]
    rewards = [f"{one['name']} {one['low']:.2g} to {one['high']:.2g}" for one in seen["rewards"]]
    left = [one["what"] for one in seen["not_exercised"] if not any(word in one["what"] for word in EVERY_GPU_SPEC)]
    cells = (dict.fromkeys(shown), rewards, left, result["findings"])
    ours = sum(seen["seconds_in_all"].get(phase, 0.0) for phase in OURS)
    return f"| {result['spec']} | {result['seconds']:.0f} | {ours:.0f} | {' | '.join(map(_cell, cells))} |"


def _cell(items: Iterable[str]) -> str:
    return "; ".join(str(item).replace("|", "\\|").replace(str(ROOT), "").replace("\n", " ") for item in items)


def _write(path: Path, text: str) -> None:
    stage = path.with_name(f".{path.name}.new")
    stage.write_text(text, encoding="utf-8")
    stage.replace(path)


if __name__ == "__main__":
    raise SystemExit(main())
