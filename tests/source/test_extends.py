from __future__ import annotations

import os
from pathlib import Path

import pytest

from orbiter_spec.diagnostics import Diagnostic
from orbiter_spec.source import Document, read
from orbiter_spec.source.limits import MAX_EXTENDS, MAX_FILES
from tests.source.helpers import marked, spot


def files(folder: Path, **texts: str) -> Path:
    """Write `name.yaml` files (two underscores make a folder); returns the path of `spec`."""
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "spec.yaml"


def loaded(path: Path, **options: object) -> Document:
    found_document, found = read(path, environ={}, **options)  # type: ignore[arg-type]
    assert found == []
    assert found_document is not None
    return found_document


def refused(path: Path) -> Diagnostic:
    found_document, found = read(path, environ={})
    assert found_document is None
    assert len(found) == 1, found
    return found[0]


def test_this_file_wins_key_by_key_and_lists_replace(tmp_path: Path) -> None:
    base = "a: {x: 1, y: {z: 2}}\nl: [1, 2]\nonly: here\n"
    spec = files(tmp_path, base=base, spec="extends: base.yaml\na: {y: {w: 3}, x: 9}\nl: [3]\nnew: 1\n")
    assert loaded(spec).data == {"a": {"x": 9, "y": {"z": 2, "w": 3}}, "l": [3], "only": "here", "new": 1}


def test_later_bases_win_over_earlier_ones(tmp_path: Path) -> None:
    spec = files(tmp_path, one="a: 1\nb: 1\nc: 1", two="a: 2\nb: 2", spec="extends: [one.yaml, two.yaml]\na: 3")
    assert loaded(spec).data == {"a": 3, "b": 2, "c": 1}


def test_null_takes_a_value_back(tmp_path: Path) -> None:
    spec = files(tmp_path, base="a: 1\nb: {c: 1}", spec="extends: base.yaml\na:\nb:\n")
    assert loaded(spec).data == {"a": None, "b": None}


def test_places_and_folders_are_those_of_the_file_that_wrote_the_value(tmp_path: Path) -> None:
    spec = files(tmp_path, shared__base="a: {x: 1,\n  y: 2}", spec="extends: shared/base.yaml\na: {x: 9}\n")
    found = loaded(spec)
    assert found.files == (spec, tmp_path / "shared" / "base.yaml")
    assert (found.place(("a", "y")).file, spot(found.place(("a", "y")))) == (str(tmp_path / "shared/base.yaml"), (2, 6))
    assert (found.place(("a", "x")).file, spot(found.place(("a", "x")))) == (str(spec), (2, 8))
    assert found.base(("a", "y")) == tmp_path / "shared"
    assert found.base(("a", "x")) == tmp_path
    assert found.base(("nothing", "here")) == tmp_path


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    spec = files(
        tmp_path, root="a: 1", shared__middle="extends: ../root.yaml\nb: 2", spec="extends: shared/middle.yaml"
    )
    found = loaded(spec)
    assert found.data == {"b": 2, "a": 1} or found.data == {"a": 1, "b": 2}
    assert found.files[-1] == tmp_path / "root.yaml"


def test_names_are_relative_when_the_spec_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(tmp_path, shared__base="a: 1", spec="extends: shared/base.yaml")
    monkeypatch.chdir(tmp_path)
    assert loaded(Path("spec.yaml")).place(("a",)).file == "shared/base.yaml"
    text_document, found = read(None, text="extends: spec.yaml\nb: 2")
    assert found == []
    assert text_document is not None
    assert text_document.data == {"a": 1, "b": 2}


def test_one_base_may_be_reached_on_two_ways(tmp_path: Path) -> None:
    base = {"root": "a: 1", "one": "extends: root.yaml", "two": "extends: root.yaml\nb: 2"}
    assert loaded(files(tmp_path, **base, spec="extends: [one.yaml, two.yaml]")).data == {"a": 1, "b": 2}


def test_cycle_is_shown_where_it_closes(tmp_path: Path) -> None:
    spec = files(tmp_path, base="a: 1\nextends: [spec.yaml]", spec="extends: base.yaml")
    found = refused(spec)
    assert found.id == "ORB010"
    assert found.place is not None
    assert (found.place.file, marked(found.place)) == (str(tmp_path / "base.yaml"), "spec.yaml")
    assert found.note == f"{spec} -> {tmp_path / 'base.yaml'} -> {spec}"


def test_cycle_behind_a_link(tmp_path: Path) -> None:
    spec = files(tmp_path, spec="extends: other.yaml")
    os.symlink(spec, tmp_path / "other.yaml")
    assert refused(spec).id == "ORB010"


def test_missing_base_is_shown_where_it_is_named(tmp_path: Path) -> None:
    found = refused(files(tmp_path, base="a: 1", spec="a: 1\nextends: bsae.yaml"))
    assert found.id == "ORB010"
    assert (spot(found.place), marked(found.place)) == ((2, 10), "bsae.yaml")
    assert "base.yaml" in found.help


def test_folder_as_base(tmp_path: Path) -> None:
    assert refused(files(tmp_path, spec="extends: .")).id == "ORB010"


@pytest.mark.parametrize("value", ["3", "{a: 1}", "[base.yaml, 3]", "true", '""'])
def test_extends_takes_paths(tmp_path: Path, value: str) -> None:
    found = refused(files(tmp_path, base="a: 1", spec=f"extends: {value}"))
    assert found.id == "ORB021"


@pytest.mark.parametrize("value", ["", "[]", "~"])
def test_extends_may_be_empty(tmp_path: Path, value: str) -> None:
    assert loaded(files(tmp_path, spec=f"extends: {value}\na: 1")).data == {"a": 1}


@pytest.mark.parametrize(("text", "id"), [("a: [", "ORB005"), ("", "ORB009"), ("[1]", "ORB009"), ("\x00", "ORB003")])
def test_broken_base_is_shown_itself(tmp_path: Path, text: str, id: str) -> None:
    found = refused(files(tmp_path, base=text, spec="extends: base.yaml"))
    assert found.id == id
    assert found.place is not None
    assert found.place.file == str(tmp_path / "base.yaml")


def test_mistakes_of_all_files_come_together(tmp_path: Path) -> None:
    spec = files(tmp_path, base="a: 1\na: 2\nb: .nan", spec="extends: base.yaml\nc: 1\nc: 2\nd: ${env:NOPE}")
    _, found = read(spec, environ={})
    assert sorted(problem.id for problem in found) == ["ORB006", "ORB006", "ORB011", "ORB024"]


def test_depth_and_number_of_files_are_bounded(tmp_path: Path) -> None:
    chain = {f"f{level}": f"extends: f{level + 1}.yaml" for level in range(MAX_EXTENDS + 1)}
    assert "deep" in refused(files(tmp_path, **chain, spec="extends: f0.yaml")).message
    tree = {f"t{level}": f"extends: [t{level + 1}.yaml, t{level + 1}.yaml]" for level in range(10)}
    found = read(files(tmp_path, **tree, t10="a: 1", spec="extends: t0.yaml"))[1]
    assert {problem.message for problem in found} == {f"spec extends more than {MAX_FILES} files"}


def test_mapping_is_laid_over_a_shorthand(tmp_path: Path) -> None:
    table = {("algorithm",): "name"}
    spec = files(tmp_path, base="algorithm: grpo", spec="extends: base.yaml\nalgorithm: {epochs: 3}")
    assert loaded(spec, shorthand=table.get).data == {"algorithm": {"name": "grpo", "epochs": 3}}
    assert loaded(spec).data == {"algorithm": {"epochs": 3}}


def test_base_named_by_the_environment(tmp_path: Path) -> None:
    spec = files(tmp_path, base="a: 1", spec="extends: ${env:BASE,base}.yaml")
    assert loaded(spec).data == {"a": 1}
