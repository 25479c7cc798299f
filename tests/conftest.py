"""Shared places and helpers of the tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SPECS = sorted((ROOT / "specs").glob("*.yaml"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Built rows go to a cache of the test's own, in processes that it starts as well."""
    monkeypatch.setenv("ORBITER_CACHE", str(tmp_path_factory.getbasetemp() / f"cache-{os.urandom(6).hex()}"))


def pytest_configure() -> None:
    """Signals do what they do for a person: a parent that ignores them, as nohup does, hands that on."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


LAST = "test_site_cluster"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The cluster with a token comes last: Ray's own library keeps the token for as long as the process lives."""
    items.sort(key=lambda item: LAST in item.nodeid)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
def cli(tmp_path: Path):
    """Run the command line in a process of its own, in a folder of its own, with a time limit."""

    def call(*args: object, cwd: Path | None = None, timeout: float = 110, stdin: str | None = None):
        return subprocess.run(
            [sys.executable, "-m", "orbiter_spec", *map(str, args)],
            cwd=cwd or tmp_path,
            capture_output=True,
            text=True,
            timeout=timeout,
            input=stdin,
            check=False,
        )

    return call


MINIMAL = """\
version: 1
name: small
agent: {model: Qwen/Qwen2.5-0.5B-Instruct, prompt: "{{ question }}"}
dataset: {train: rows.jsonl}
rewards: [{function: "rewards.py:score"}]
algorithm: grpo
hardware: 8xH100
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a small valid spec, its rows and its reward; returns the spec."""
    (tmp_path / "rows.jsonl").write_text('{"question": "1+1?", "answer": "2"}\n' * 512, encoding="utf-8")
    (tmp_path / "rewards.py").write_text("def score(response, expected):\n    return 1.0\n", encoding="utf-8")
    spec = tmp_path / "spec.yaml"
    spec.write_text(MINIMAL, encoding="utf-8")
    return spec
