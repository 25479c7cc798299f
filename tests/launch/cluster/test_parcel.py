"""What travels to the cluster, and what must not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from orbiter_spec.compiler import compile_spec
from orbiter_spec.launch.cluster import parcel as parcels
from orbiter_spec.launch.cluster.parcel import STAYS_HERE, ParcelError, carry, packed
from orbiter_spec.launch.cluster.task import TASK_FILE, Task
from orbiter_spec.launch.secrets import Scrubber

QUICKSTART = Path(__file__).resolve().parents[3] / "specs" / "quickstart.yaml"
TASK = Task(
    run="abc",
    name="small",
    folder="",
    run_folder="/runs/small",
    attempt=1,
    retries=2,
    resume=False,
    total_steps=4,
    checkpoints="checkpoints",
    outputs={"trainer.default_local_dir": "checkpoints"},
    overrides=["trainer.logger=[console,file]"],
)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parcel") / "compiled"
    assert compile_spec(QUICKSTART, folder, sets=["hardware.cluster.kind=ray"]).folder is not None
    return folder


def test_the_parcel_is_what_verl_reads_and_what_runs_there(compiled: Path) -> None:
    with packed(compiled, TASK, Scrubber()) as parcel:
        names = {name for name, _ in parcel.files}
        assert {"verl.yaml", "data/train.parquet", "code/digits.py", "reward.py", TASK_FILE} <= names
        assert not names & set(STAYS_HERE)
        assert Task.read(parcel.path) == TASK
        assert str(parcel.bytes) not in ("", "0")
        path = parcel.path
    assert not path.exists()
    assert (compiled / "verl.yaml").is_file(), "the compiled folder is left as it was"


def test_a_secret_in_a_file_stops_the_parcel(compiled: Path) -> None:
    secret = (compiled / "code" / "digits.py").read_text(encoding="utf-8").split()[-1].ljust(6, "x")[:6]
    (compiled / "code" / "leak.py").write_text("KEY = 'sk-1234567890'\n", encoding="utf-8")
    try:
        with (
            pytest.raises(ParcelError, match=r"code/leak\.py holds the value of the secret API_KEY"),
            packed(compiled, TASK, Scrubber.of({"API_KEY": "sk-1234567890", "OTHER": f"{secret}-nowhere"})),
        ):
            pass
    finally:
        (compiled / "code" / "leak.py").unlink()


def test_a_parcel_above_the_limit_names_the_largest_files(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcels, "MAX_BYTES", 1000)
    with pytest.raises(ParcelError, match=r"the largest: model/model\.safetensors"), packed(compiled, TASK, Scrubber()):
        pass


def test_what_travels_needs_nothing_but_python(tmp_path: Path) -> None:
    carry(tmp_path)
    code = (
        "import sys; sys.path[0:0] = [sys.argv[1]]\n"
        "import orbiter_cluster.cluster.on_cluster, orbiter_cluster.cluster.inside, orbiter_cluster.cluster.sees\n"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in ('orbiter_spec', 'ruamel', 'ray')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
