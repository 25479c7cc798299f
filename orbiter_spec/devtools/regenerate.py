"""Every generated file and the code it comes from. A test compares them, so that none goes stale."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orbiter_spec.devtools.differences import page as differences_page
from orbiter_spec.devtools.field_pages import field_files
from orbiter_spec.devtools.readme import readme_file
from orbiter_spec.devtools.rule_pages import rule_files
from orbiter_spec.spec.schema import generate_schema, schema_text

ROOT = Path(__file__).resolve().parents[2]


def schema_files() -> dict[str, str]:
    """The schema for editors and the copy that ships with the package."""
    text = schema_text(generate_schema())
    return {"schemas/experiment.schema.json": text, "orbiter_spec/spec/experiment.schema.json": text}


GENERATORS: tuple[Callable[[], dict[str, str]], ...] = (
    schema_files,
    rule_files,
    field_files,
    readme_file,
    differences_page,
)


def generated() -> dict[str, str]:
    """Path below the project's root to the text that belongs there."""
    return {path: text for generator in GENERATORS for path, text in generator().items()}


def regenerate() -> list[str]:
    """Write what has changed; returns those paths."""
    changed = []
    for name, text in generated().items():
        path = ROOT / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            changed.append(name)
    return changed
