"""Settings to verl's complete, resolved configuration, and the three forms it is written in.

Hydra does the same from verl's YAML files, but one composition costs it 0.6 to 0.8 s and OmegaConf's resolution another
0.15 s, before either has been imported (0.25 s). Here the composed tree of each engine is generated data and a
configuration takes a few milliseconds; tests hold the two equal for every engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orbiter_spec.lower.interpolation import Resolver, literal
from orbiter_spec.lower.minimal import minimal_overrides
from orbiter_spec.lower.target import Target
from orbiter_spec.lower.tree import REMOVED, ComposeError, Tree, put
from orbiter_spec.lower.yaml_text import dump_verl_yaml

__all__ = ["REMOVED", "ComposeError", "compose", "compose_raw", "dump_verl_yaml", "literal", "minimal_overrides"]


def compose(target: Target, engine: str, settings: Mapping[str, Any]) -> Tree:
    """The configuration that Hydra composes and OmegaConf resolves from the same settings, in the same order of keys.

    `settings` maps dotted keys to values and is applied in its order; a string value may hold interpolations (`literal`
    writes one that does not mean to), a mapping merges, REMOVED takes a key out. Raises ComposeError for an
    interpolation that cannot be resolved and for an item that a list does not have.
    """
    return Resolver(compose_raw(target, engine, settings)).whole()


def compose_raw(target: Target, engine: str, settings: Mapping[str, Any]) -> Tree:
    """The same before interpolations are resolved."""
    tree = target.tree(engine)
    for key, value in settings.items():
        if key != "model_engine":
            put(tree, key, value)
        elif value != engine:
            raise ComposeError(key, f"it is {engine}, which chose the tree, and cannot be set to {value}")
    return tree
