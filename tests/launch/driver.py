"""A real process in verl's place: takes verl's command line, writes what verl writes, and goes wrong on request.

`python driver.py SCENARIO [overrides...]`. Before training it starts a daemon as Ray does: detached twice, in a session
of its own, deaf to SIGTERM, with a title over its arguments, shared memory mapped, and files below RAY_TMPDIR.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import sys
import time
import zipfile
from pathlib import Path

SCENARIO, *OVERRIDES = sys.argv[1:]
STEPS = 4


def override(key: str) -> str | None:
    found = [text.partition("=")[2] for text in OVERRIDES if text.lstrip("+").partition("=")[0] == key]
    return found[-1].strip("'").replace("\\'", "'") if found else None


def start_daemon() -> None:
    """The two forks that every daemon makes; its id goes to the file `daemon` beside the checkpoints."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    shared = Path(f"/dev/shm/orbiter-test-{os.getpid()}")
    shared.write_bytes(b"\0" * 4096)
    file = shared.open("r+b")
    kept = mmap.mmap(file.fileno(), 4096)
    socket = Path(os.environ["RAY_TMPDIR"], "ray", "session_2026", "sockets")
    socket.mkdir(parents=True)
    (socket / "raylet").touch()
    Path(os.environ["RAY_TMPDIR"], "ray", "session_2026", "logs").mkdir()
    Path(os.environ["RAY_TMPDIR"], "ray", "session_2026", "logs", "raylet.out").write_text("raylet says\n")
    save("scratch", os.environ["RAY_TMPDIR"])
    save("daemon", str(os.getpid()))
    while True:
        time.sleep(60)
        kept.flush()


def save(name: str, text: str) -> None:
    """Write a file that is whole when it can be seen."""
    folder = Path(os.environ["TEST_NOTES"])
    stage = folder / f".{name}"
    stage.write_text(text)
    stage.rename(folder / name)


def archive(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("data", "x" * 1000)


def save_checkpoint(step: int, *, whole: bool = True) -> None:
    folder = Path(override("trainer.default_local_dir") or "")
    shard = folder / f"global_step_{step}" / "actor" / "model_world_size_1_rank_0.pt"
    archive(shard)
    if not whole:
        shard.write_bytes(shard.read_bytes()[:100])
        return
    archive(folder / f"global_step_{step}" / "data.pt")
    (folder / "latest_checkpointed_iteration.txt").write_text(str(step))


def train(log) -> None:
    resumed = override("trainer.resume_from_path")
    first = int(resumed.rpartition("_")[2]) if resumed else 0
    last = int(override("trainer.total_training_steps") or STEPS)
    attempt = int(Path(os.environ["VERL_FILE_LOGGER_PATH"]).name.split("-")[1])

    def measure(step: int, **values: float) -> None:
        log.write(json.dumps({"step": step, "data": {"attempt": attempt, **values}}).encode() + b"\n")

    measure(first, **{"val-core/digits/reward/mean@1": 0.1})
    for step in range(first + 1, last + 1):
        print(f"step:{step}", flush=True)
        if SCENARIO == "slow":
            time.sleep(0.5)
        if step % 2 == 0:
            save_checkpoint(step)
        measure(step, **{"critic/score/mean": step / last, "timing_s/step": 0.1, "actor/entropy": 1.0})
        if SCENARIO == "tell":
            print(f"the key is {os.environ['TEST_KEY']}", flush=True)
        if (SCENARIO == "die_after_3" or (SCENARIO == "die_once" and attempt == 1)) and step == 3:
            save_checkpoint(3, whole=False)
            log.write(b'{"step": 4, "data": {"crit')
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    if SCENARIO == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("ray init kwargs: {}", flush=True)
    start_daemon()
    while not Path(os.environ["TEST_NOTES"], "daemon").exists():
        time.sleep(0.01)
    save("driver", str(os.getpid()))
    if SCENARIO in ("hang", "deaf"):
        time.sleep(600)
    if SCENARIO == "pending":
        while True:
            print("(autoscaler +5s) Warning: The following resource request cannot be scheduled right now", flush=True)
            time.sleep(0.1)
    if SCENARIO == "raise":
        raise ValueError("the learning rate is too high for this model")
    with open(os.environ["VERL_FILE_LOGGER_PATH"], "wb", buffering=0) as log:
        train(log)


main()
