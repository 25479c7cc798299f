"""`python -m orbiter_spec.devtools.releases VERSION...` unpacks verl releases beside the installed one.

A release needs no dependencies to be read: its wheel is downloaded by pip and unpacked to `share/orbiter-spec/verl` of
the environment, once. The tests compose with Hydra from the configuration folders there.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HOME = Path(sys.prefix) / "share" / "orbiter-spec" / "verl"
TIMEOUT_SECONDS = 120


class FetchError(RuntimeError):
    """A release that pip does not deliver; the message is pip's last line."""


def config_dir(version: str) -> Path:
    """The configuration folder of an unpacked release, fetched if it is not there yet; FetchError without a network."""
    folder = HOME / version / "verl" / "trainer" / "config"
    if not folder.is_dir():
        _fetch(version)
    return folder


def _fetch(version: str) -> None:
    HOME.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME) as work:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        command += ["--disable-pip-version-check", "-d", work, f"verl=={version}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise FetchError(f"verl {version}: no answer in {TIMEOUT_SECONDS} s") from None
        wheels = list(Path(work).glob("verl-*.whl"))
        if done.returncode or not wheels:
            lines = done.stderr.strip().splitlines()
            raise FetchError(f"verl {version}: {lines[-1] if lines else 'no wheel'}")
        unpacked = Path(work) / "unpacked"
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(unpacked, [name for name in wheel.namelist() if name.startswith("verl/")])
        if not (HOME / version).exists():
            unpacked.rename(HOME / version)


def main() -> None:
    """Fetch each release; 1 when one cannot be had."""
    parser = argparse.ArgumentParser(prog="python -m orbiter_spec.devtools.releases", description=__doc__)
    parser.add_argument("versions", nargs="+", metavar="VERSION")
    for version in parser.parse_args().versions:
        try:
            print(config_dir(version))
        except FetchError as problem:
            raise SystemExit(str(problem)) from None


if __name__ == "__main__":
    main()
