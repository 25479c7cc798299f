"""What is asked of the machine, the command line, and the limits on silence."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from orbiter_spec.launch.command import run_environment
from orbiter_spec.launch.metrics import next_attempt
from orbiter_spec.launch.ray_demand import parse_demand, unmet_demand
from orbiter_spec.launch.run_folder import RunFolder
from orbiter_spec.launch.scratch import make_scratch, remove_stale_scratch
from orbiter_spec.launch.site import check_site
from orbiter_spec.launch.verl_config import VerlConfig, binding_overrides, overridden, quoted, total_steps
from orbiter_spec.launch.watchdog import PENDING_REPEAT_SECONDS, Timeouts, Watchdog


def config(**changes: object) -> VerlConfig:
    init = {"address": "local", "num_cpus": 5, "num_gpus": 1}
    trainer = {
        "device": "cpu",
        "nnodes": 1,
        "n_gpus_per_node": 1,
        "logger": ["console"],
        "default_local_dir": "checkpoints",
    }
    return VerlConfig({"trainer": {**trainer, **changes}, "ray_kwargs": {"ray_init": init}})


def ids(config: VerlConfig, folder: Path) -> list[str]:
    return [found.id for found in check_site(config, folder)]


def test_this_machine_is_ready(tmp_path: Path) -> None:
    assert ids(config(), tmp_path) == []


def test_a_cluster_is_refused(tmp_path: Path) -> None:
    assert ids(config(nnodes=2), tmp_path) == ["ORB510"]
    remote = VerlConfig({"ray_kwargs": {"ray_init": {"address": "http://head:8265"}}})
    assert ids(remote, tmp_path) == ["ORB510"]


def test_missing_packages_name_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in ("verl", "ray") else object())
    [found] = check_site(config(), tmp_path)
    assert found.id == "ORB511"
    assert found.message.endswith("verl, ray")
    assert "pip install 'orbiter-spec[cpu]'" in found.help


def test_too_few_cpus_would_hang(tmp_path: Path) -> None:
    (tmp_path / "resource_pools.yaml").write_text("total: {cpus: 8, gpus: 1}\n")
    [found] = check_site(config(), tmp_path)
    assert found.id == "ORB513"
    assert "5 logical CPUs" in found.message
    assert "8" in found.help


def test_gpus_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orbiter_spec.launch.site.count_gpus", lambda: 1)
    assert ids(config(device="cuda", n_gpus_per_node=8), tmp_path) == ["ORB514"]
    assert ids(config(device="cuda"), tmp_path) == []


def test_a_full_disk_is_found_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        free = 5 << 20

    monkeypatch.setattr("shutil.disk_usage", lambda path: Full)
    assert ids(config(), tmp_path)[0] == "ORB515"


@pytest.mark.parametrize("text", ["plain", "it's", "a=b, [c] {d}", "ends with \\", "a\\'b", "ünï ${x}", "a\\\\"])
def test_hydra_reads_quoted_paths_as_they_are(text: str) -> None:
    parser = pytest.importorskip("hydra.core.override_parser.overrides_parser")
    [override] = parser.OverridesParser.create().parse_overrides([f"key={quoted(text)}"])
    value = override.value()
    assert (value.text if hasattr(value, "text") else value) == text


def test_output_goes_to_the_run_folder(tmp_path: Path) -> None:
    folder = RunFolder.at(tmp_path / "run")
    given = binding_overrides(config(rollout_data_dir="rollouts"), folder)
    assert overridden(config(), given, "trainer.default_local_dir") == f"'{folder.path}/checkpoints'"
    assert overridden(config(), given, "trainer.rollout_data_dir") == f"'{folder.path}/rollouts'"
    assert overridden(config(), given, "trainer.validation_data_dir") is None
    assert overridden(config(), given, "trainer.logger") == "[console,file]"
    elsewhere = binding_overrides(config(default_local_dir="/big/disk", logger=["file"]), folder)
    assert elsewhere == ["trainer.default_local_dir='/big/disk'"]


def test_an_override_of_the_steps_wins() -> None:
    assert total_steps(config(), [], 10) == 10
    assert total_steps(config(total_training_steps=7), [], 10) == 7
    assert total_steps(config(), ["trainer.total_training_steps=3", "+trainer.total_training_steps=5"], 10) == 5


def test_the_environment_keeps_the_users_words_but_not_other_clusters(tmp_path: Path) -> None:
    folder = RunFolder.at(tmp_path)
    inherited = {"TQ_NUM_THREADS": "9", "RAY_ADDRESS": "http://other", "VERL_PLATFORM": "cuda", "PATH": "/bin"}
    made = run_environment(config(), folder, next_attempt(folder.logs, 0), Path("/tmp/orbiter-x"), inherited)
    assert (made["TQ_NUM_THREADS"], made["VERL_PLATFORM"], made["PATH"]) == ("9", "cpu", "/bin")
    assert "RAY_ADDRESS" not in made
    assert made["RAY_TMPDIR"] == "/tmp/orbiter-x"


def test_rays_sockets_fit_into_107_bytes() -> None:
    scratch = make_scratch()
    try:
        session = "session_2026-11-21_05-44-00_123456_4194304"
        assert len(f"{scratch}/ray/{session}/sockets/plasma_store.1") <= 107
    finally:
        (scratch / "owners.json").unlink()
        scratch.rmdir()


def test_scratch_of_dead_launchers_is_removed(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead, alive = {"pid": gone.pid, "started": 1}, {"pid": 1, "started": None}
    for name, owners in {"orbiter-dead": [dead, dead], "orbiter-alive": [dead, alive]}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "owners.json").write_text(json.dumps(owners))
    (tmp_path / "orbiter-of-somebody").mkdir()
    assert [path.name for path in remove_stale_scratch(tmp_path)] == ["orbiter-dead"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orbiter-alive", "orbiter-of-somebody"]


COMPLAINT = "(autoscaler +1m) Warning: The following resource request cannot be scheduled right now: {'CPU': 3.0}."


def test_silence_has_a_limit() -> None:
    watchdog = Watchdog(Timeouts(silence_seconds=10), heard=0.0)
    watchdog.hear_output("words\n", 5.0)
    assert watchdog.verdict(14.0) is None
    assert watchdog.verdict(16.0) == "no output and no step for 10 s"
    watchdog.hear_step(16.0)
    assert watchdog.verdict(17.0) is None


def test_complaints_about_resources_are_no_sign_of_life() -> None:
    watchdog = Watchdog(Timeouts(silence_seconds=None, pending_seconds=60), heard=0.0)
    for second in range(0, 70, 30):
        watchdog.hear_output(COMPLAINT, float(second))
    assert "could not place" in (watchdog.verdict(61.0) or "")
    watchdog.hear_step(62.0)
    assert watchdog.verdict(63.0) is None


def test_a_complaint_that_is_not_repeated_is_forgotten() -> None:
    watchdog = Watchdog(Timeouts(silence_seconds=None, pending_seconds=60), heard=0.0)
    watchdog.hear_output(COMPLAINT, 0.0)
    assert watchdog.verdict(PENDING_REPEAT_SECONDS + 1) is None


def test_no_limits_no_verdict() -> None:
    watchdog = Watchdog(Timeouts(silence_seconds=None, pending_seconds=None), heard=0.0)
    watchdog.hear_output(COMPLAINT, 0.0)
    assert watchdog.verdict(1e9) is None


REPORT = """\
======== Autoscaler status: 2026-11-21 07:11:43.591345 ========
Node status
---------------------------------------------------------------
Active:
 1 node_0a78
Pending:
 (no pending nodes)
Resources
---------------------------------------------------------------
Total Usage:
 2.0/3.0 CPU
 0.0/1.0 GPU
 0B/15.33GiB memory

From request_resources:
 (none)
Pending Demands:
 {demands}
2026-11-21 07:11:43,592	INFO autoscaler.py:469 -- The autoscaler took 0.002 seconds.
"""
WAITING = "{'GPU': 1.0, 'CPU': 3.0} * 1 (STRICT_PACK): 1+ pending placement groups"


def test_what_ray_cannot_give_is_read_from_its_log(tmp_path: Path) -> None:
    assert unmet_demand(tmp_path) is None
    log = tmp_path / "ray" / "session_2026-11-21" / "logs" / "monitor.log"
    log.parent.mkdir(parents=True)
    log.write_text(REPORT.replace("{demands}", WAITING))
    assert unmet_demand(tmp_path) == f"{WAITING} (in use: 2.0/3.0 CPU, 0.0/1.0 GPU)"
    log.write_text(log.read_text() + REPORT.replace("{demands}", "(no resource demands)"))
    assert unmet_demand(tmp_path) == ""


def test_a_report_that_is_being_written_does_not_hide_the_one_before() -> None:
    whole = REPORT.replace("{demands}", WAITING)
    assert (parse_demand("x\n" + whole + whole[:200]) or "").startswith(WAITING)
    assert parse_demand("nothing of the kind") is None


def test_an_unmet_demand_ends_the_wait_and_a_met_one_begins_it_anew() -> None:
    watchdog = Watchdog(Timeouts(silence_seconds=None, pending_seconds=60), heard=0.0)
    watchdog.hear_demand(WAITING, 0.0)
    watchdog.hear_demand("", 50.0)
    watchdog.hear_demand(WAITING, 55.0)
    assert watchdog.verdict(70.0) is None
    watchdog.hear_demand(None, 100.0)
    assert WAITING in (watchdog.verdict(116.0) or "")
