"""The command line: arguments in, printing out.

Commands live in modules of their own and are imported when they are called, so that `--help` and a wrong option answer
at once. Exit codes: 0 done, 1 the spec has errors, 2 usage, 3 the run failed, 130 interrupted.
"""

from __future__ import annotations

import gc
import importlib
import os
from typing import Any

import click

from orbiter_spec import __version__

COMMANDS: dict[str, str] = {
    "init": "write a starter experiment",
    "validate": "check one or more specs",
    "plan": "show what would run where",
    "compile": "write verl's configuration",
    "data": "build rows, look at them, count them",
    "run": "train",
    "rehearse": "shrink a spec to this machine and really run it",
    "runs": "list run folders",
    "status": "say how a run stands",
    "logs": "print what verl printed in a run",
    "stop": "stop a run",
    "resume": "go on with a run",
    "evaluate": "score the validation rows, of the model or of a checkpoint",
    "export": "write a checkpoint as a Hugging Face folder",
    "report": "show what happened in a run, or compare several",
    "rewards": "try the declared rewards on known answers",
    "import": "turn a verl launch script into a spec",
    "explain": "say where a verl key comes from, or what a rule means",
    "diff": "compare two specs or compiled folders as verl configurations",
    "doctor": "say what this machine has and lacks for a run",
    "schema": "print the JSON Schema of the language",
}


class LazyGroup(click.Group):
    """A group whose commands are modules `orbiter_spec.cli.<name>_command`, loaded when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"orbiter_spec.cli.{cmd_name}_command")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands from the table, without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command when one is misspelt."""
        from orbiter_spec.diagnostics import nearest

        name = args[0] if args else ""
        if name and name not in COMMANDS and not name.startswith("-"):
            close = nearest(name, COMMANDS)
            hint = f" Did you mean {close!r}?" if close else ""
            raise click.UsageError(f"No such command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an exception that reaches this point is our bug and says so in one line."""
        gc.disable()  # commands are short: collecting what imports leave costs a tenth of their time
        try:
            return super().invoke(ctx)
        except (click.exceptions.ClickException, click.exceptions.Exit, click.exceptions.Abort, OSError):
            raise
        except Exception as error:
            if os.environ.get("ORBITER_DEBUG"):
                raise
            click.echo(
                f"error[ORB901]: orbiter-spec made a mistake: {type(error).__name__}: {error}\n"
                " = help: run again with ORBITER_DEBUG=1 and report what it prints",
                err=True,
            )
            raise SystemExit(1) from None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="orbiter-spec")
def main() -> None:
    """One experiment YAML becomes a checked plan, a verl configuration and a training run.

    Exit codes: 0 done, 1 the spec has errors, 2 usage, 3 the run failed, 130 interrupted.
    """
