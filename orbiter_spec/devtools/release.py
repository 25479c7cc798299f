"""`python -m orbiter_spec.devtools.release VERSION` starts a new target: catalogue, and what a person has to decide.

It unpacks the release, writes its catalogue, and prints how it differs from the newest target: keys that are gone and
have no rule yet, fields of the language whose key is gone, defaults and names that changed. docs/adding-a-release.md
says what to do with each. `--output` writes the catalogue elsewhere, to look before touching anything.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from orbiter_spec.devtools import differences
from orbiter_spec.devtools.catalogue import TARGETS, build
from orbiter_spec.devtools.releases import FetchError, config_dir
from orbiter_spec.lower.target import TARGET_VERSIONS, Target, load_target


def main() -> None:
    """Write the catalogue and print the differences."""
    parser = argparse.ArgumentParser(prog="python -m orbiter_spec.devtools.release", description=__doc__)
    parser.add_argument("version", metavar="VERSION")
    parser.add_argument(
        "--against", default=TARGET_VERSIONS[-1], choices=TARGET_VERSIONS, help="release to compare with"
    )
    parser.add_argument("--output", type=Path, default=TARGETS, help="folder that gets the catalogue's folder")
    arguments = parser.parse_args()
    try:
        files = build(config_dir(arguments.version))
    except FetchError as problem:
        raise SystemExit(str(problem)) from None
    folder = arguments.output / arguments.version
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
    print(f"{folder}: {len(files)} files")
    for line in report(load_target(arguments.against), Target(arguments.version, arguments.output)):
        print(line)


def report(old: Target, new: Target) -> list[str]:
    """What a person has to look at, then the table."""
    lost = differences.unexplained(old, new)
    orphans = differences.orphans(new)
    return [
        f"{len(lost)} keys are gone and importing has no rule for them (importing/stale.py):",
        *(f"  {key}" for key in lost),
        f"{len(orphans)} fields set a key that the release does not take (lower/):",
        *(f"  {field}: {key}" for field, key in orphans),
        "",
        differences.text(old, new),
    ]


if __name__ == "__main__":
    main()
