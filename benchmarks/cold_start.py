"""Cold `validate` and `compile` of a 60-line spec, as a ratio to a cold Hydra composition of the same configuration.

    python benchmarks/cold_start.py [ROUNDS]

Every figure is a whole process, the three commands taking turns, with byte code cached as in an installed
package. Hydra composes the overrides that `compile` wrote, from verl's configuration folder, without
importing verl.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPEC = Path(__file__).resolve().parent / "sixty_lines.yaml"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
HYDRA = """
import importlib.util, sys
from pathlib import Path
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
package = importlib.util.find_spec("verl").submodule_search_locations[0]
overrides = Path(sys.argv[1]).read_text().splitlines()
with initialize_config_dir(package + "/trainer/config", version_base=None):
    OmegaConf.resolve(compose("ppo_trainer", overrides=overrides))
"""


def seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT)
    return time.perf_counter() - started


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "out")
        tool = [sys.executable, "-m", "orbiter_spec"]
        commands = {
            "validate": [*tool, "validate", str(SPEC)],
            "compile": [*tool, "compile", str(SPEC), "-o", str(out)],
            "hydra": [sys.executable, "-c", HYDRA, str(out / "overrides.txt")],
        }
        for name in ("compile", "validate", "hydra"):
            seconds(commands[name])
        times = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                times[name].append(seconds(command))
    print(f"{'command':10} {'min s':>7} {'median s':>9} {'max s':>7} {'median ratio to hydra':>22}")
    for name, taken in times.items():
        ratio = statistics.median(a / b for a, b in zip(taken, times["hydra"], strict=True))
        print(f"{name:10} {min(taken):7.3f} {statistics.median(taken):9.3f} {max(taken):7.3f} {ratio:22.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
