"""`verl`: the target release, and the hatch for keys the language has no word for."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from orbiter_spec.spec.base import Section


class Verl(Section):
    """The target release, and the hatch."""

    version: Literal["0.8.0", "0.9.0", "0.9.1"] | None = Field(None, description="Target release. Left out: 0.9.1.")
    defaults: bool | None = Field(
        None,
        description="What is left out keeps verl's own default instead of being planned, as in an imported script. "
        "Left out: false.",
    )
    overrides: dict[str, Any] | None = Field(
        None, description="verl keys set as they are; each is checked against the target's catalogue. Left out: none."
    )
