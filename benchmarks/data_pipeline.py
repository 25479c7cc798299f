"""Rows a second of the data pipeline, beside the same job done with the `datasets` library and with Polars by hand.

The job: read JSONL, keep short questions, add a column (map), drop equal and nearly equal rows, keep prompts within a
number of tokens, and write verl's rows. Near-duplicates are planted, so recall and precision are counted. Each way is
a process of its own, and its peak memory is the largest sum over it and its workers. On a machine with other work the
processors' seconds are what compares.

    python benchmarks/data_pipeline.py --rows 1000000 --ways orbiter datasets polars

Two processors shared with other work, load averages of 12 to 17, two workers:

    rows    way       wall s  rows/s  CPU s  rows/CPU s  peak MiB  rows kept
    100000  orbiter    146.9     681   29.9        3341       611      82019
    100000  datasets   359.6     278   84.9        1178       982      82030
    100000  polars      73.1    1368   19.1        5241       306      82030
    200000  orbiter    138.2    1447   36.5        5481       657     164121
    200000  datasets   778.6     257  181.1        1104      1401     164148
    200000  polars      45.0    4443   32.5        6157       501     164148
    1000000 whole      614.3    1628  153.1        6532       731     870472

The same with nothing else running: 100,000 rows in 14.8 s (26.0 CPU s, 678 MiB) beside 47.1 s (63.2 CPU s, 1007 MiB)
of `datasets`, 3.2 times.

Under load it is 2.4 times in wall time and 2.8 times in processor time at 100,000 rows, and 5.6 and 5.0 times at
200,000; the load changed between the ways, so processor time compares better. Some 16 s of the processors are spent
before the first row, mostly on importing transformers in each worker, and do not grow with the rows. Polars keeps
everything in memory and does less: no rows as JSON, no reports, and nothing to go on from when it is killed.

Of these 100,000 rows ours keeps 11 fewer than the others. All 11 are planted near-duplicates whose exact Jaccard
similarity to a row that stays is 0.949 to 0.957, above the threshold of 0.85: the index of rensa, which the others use,
misses them. Compared with a greedy pass by exact similarity over all 86,523 different rows, ours decides every one
rightly; `differences` counts that again (`--differences`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

THRESHOLD = 0.85
LONGEST = 400
TOKENS = 250
PROMPT = "Answer briefly. {{ question }}"
STEP = """
def level(row):
    row["level"] = len(row["question"]) // 100
    return row
"""


TEMPLATES = {
    "texts": ["What are {{ a }} {{ kind }} and {{ b }} {{ kind }} together?", "Take {{ a }} {{ kind }} from {{ b }}."],
    "variables": {
        "a": list(range(1000)),
        "b": list(range(1000)),
        "kind": ["apples", "books", "cups", "keys", "pens"],
    },
    "expected": "together {{ a + b }}",
}


def write_rows(path: Path, count: int) -> None:
    """Rows of 20 to 50 words from 2,000; of a hundred, 3 repeat a row, 5 change one word of one, 10 are too long."""
    draw = random.Random(0)
    words = [f"w{number}" for number in range(2_000)]
    recent: list[str] = []
    with path.open("w", encoding="utf-8") as stream:
        for number in range(count):
            kind, text = "own", " ".join(draw.choices(words, k=draw.randrange(20, 50)))
            luck = draw.random()
            if luck < 0.03 and recent:
                kind, text = "equal", draw.choice(recent)
            elif luck < 0.08 and recent:
                kind, parts = "near", draw.choice(recent).split()
                parts[-1] = "changed"
                text = " ".join(parts)
            elif luck < 0.18:
                text += " and more" * 60
            elif len(text) < LONGEST and len(text.split()) >= 40:
                recent.append(text)
                del recent[:-5000]
            row = {"question": text, "answer": str(number), "kind": kind, "meta": {"source": "made", "n": number}}
            stream.write(json.dumps(row) + "\n")


def write_model(folder: Path) -> None:
    """The tiny model's folder with a byte-pair tokenizer of 4000 tokens, trained on the rows."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    from orbiter_spec.data.tiny_model import CHAT_TEMPLATE

    with (folder / "rows.jsonl").open(encoding="utf-8") as stream:
        texts = [json.loads(line)["question"] for line, _ in zip(stream, range(5000), strict=False)]
    trained = ByteLevelBPETokenizer()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trained.train_from_iterator(texts, vocab_size=4000, special_tokens=special, show_progress=False)
    whole = PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, eos_token=special[2], pad_token=special[0])
    whole.chat_template = CHAT_TEMPLATE
    whole.save_pretrained(folder / "model")


def orbiter(folder: Path, workers: int, *, made: int = 0) -> dict[str, Any]:
    """The steps of a spec's pipeline; with `made`, rows from templates join before the last two."""
    from orbiter_spec.data.cache import cached_build
    from orbiter_spec.data.request import (
        DatasetRequest,
        SourceRequest,
        StepRequest,
        TemplateRequest,
        TokenizerRequest,
    )

    (folder / "steps.py").write_text(STEP, encoding="utf-8")
    steps = (
        StepRequest("filter", {"expression": f"len(question) < {LONGEST}"}),
        StepRequest("function", {"call": "steps.py:level"}),
        *([StepRequest("template", {**TEMPLATES, "rows": made})] if made else []),
        StepRequest("length", {"max": TOKENS}),
        StepRequest("deduplicate", {"threshold": THRESHOLD}),
    )
    request = DatasetRequest(
        (SourceRequest(folder / "rows.jsonl", shown="rows.jsonl"),),
        prompt=TemplateRequest(PROMPT),
        pipeline=steps,
        folder=folder,
        tokenizer=TokenizerRequest(str(folder / "model")),
    )
    result = cached_build(request, folder=folder / "cache", workers=workers)
    assert not result.diagnostics, result.diagnostics
    return {"rows": result.train_rows, "file": str(result.files[0]), "steps": [step.as_json() for step in result.steps]}


def whole(folder: Path, workers: int) -> dict[str, Any]:
    """The same with synthesis from templates, a row for every twenty that are read."""
    with (folder / "rows.jsonl").open("rb") as stream:
        return orbiter(folder, workers, made=sum(1 for _ in stream) // 20)


def by_datasets(folder: Path, workers: int) -> dict[str, Any]:
    """`load_dataset`, then `filter` and `map`, row by row as their documentation does; MinHash from rensa too."""
    import datasets
    from rensa import RMinHash, RMinHashDeduplicator
    from transformers import AutoTokenizer

    datasets.disable_progress_bars()
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    data = datasets.load_dataset("json", data_files=str(folder / "rows.jsonl"), cache_dir=str(folder / "hf"))["train"]
    data = data.filter(lambda row: len(row["question"]) < LONGEST, num_proc=workers)

    def convert(row: dict[str, Any], index: int) -> dict[str, Any]:
        prompt = [{"role": "user", "content": "Answer briefly. " + row["question"]}]
        extra = {"index": index, "fields": json.dumps({**row, "level": len(row["question"]) // 100})}
        return {
            "data_source": "rows",
            "prompt": prompt,
            "reward_model": {"style": "rule", "ground_truth": row["answer"]},
            "extra_info": extra,
        }

    data = data.map(convert, with_indices=True, num_proc=workers)

    def fits(row: dict[str, Any]) -> bool:
        ids = tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, tokenize=True)
        return len(ids["input_ids"] if hasattr(ids, "keys") else ids) <= TOKENS

    data = data.filter(fits, num_proc=workers)
    seen: set[str] = set()

    def new(row: dict[str, Any]) -> bool:
        return not (row["question"] in seen or seen.add(row["question"]))

    data = data.filter(new)
    index = RMinHashDeduplicator(threshold=THRESHOLD, num_perm=128, use_lsh=True)

    def unlike(row: dict[str, Any], number: int) -> bool:
        words = row["question"].lower().split()
        sketch = RMinHash(128, 42)
        sketch.update([f"{a} {b} {c}" for a, b, c in zip(words, words[1:], words[2:], strict=False)])
        return bool(index.add(str(number), sketch))

    data = data.filter(unlike, with_indices=True)
    data.to_parquet(str(folder / "hf.parquet"))
    return {"rows": len(data), "file": str(folder / "hf.parquet")}


def by_polars(folder: Path, workers: int) -> dict[str, Any]:
    """Everything in memory and by columns; near-duplicates by rensa, tokens by the tokenizer in batches."""
    import polars
    from rensa import RMinHashDeduplicator
    from tokenizers import Tokenizer

    del workers
    tokenizer = Tokenizer.from_file(str(folder / "model/tokenizer.json"))
    data = polars.read_ndjson(folder / "rows.jsonl")
    text = polars.col("question")
    data = data.filter(text.str.len_chars() < LONGEST).unique("question", keep="first", maintain_order=True)
    data = data.with_columns(level=text.str.len_chars() // 100, prompt=polars.lit("Answer briefly. ") + text)
    counts: list[int] = []
    for part in data["prompt"].to_frame().iter_slices(1024):
        texts = [f"<|im_start|>u\n{prompt}<|im_end|>\n<|im_start|>a\n" for prompt in part["prompt"]]
        counts += [len(found) for found in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    data = data.filter(polars.Series(counts) <= TOKENS)
    index = RMinHashDeduplicator(threshold=THRESHOLD, num_perm=128, use_lsh=True)
    kept: list[bool] = []
    for start in range(0, len(data), 1024):
        pairs = []
        for number, question in enumerate(data["question"][start : start + 1024], start=start):
            words = question.lower().split()
            pairs.append((str(number), [f"{a} {b} {c}" for a, b, c in zip(words, words[1:], words[2:], strict=False)]))
        kept += index.add_pairs(pairs)
    data = data.filter(polars.Series(kept))
    data.write_parquet(folder / "polars.parquet")
    return {"rows": len(data), "file": str(folder / "polars.parquet")}


def differences(folder: Path) -> dict[str, int]:
    """Different rows; those that each way keeps; and rows that each decides otherwise than exact similarity does."""
    from rensa import RMinHash, RMinHashDeduplicator

    from orbiter_spec.data.near import NearIndex
    from orbiter_spec.data.shingles import shingles, signatures

    with (folder / "rows.jsonl").open(encoding="utf-8") as stream:
        read = (json.loads(line)["question"] for line in stream)
        texts = list(dict.fromkeys(text for text in read if len(text) < LONGEST))
    index = NearIndex(folder, THRESHOLD)
    index.add(signatures(texts, 3))
    ours = (~index.duplicates()).tolist()
    peer = RMinHashDeduplicator(threshold=THRESHOLD, num_perm=128, use_lsh=True)
    theirs = []
    for number, text in enumerate(texts):
        sketch = RMinHash(128, 42)
        sketch.update(shingles(text, 3))
        theirs.append(bool(peer.add(str(number), sketch)))
    exact = by_similarity([frozenset(shingles(text, 3)) for text in texts])
    return {
        "rows": len(texts),
        "kept": sum(ours),
        "kept_by_rensa": sum(theirs),
        "kept_by_similarity": sum(exact),
        "wrong": sum(one != right for one, right in zip(ours, exact, strict=True)),
        "wrong_by_rensa": sum(one != right for one, right in zip(theirs, exact, strict=True)),
    }


def by_similarity(sets: list[frozenset[str]]) -> list[bool]:
    """Whether each row stays when those go whose Jaccard similarity to an earlier one that stays is high enough."""
    kept: list[bool] = []
    holders: dict[str, list[int]] = {}
    for number, own in enumerate(sets):
        others = {other for part in own for other in holders.get(part, ())}
        kept.append(all(len(own & sets[other]) < THRESHOLD * len(own | sets[other]) for other in others))
        for part in own if kept[-1] else ():
            holders.setdefault(part, []).append(number)
    return kept


WAYS = {"orbiter": orbiter, "whole": whole, "datasets": by_datasets, "polars": by_polars}


def quality(folder: Path, file: Path) -> dict[str, float]:
    """Share of planted rows that were dropped, and share of dropped rows that were planted, of those short enough."""
    from pyarrow import parquet

    table = parquet.read_table(file, columns=["extra_info"])["extra_info"]
    kept = {json.loads(item["fields"])["answer"] for item in table.to_pylist()}
    planted: dict[str, list[bool]] = {"own": [], "equal": [], "near": []}
    with (folder / "rows.jsonl").open(encoding="utf-8") as stream:
        for row in map(json.loads, stream):
            if len(row["question"]) < LONGEST:
                planted[row["kind"]].append(row["answer"] not in kept)
    dropped = sum(map(sum, planted.values()))
    right = sum(planted["equal"]) + sum(planted["near"])
    return {
        "near_recall": sum(planted["near"]) / max(1, len(planted["near"])),
        "equal_recall": sum(planted["equal"]) / max(1, len(planted["equal"])),
        "precision": right / max(1, dropped),
    }


def measured(command: list[str]) -> tuple[dict[str, Any], float, float, float]:
    """A way's answer, its seconds, those of the processors, and its largest memory with its children, in MiB (PSS)."""
    import psutil

    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    )
    peak, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.2):
            total = 0
            try:
                parent = psutil.Process(process.pid)
                for each in (parent, *parent.children(recursive=True)):
                    total += each.memory_full_info().pss
            except psutil.Error:
                continue
            peak = max(peak, total / 2**20)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.monotonic()
    out, _ = process.communicate()
    seconds = time.monotonic() - began
    done.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{command} failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(out.splitlines()[-1]), seconds, busy, peak


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", type=int, default=100_000)
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    arguments.add_argument("--differences", action="store_true", help="Only compare the near-duplicates found.")
    arguments.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.one and given.one[0] == "model":
        write_model(Path(given.one[1]))
    elif given.one:
        print(json.dumps(WAYS[given.one[0]](Path(given.one[1]), given.workers)))
    if given.one:
        return
    folder = Path(tempfile.mkdtemp(prefix="data-pipeline-"))
    try:
        write_rows(folder / "rows.jsonl", given.rows)
        if given.differences:
            print(json.dumps(differences(folder), indent=1))
            return
        subprocess.run([sys.executable, __file__, "--one", "model", str(folder)], check=True, stdout=subprocess.DEVNULL)
        print(
            f"{given.rows} rows, {(folder / 'rows.jsonl').stat().st_size / 2**20:.0f} MiB, {given.workers} workers,"
            f" {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before"
        )
        for way in given.ways:
            command = [sys.executable, __file__, "--one", way, str(folder), "--workers", str(given.workers)]
            result, seconds, busy, peak = measured(command)
            times = f"{seconds:7.1f} s {given.rows / seconds:9.0f} rows/s"
            times += f" {busy:7.1f} CPU s {given.rows / busy:7.0f} rows/CPU s"
            print(f"{way:9} {times} {peak:6.0f} MiB peak {result['rows']:8} rows kept", flush=True)
            if way in ("orbiter", "whole"):
                found = quality(folder, Path(result["file"]))
                print("          " + ", ".join(f"{name} {value:.4f}" for name, value in found.items()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
