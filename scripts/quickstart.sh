#!/usr/bin/env bash
# Sets up .venv and trains specs/quickstart.yaml with verl on this machine's CPU.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh
exec .venv/bin/orbiter-spec run specs/quickstart.yaml "$@"
