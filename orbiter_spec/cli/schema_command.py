"""`orbiter-spec schema`: the JSON Schema of the language."""

from __future__ import annotations

import click


@click.command(
    epilog="In an editor with the YAML language server, put this on the first line of a spec: "
    "# yaml-language-server: $schema=PATH/experiment.schema.json"
)
def command() -> None:
    """Print the JSON Schema, for editors and for other tools."""
    from orbiter_spec.spec.schema import packaged_schema, schema_text

    click.echo(schema_text(packaged_schema()), nl=False)
