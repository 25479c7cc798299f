"""Every id that the code can report has one page, every page an id, and one id is not used for two things.

Ids are collected from the code itself: every text in the package that names one, docstrings and pages apart. An id that
several rooms name means the same in each; which rooms may is written down in `SHARED`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from orbiter_spec.cli.explain_command import rule_page
from orbiter_spec.devtools.rule_pages import ALL
from orbiter_spec.explanations import HEADINGS, explanations
from orbiter_spec.rules.finding import rule_id

PACKAGE = Path(__file__).resolve().parent.parent / "orbiter_spec"
RULE_IDS = [rule_id(module) for module in ALL]
ENTRY_IDS = [entry.id for entry in explanations()]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SHARED: dict[str, set[str]] = {
    "ORB021": {"source", "spec"},  # a value of another type, where YAML or the schema wants one
    "ORB023": {"source", "spec"},  # a value that is not allowed, whoever bounds it
    "ORB406": {"data", "runner"},  # a file that is not there; runs refuse what checks warn of
    "ORB418": {"data", "runner"},
    "ORB490": {"rehearse", "trial"},  # the trial's findings, which a rehearsal leaves out for its toy model
    "ORB491": {"rehearse", "trial"},
    "ORB496": {"rehearse", "trial"},
    "ORB501": {"compiler", "launch", "runner"},  # a folder that cannot be written
    "ORB533": {"cli", "launch"},  # a silent cluster, said by status and logs too
    "ORB550": {"launch", "report"},  # no run folder
}


def named(path: Path) -> Iterator[str]:
    """The ids in the texts of one file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bodies = [node.body[0] for node in ast.walk(tree) if isinstance(node, DOCUMENTED) and node.body]
    docstrings = {id(first.value) for first in bodies if isinstance(first, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield from re.findall(r"(?<!ignore\[)\bORB\d{3}\b", node.value)


def rooms_by_id() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for id in named(path) if room != "devtools" else ():
            found.setdefault(id, set()).add(room)
    return found


REPORTED = rooms_by_id()


def test_the_collection_sees_the_code() -> None:
    assert len(REPORTED) > 130
    assert {"ORB001", "ORB406", "ORB533", "ORB662", "ORB901"} <= set(REPORTED)


def test_every_id_has_exactly_one_page_and_no_page_is_stale() -> None:
    pages = Counter([*RULE_IDS, *ENTRY_IDS])
    assert [id for id, count in pages.items() if count > 1] == []
    assert sorted(set(REPORTED) - set(pages)) == [], "explain these in orbiter_spec/explanations"
    assert sorted(set(ENTRY_IDS) - set(REPORTED)) == [], "nothing reports these any more"


def test_an_id_is_used_in_one_room_or_for_one_thing() -> None:
    several = {id: rooms for id, rooms in REPORTED.items() if len(rooms) > 1 and id not in RULE_IDS}
    assert several == SHARED


@pytest.mark.parametrize("id", sorted({*REPORTED, *RULE_IDS}))
def test_explain_prints_it(id: str) -> None:
    page = rule_page(id)
    assert page is not None and page.startswith(f"{id}: ")
    assert page.count("\n## ") >= 3


@pytest.mark.parametrize("entry", explanations(), ids=lambda entry: entry.id)
def test_an_entry_is_whole(entry) -> None:
    assert len(entry.paragraphs) == len(HEADINGS)
    assert len(entry.title) <= 80 and not entry.title.endswith(".")
    assert all(paragraph.endswith(".") for paragraph in entry.paragraphs), entry.id


def test_the_command_explains_what_no_rule_finds(cli) -> None:
    done = cli("explain", "orb406")
    assert done.returncode == 0
    assert done.stdout.startswith("ORB406: file or folder that is not there\n\n## What it means\n")
