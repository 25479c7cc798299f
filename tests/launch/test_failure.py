"""One line out of real logs."""

from __future__ import annotations

import pytest

from orbiter_spec.launch.failure import MAX_CHARACTERS, explain_failure

NESTED = """\
(WorkerDict pid=2513) INFO: fine so far
Error executing job with overrides: ['a=b']
Traceback (most recent call last):
  File "/x/verl/trainer/main_ppo.py", line 100, in run_ppo
    ray.get(runner.run.remote(config))
ray.exceptions.RayTaskError(AssertionError): ray::TaskRunnerV1.run() (pid=2493, ip=10.0.0.1, actor_id=1)
  File "/x/verl/trainer/ppo/v1/trainer_base.py", line 600, in step
    output = ray.get(output)
           ^^^^^^^^^^^^^^^
ray.exceptions.RayTaskError(AssertionError): ray::WorkerDict.actor_rollout_update() (pid=2513, ip=10.0.0.1)
  File "/x/verl/workers/engine_workers.py", line 10, in update
    assert size % micro == 0, f"{size} is not divisible by {micro}"
AssertionError: 64 is not divisible by 7
(raylet) some words at the end
"""
REWARD = """\
(RewardLoopWorker pid=1) Traceback (most recent call last):
(RewardLoopWorker pid=1) reward.RewardError: orbiter-spec: reward 'digits' failed on row 3: ZeroDivisionError: by zero
Traceback (most recent call last):
ray.exceptions.RayTaskError(RuntimeError): ray::TaskRunnerV1.run() (pid=1, ip=1.1.1.1)
RuntimeError: 16 prompts could not be generated or scored; the cause is above, in a line with 'orbiter-spec:'
"""
DIED = """\
Traceback (most recent call last):
ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.
	class_name: create_colocated_worker_cls.<locals>.WorkerDict
	actor_id: 1234
Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.
"""
CASES = {
    "nested Ray errors": (NESTED, 1, "AssertionError: 64 is not divisible by 7"),
    "a reward's error is ours": (
        REWARD,
        1,
        "reward 'digits' failed on row 3: ZeroDivisionError: by zero",
    ),
    "a reward that failed and counted as a number is no reason": (
        "orbiter-spec: reward 'digits' failed on row 3: ZeroDivisionError: by zero\n" + NESTED,
        1,
        "AssertionError: 64 is not divisible by 7",
    ),
    "a line that our code printed and verl swallowed": (
        "orbiter-spec: the CPU platform for verl could not be set up: ImportError('x')\n",
        1,
        "the CPU platform for verl could not be set up: ImportError('x')",
    ),
    "a dead actor": (
        DIED,
        1,
        "a Ray process (create_colocated_worker_cls.<locals>.WorkerDict) died without a word; most often the machine "
        "ran out of memory and killed it",
    ),
    "no word, a signal": ("", -9, "verl was killed by SIGKILL, as the kernel does when memory runs out"),
    "no word, a code": ("hello\n", 7, "verl ended with exit code 7 and gave no reason"),
    "no word, unknown": ("", None, "verl was killed"),
    "disk full": (
        "Traceback (most recent call last):\nOSError: [Errno 28] No space left on device: '/runs/a'\n",
        1,
        "the disk is full: OSError: [Errno 28] No space left on device: '/runs/a'",
    ),
    "GPU memory": (
        "(WorkerDict pid=3) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.\n" + NESTED,
        1,
        "a GPU ran out of memory: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.",
    ),
    "Ray's memory monitor": (
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n",
        1,
        "Ray killed a worker because the machine ran out of memory",
    ),
    "colour": ("\x1b[31mValueError: red\x1b[0m\n", 1, "ValueError: red"),
    "a message on the next line": ("ValueError:\n  it was this\n", 1, "ValueError: it was this"),
    "late noise of the data loader": (
        "ValueError: first\nRuntimeError: DataLoader worker (pid 3) is killed by signal: Killed.\n",
        1,
        "ValueError: first",
    ),
    "words that only look like one": ("see the Error: not this\n", 1, "verl ended with exit code 1 and gave no reason"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_reason(name: str) -> None:
    log, code, reason = CASES[name]
    assert explain_failure(log, code) == reason


def test_a_reason_is_one_short_line() -> None:
    assert len(explain_failure("ValueError: " + "x" * 5000, 1)) == MAX_CHARACTERS


def test_how_often_ray_says_it_is_no_part_of_the_reason() -> None:
    log = "(Worker pid=7) ValueError: the judge is gone\x1b[32m [repeated 2x across cluster]\x1b[0m\n"
    assert explain_failure(log, 1) == "ValueError: the judge is gone"
