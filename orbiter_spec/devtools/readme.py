"""The examples in README.md, made by the program they show."""

from __future__ import annotations

import os
from pathlib import Path

from orbiter_spec.cli import COMMANDS
from orbiter_spec.compiler import check
from orbiter_spec.diagnostics.text import render

ROOT = Path(__file__).resolve().parents[2]
MISTAKES = ("algorithm.batch.minibatch=48", "hardware.rollout.tensor_parallel=3")


def readme_file() -> dict[str, str]:
    """README.md with every marked part made anew."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    parts = (("spec", spec_example()), ("commands", command_table()), ("diagnostics", diagnostics_example()))
    for name, part in parts:
        before, mark, rest = text.partition(f"<!-- generated: {name} -->\n")
        text = before + mark + part + rest[rest.index("<!-- end -->") :]
    return {"README.md": text}


def spec_example() -> str:
    """The GRPO example as it stands in specs/."""
    text = (ROOT / "specs" / "grpo-7b-8gpu.yaml").read_text(encoding="utf-8")
    return f"```yaml\n{text}```\n"


def command_table() -> str:
    """Every command with what it does."""
    rows = (f"| `{name}` | {does} |\n" for name, does in COMMANDS.items())
    return "| Command | Does |\n| --- | --- |\n" + "".join(rows)


def diagnostics_example() -> str:
    """What `validate` says about the same spec with two numbers that do not divide."""
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        report = check("specs/grpo-7b-8gpu.yaml", sets=MISTAKES).report
    finally:
        os.chdir(before)
    return f"```text\n{render(report)}\n```\n"
