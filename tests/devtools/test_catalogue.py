"""The committed catalogue is what the installed verl says."""

from __future__ import annotations

import json
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from orbiter_spec.devtools.catalogue import TARGETS, build, installed_config_dir, main
from orbiter_spec.devtools.catalogue_classes import Sources, takes_mapping
from orbiter_spec.devtools.catalogue_comments import comments
from orbiter_spec.devtools.releases import FetchError, config_dir
from orbiter_spec.lower.target import TARGET_VERSIONS

needs_verl = pytest.mark.skipif(find_spec("verl") is None or find_spec("hydra") is None, reason="verl is not installed")


@needs_verl
def test_catalogue_of_the_installed_release_is_up_to_date() -> None:
    folder = TARGETS / version("verl")
    built = build(installed_config_dir())
    assert {path.name for path in folder.iterdir()} == set(built)
    for name, text in built.items():
        assert (folder / name).read_text(encoding="utf-8") == text, (
            f"run python -m orbiter_spec.devtools.catalogue {folder.name}"
        )


@needs_verl
@pytest.mark.parametrize("release", [release for release in TARGET_VERSIONS if release != version("verl")])
def test_catalogue_of_an_unpacked_release_is_up_to_date(release: str) -> None:
    try:
        folder = config_dir(release)
    except FetchError as problem:
        pytest.skip(str(problem))
    for name, text in build(folder).items():
        assert (TARGETS / release / name).read_text(encoding="utf-8") == text, name


def test_every_target_has_a_folder_and_no_other_is_there() -> None:
    assert sorted(path.name for path in TARGETS.iterdir()) == list(TARGET_VERSIONS)
    for folder in TARGETS.iterdir():
        engines = json.loads((folder / "facts.json").read_text(encoding="utf-8"))["engines"]
        assert {path.stem for path in folder.iterdir()} == {*engines, "facts", "keys"}


@needs_verl
def test_types_agree_with_verl_itself() -> None:
    """The source reading against the dataclasses, where importing them is possible."""
    config = pytest.importorskip("verl.workers.config")
    from dataclasses import fields

    sources = Sources(installed_config_dir().parents[1])
    for name in ("RolloutConfig", "FSDPActorConfig", "McoreActorConfig", "HFModelConfig", "FSDPEngineConfig"):
        theirs = {
            field.name for field in fields(getattr(config, name)) if field.init and not field.name.startswith("_")
        }
        assert set(sources.fields(f"verl.workers.config.{name}")) == theirs


def test_which_annotations_take_mappings() -> None:
    assert takes_mapping("Optional[dict]")
    assert takes_mapping("dict[str, Any] | None")
    assert not takes_mapping("Optional[int]")
    assert not takes_mapping("list[dict]")


def test_comments_above_and_beside_keys(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("# head\n\n# first\n# second\na: 1\nb:\n\n  # inner\n  c: 2 # beside\n")
    (tmp_path / "two.yaml").write_text("# later\na: 2\n\nc: 3\n# Required when using verl.utils\n_target_: x\n")
    found = comments([(tmp_path / "one.yaml", "p.q"), (tmp_path / "two.yaml", "p.q")])
    assert found == {"p.q.a": "later", "p.q.b.c": "inner\nbeside"}


def test_a_release_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orbiter_spec.devtools.catalogue.find_spec", lambda name: None)
    monkeypatch.setattr("sys.argv", ["catalogue", "9.9.9"])
    with pytest.raises(SystemExit, match="not installed"):
        main()
    assert not (TARGETS / "9.9.9").exists()
