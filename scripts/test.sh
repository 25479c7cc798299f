#!/usr/bin/env bash
# Sets up .venv and runs lint, types and all tests that this machine can run, real training on the CPU included.
# What only computes shares the cores; what trains has them to itself, one run after another.
# With arguments it is pytest with these arguments.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
if [ $# -gt 0 ]; then
  exec .venv/bin/pytest "$@"
fi
failed=0
.venv/bin/pytest -m "not training" --numprocesses auto --maxprocesses 4 --dist loadfile --durations 15 || failed=1
.venv/bin/pytest -m training --durations 15 || failed=1
exit $failed
