#!/usr/bin/env bash
# Sets up .venv and runs lint, types and all tests that this machine can run, real training on the CPU included.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
exec .venv/bin/pytest --durations=25 "$@"
