#!/usr/bin/env bash
# Makes .venv with everything a CPU run and the tests need. Run it again at any time: it does nothing when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3.11}
command -v "$python" >/dev/null || python=python3
[ -x .venv/bin/python ] || "$python" -m venv .venv
stamp=.venv/.orbiter-$(cat pyproject.toml constraints.txt | cksum | cut -d' ' -f1)
if [ ! -f "$stamp" ]; then
  export PIP_DISABLE_PIP_VERSION_CHECK=1
  .venv/bin/pip install -q -c constraints.txt torch
  .venv/bin/pip install -q -c constraints.txt -e '.[cpu,data,dev]'
  .venv/bin/python -m orbiter_spec.devtools.releases 0.8.0 0.9.0 ||
    echo "older verl releases could not be unpacked; their tests will be skipped" >&2
  touch "$stamp"
fi
