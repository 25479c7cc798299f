"""The doctor names what is there, what is missing and what installs it."""

from __future__ import annotations

import json
import socket
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path
from threading import Thread

import pytest

from orbiter_spec.launch import doctor
from orbiter_spec.launch.doctor import State, examine, fails


def named(checks: list[doctor.Check], name: str) -> doctor.Check:
    return next(check for check in checks if check.name == name)


def test_versions_are_those_of_the_packages(tmp_path: Path) -> None:
    checks = examine(tmp_path)
    for name in ("verl", "torch", "ray"):
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            assert named(checks, name).state is State.MISSING
        else:
            assert named(checks, name).found == installed


def test_what_is_missing_comes_with_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "version_of", lambda name: None if name in ("ray", "vllm") else "0.9.1")
    checks = examine(tmp_path)
    assert (named(checks, "ray").state, named(checks, "vllm").state) == (State.MISSING, State.NOTE)
    assert "pip install 'orbiter-spec[" in named(checks, "ray").help
    assert fails(checks)


def test_a_verl_that_is_not_known_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "version_of", lambda name: "0.5.0")
    found = named(examine(tmp_path), "verl")
    assert (found.state, found.found) == (State.WRONG, "0.5.0")
    assert "verl==0.9.1" in found.help


def test_gpus_that_torch_cannot_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H200, 143771 MiB, 570.1'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "version_of", lambda name: "2.9.0+cpu" if name == "torch" else "0.9.1")
    checks = examine(tmp_path)
    assert named(checks, "GPU 0").found == "NVIDIA H200, 143771 MiB, 570.1"
    assert [check.found for check in checks if check.state is State.WRONG] == ["2.9.0+cpu cannot use the GPUs"]


def test_a_driver_tool_that_hangs_or_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\nexec /bin/sleep 30\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "TOOL_SECONDS", 0.2)
    assert doctor.nvidia_gpus() == []
    tool.write_text("#!/bin/sh\nexit 9\n")
    assert doctor.nvidia_gpus() == []


def test_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    (found,) = [check for check in examine(tmp_path, address) if check.group == "cluster"]
    assert found.state is State.WRONG
    assert "refused" in found.found


def test_something_else_that_answers(tmp_path: Path) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Other)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        checks = examine(tmp_path, f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
    assert "not Ray's job server" in next(check.found for check in checks if check.group == "cluster")


def test_the_command_agrees_with_itself(cli) -> None:
    told = cli("doctor", "--format", "json")
    content = json.loads(told.stdout)
    assert told.returncode == (0 if content["ok"] else 1)
    assert {check["group"] for check in content["checks"]} >= {"machine", "packages", "devices"}
    said = cli("doctor")
    assert said.returncode == told.returncode
    assert "a run can start here" in said.stdout or "stand in the way" in said.stdout
