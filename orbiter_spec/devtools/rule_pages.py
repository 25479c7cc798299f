"""One page for each id that is ever reported, and an index of them all.

The docstring of a rule or check is its page; what is added is the id and the slug. Other findings have an entry in
`orbiter_spec/explanations`. The pages stand in `docs/rules/`; `explain ORBnnn` prints the same text.
"""

from __future__ import annotations

from types import ModuleType

from orbiter_spec.explanations import Explanation, explanations
from orbiter_spec.lower.checks import CHECKS
from orbiter_spec.rules import RULES
from orbiter_spec.rules.site import SITE_RULES

FOLDER = "docs/rules"
ALL = (*RULES, *SITE_RULES, *CHECKS)
SUBJECTS = {
    "0": "Reading and shape",
    "1": "The experiment",
    "2": "Pools, batches and memory",
    "3": "Algorithm and rollout",
    "4": "Data, rewards and agent",
    "5": "The site",
    "6": "The verl target",
    "9": "Mistakes of orbiter-spec",
}
INTRODUCTION = """\
# Findings

Each finding has an id, and a page here that `orbiter-spec explain ORB203` prints. A comment
`# orbiter: ignore[ORB203] reason` at the end of a line silences one finding.

A page with Bad and Good is that of a rule, which looks at a plan before anything starts. Rules of the hundreds 1 to 4
read words of the language; those of 5 ask the machines (`validate --site`, and before every run); those of 6 read the
resolved verl configuration, so they hold for imported scripts and `verl.overrides`. The other pages tell what is found
while a spec is read, its code and data are looked at, or a run is started, rehearsed or imported.
"""


def rule_files() -> dict[str, str]:
    """Path below the project's root to page, for every id, and the index."""
    pages = {f"{FOLDER}/{_id(module)}.md": page(module) for module in ALL}
    others = {f"{FOLDER}/{entry.id}.md": plain_page(entry) for entry in explanations()}
    return {**pages, **others, f"{FOLDER}/README.md": index()}


def page(module: ModuleType) -> str:
    """The page of one rule."""
    heading, _, body = (module.__doc__ or "").strip().partition("\n")
    return f"# {_id(module)}: {heading}\n\n`{_slug(module)}`\n{body}\n"


def plain_page(entry: Explanation) -> str:
    """The page of a finding that no rule makes."""
    return f"# {entry.id}: {entry.title}\n\n{entry.body}\n"


def index() -> str:
    """All ids by subject, one a line."""
    return INTRODUCTION + "".join(_subject(number, name) for number, name in SUBJECTS.items())


def _subject(number: str, name: str) -> str:
    lines = "".join(f"- [{rule}]({rule}.md) {heading}\n" for rule, heading in _rows(number))
    return f"\n## {name}\n\n{lines}"


def _rows(number: str) -> list[tuple[str, str]]:
    rows = [(_id(module), (module.__doc__ or "").strip().splitlines()[0]) for module in ALL]
    rows += [(entry.id, entry.title) for entry in explanations()]
    return sorted(row for row in rows if row[0][3] == number)


def _stem(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _id(module: ModuleType) -> str:
    return _stem(module).partition("_")[0].upper()


def _slug(module: ModuleType) -> str:
    return _stem(module).partition("_")[2]
