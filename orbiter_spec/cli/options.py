"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from orbiter_spec.cli.output import FORMATS

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

set_option: Decorator = click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="PATH=VALUE",
    help="Replace a value of the spec, typed like YAML, as in algorithm.learning_rate=1e-5.",
)
target_option: Decorator = click.option(
    "--target", metavar="VERSION", help="verl release to compile for, instead of the spec's verl.version."
)
format_option: Decorator = click.option(
    "--format", "style", type=click.Choice(FORMATS), default="text", show_default=True, help="How findings are printed."
)
strict_option: Decorator = click.option("--strict", is_flag=True, help="Warnings fail as errors do.")
