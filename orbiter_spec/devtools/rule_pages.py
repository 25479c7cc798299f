"""One page for each rule and check, made from its docstring, and an index of them all.

The docstring is the page; what is added is the id and the slug. The pages stand in `docs/rules/`; `explain ORBnnn`
prints the same text.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from orbiter_spec.lower.checks import CHECKS
from orbiter_spec.rules import RULES
from orbiter_spec.rules.site import SITE_RULES

FOLDER = "docs/rules"
ALL = (*RULES, *SITE_RULES, *CHECKS)
SUBJECTS = {
    "1": "The experiment",
    "2": "Pools, batches and memory",
    "3": "Algorithm and rollout",
    "4": "Data, rewards and agent",
    "5": "The site",
    "6": "The verl target",
}
INTRODUCTION = """\
# Rules

Each rule looks at a plan before anything starts. `orbiter-spec explain ORB203` prints a page here, and a comment
`# orbiter: ignore[ORB203] reason` at the end of a line silences one finding. Rules of the hundreds 1 to 4 read words of
the language; those of 5 ask the machines (`validate --site`, and before every run); those of 6 read the resolved verl
configuration, so they hold for imported scripts and `verl.overrides`.
"""


def rule_files() -> dict[str, str]:
    """Path below the project's root to page, for every rule, and the index."""
    pages = {f"{FOLDER}/{_id(module)}.md": page(module) for module in ALL}
    return {**pages, f"{FOLDER}/README.md": index()}


def page(module: ModuleType) -> str:
    """The page of one rule."""
    heading, _, body = (module.__doc__ or "").strip().partition("\n")
    return f"# {_id(module)}: {heading}\n\n`{_slug(module)}`\n{body}\n"


def index() -> str:
    """All rules by subject, one a line."""
    return INTRODUCTION + "".join(_subject(number, name) for number, name in SUBJECTS.items())


def _subject(number: str, name: str) -> str:
    lines = "".join(f"- [{rule}]({rule}.md) {heading}\n" for rule, heading in _rows(number))
    return f"\n## {name}\n\n{lines}"


def _rows(number: str) -> Iterator[tuple[str, str]]:
    for module in ALL:
        if _id(module)[3] == number:
            yield _id(module), (module.__doc__ or "").strip().splitlines()[0]


def _stem(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _id(module: ModuleType) -> str:
    return _stem(module).partition("_")[0].upper()


def _slug(module: ModuleType) -> str:
    return _stem(module).partition("_")[2]
