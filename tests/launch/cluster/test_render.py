"""Rendered launchers, against SkyPilot's schema, Kubernetes' schema of a pod, KubeRay's fields, bash, sbatch's options.

What `skypilot.json` and `kuberay.json` are made of stands in their `source`. sbatch itself is not asked: Slurm's client
refuses to start without a configured controller.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shlex
import subprocess
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from orbiter_spec.cli import main
from orbiter_spec.compiler import compile_spec
from orbiter_spec.launch import render as rendering
from orbiter_spec.launch.render import KINDS, RenderError, job_name, render, send
from orbiter_spec.launch.run_folder import RunFolder, create_run_folder

SPECS = Path(__file__).resolve().parents[3] / "specs"
SKYPILOT = json.loads(Path(__file__).with_name("skypilot.json").read_text(encoding="utf-8"))
KUBERAY = json.loads(Path(__file__).with_name("kuberay.json").read_text(encoding="utf-8"))
SLURM = {
    "job-name": r"[a-z][a-z0-9-]*", "nodes": r"\d+", "ntasks-per-node": "1", "cpus-per-task": r"\d+",
    "gpus-per-node": r"\d+", "exclusive": None, "output": r".+%j\.log", "partition": ".+", "account": ".+",
    "time": r"\d+",
}  # fmt: skip
"""sbatch's options as its manual has them, with what their values look like; None for an option without one."""
SETS = [
    "hardware.cluster.kind=slurm",
    "hardware.cluster.queue=gpu queue",
    "hardware.cluster.account=team",
    "hardware.cluster.minutes=90",
    "hardware.cluster.setup=[module load cuda]",
    "run.env=['GREETING=it is \"$HOME\" and ''more''']",
    "run.secrets={WANDB_API_KEY: {}}",
]
VALUE = "it is \"$HOME\" and 'more'"


@pytest.fixture
def two_nodes(tmp_path: Path) -> RunFolder:
    folder = create_run_folder(tmp_path / "my runs", "grpo", datetime(2026, 1, 2, 3, 4, 5))
    found = compile_spec(
        SPECS / "grpo-7b-8gpu.yaml", folder.compiled, sets=[*SETS, "hardware.nodes=2", "algorithm.batch.minibatch=128"]
    )
    assert found.folder is not None, found.report
    return folder


def documents(text: str) -> list[Any]:
    return list(YAML(typ="safe").load_all(text))


@pytest.mark.parametrize("kind", ["slurm", "shell"])
def test_shell_launchers_are_shell_and_say_every_value_whole(two_nodes: RunFolder, kind: str) -> None:
    rendered = render(two_nodes, kind)
    assert subprocess.run(["bash", "-n", str(rendered.path)], check=False).returncode == 0
    told = "\n".join(line for line in rendered.text.splitlines() if line.startswith(("export GREETING", "cd ")))
    shown = subprocess.run(
        ["bash", "-c", f'{told}\nprintf %s "$GREETING"; pwd'], capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"{VALUE}{two_nodes.path / 'parcel'}\n"
    assert "--num-gpus=8" in rendered.text
    assert "gather 2\n" in rendered.text
    assert (two_nodes.path / "parcel" / "verl.yaml").is_file()


@pytest.mark.parametrize("kind", ["slurm", "shell", "skypilot"])
def test_every_node_uses_the_token_that_the_head_would_take(two_nodes: RunFolder, kind: str, tmp_path: Path) -> None:
    text = render(two_nodes, kind).text
    lines = (documents(text)[0]["run"] if kind == "skypilot" else text).splitlines()
    first = next(number for number, line in enumerate(lines) if "RAY_AUTH_TOKEN" in line)
    assert first < next(number for number, line in enumerate(lines) if "ray start" in line)
    program = "set -eu\n" + "\n".join(lines[first : first + 3]) + '\necho "${RAY_AUTH_MODE-left to Ray}"'

    def mode(**variables: str) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), **variables}
        done = subprocess.run(["bash", "-c", program], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert mode() == "left to Ray"
    assert mode(RAY_AUTH_TOKEN="x") == "token"
    (tmp_path / "home" / ".ray").mkdir(parents=True)
    (tmp_path / "home" / ".ray" / "auth_token").write_text("x", encoding="utf-8")
    assert mode() == "token"
    assert mode(RAY_AUTH_MODE="disabled") == "disabled"


def test_slurm_options_are_slurms(two_nodes: RunFolder) -> None:
    text = render(two_nodes, "slurm").text.splitlines()
    assert text[0].startswith("#!")
    lines = [line for line in text if line.startswith("#SBATCH")]
    commands = (number for number, line in enumerate(text) if line.strip() and not line.startswith("#"))
    assert max(map(text.index, lines)) < next(commands), "sbatch reads no option after the first command"
    found = {}
    for line in lines:
        [word] = shlex.split(line.removeprefix("#SBATCH "))
        name, mark, value = word.removeprefix("--").partition("=")
        assert name in SLURM, line
        assert name not in found, line
        assert re.fullmatch(SLURM[name], value) if SLURM[name] else not mark, line
        found[name] = value
    assert found["partition"] == "gpu queue"
    assert (found["nodes"], found["gpus-per-node"], found["time"], found["account"]) == ("2", "8", "90", "team")
    assert int(found["cpus-per-task"]) >= 24


def test_skypilot_accepts_its_task(two_nodes: RunFolder) -> None:
    rendered = render(two_nodes, "skypilot")
    [task] = documents(rendered.text)
    Draft202012Validator(SKYPILOT["task"]).validate(task)
    Draft202012Validator(SKYPILOT["resources"]).validate(task["resources"])
    assert task["num_nodes"] == 2
    assert task["resources"] == {"accelerators": "H100:8"}
    assert task["envs"]["GREETING"] == VALUE
    assert task["secrets"] == {"WANDB_API_KEY": None}
    assert subprocess.run(["bash", "-n"], input=task["run"], text=True, check=False).returncode == 0
    wrong = {**task, "run_command": "x"}
    assert not Draft202012Validator(SKYPILOT["task"]).is_valid(wrong), "the schema refuses what it does not know"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_value_never_begins_a_line_of_its_own(two_nodes: RunFolder, kind: str) -> None:
    file = two_nodes.compiled / "launch.json"
    content = json.loads(file.read_text())
    content["cluster"]["queue"] = "fast\ntouch /tmp/owned"
    file.write_text(json.dumps(content))
    with pytest.raises(RenderError, match=r"hardware\.cluster\.queue holds a line break"):
        render(two_nodes, kind)


def problems(name: str, document: Any) -> list[str]:
    validator = Draft202012Validator({**KUBERAY[name], "$defs": KUBERAY["$defs"]})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


def test_kuberay_gets_its_fields_the_files_and_no_secret(two_nodes: RunFolder) -> None:
    config_map, job = documents(render(two_nodes, "kuberay").text)
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert problems("rayjob", job) == []
    assert problems("config_map", config_map) == []
    assert job["spec"]["activeDeadlineSeconds"] == 5400
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "gpu queue"}
    [group] = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    assert group["replicas"] == 1
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]
    assert all(isinstance(value, str) for value in head["rayStartParams"].values())
    [container] = head["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 8
    assert container["env"] == [
        {
            "name": "WANDB_API_KEY",
            "valueFrom": {"secretKeyRef": {"name": f"{job['metadata']['name']}-secrets", "key": "WANDB_API_KEY"}},
        }
    ]
    environment = YAML(typ="safe").load(job["spec"]["runtimeEnvYAML"])
    assert environment["env_vars"]["GREETING"] == VALUE
    names = zipfile.ZipFile(io.BytesIO(base64.b64decode(config_map["binaryData"]["parcel.zip"]))).namelist()
    assert {"verl.yaml", "orbiter_job.json", "orbiter_cluster/cluster/on_cluster.py"} <= set(names)


def test_the_schema_refuses_what_kuberay_would(two_nodes: RunFolder) -> None:
    _, job = documents(render(two_nodes, "kuberay").text)
    spec = job["spec"]["rayClusterSpec"]
    spec["headGroupSpec"]["template"]["spec"]["containers"][0]["volumeMount"] = []
    spec["headGroupSpec"]["rayStartParams"]["num-gpus"] = 8
    del spec["workerGroupSpecs"][0]["minReplicas"]
    job["spec"]["shutdownAfterFinish"] = True
    found = " ".join(problems("rayjob", job))
    for word in ("'volumeMount' was unexpected", "8 is not of type 'string'", "'minReplicas'", "'shutdownAfterFinish'"):
        assert word in found


def test_a_run_too_large_for_a_config_map_says_what_to_do(two_nodes: RunFolder, monkeypatch) -> None:
    monkeypatch.setattr(rendering, "CONFIG_MAP_BYTES", 1000)
    with pytest.raises(RenderError, match="put rows and model on a volume"):
        render(two_nodes, "kuberay")


@pytest.mark.parametrize(
    ("name", "job"),
    [
        ("grpo-20260102-030405", "grpo-20260102-030405"),
        ("My_Run/2", "my-run-2"),
        ("7b", "run-7b"),
        ("x" * 90, "x" * 45),
    ],
)
def test_names_are_names_everywhere(name: str, job: str) -> None:
    assert job_name(name) == job


def test_a_client_that_is_missing_or_refuses_is_a_message(two_nodes: RunFolder, tmp_path: Path, monkeypatch) -> None:
    rendered = render(two_nodes, "slurm")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RenderError, match="sbatch is not installed here; where it is: sbatch --parsable"):
        send(rendered)
    (tmp_path / "sbatch").write_text("#!/bin/sh\necho invalid partition specified: gpu queue >&2\nexit 1\n")
    (tmp_path / "sbatch").chmod(0o755)
    with pytest.raises(RenderError, match="sbatch refuses: invalid partition specified"):
        send(rendered)
    (tmp_path / "sbatch").write_text("#!/bin/sh\necho 4711\n")
    assert send(rendered) == "4711"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_run_prints_what_it_would_send(kind: str, tmp_path: Path) -> None:
    arguments = ["run", str(SPECS / "grpo-7b-8gpu.yaml"), "--render", kind, "--set", f"run.output={tmp_path}"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "orbiter_cluster.cluster.on_cluster" in done.output
