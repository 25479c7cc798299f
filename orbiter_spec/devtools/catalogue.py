"""`python -m orbiter_spec.devtools.catalogue VERSION [--config-dir DIR]` writes one verl release down as data.

The configuration trees are composed by Hydra, interpolations left as they are; everything else is read from verl's
source text, so that a release needs unpacking only: `pip download --no-deps verl==VERSION`, unzip, and DIR is its
`verl/trainer/config`.
Written per release: `<engine>.json`, the composed tree; `facts.json`, what is accepted beyond it and what the
registries hold; `keys.json`, comments and types, which only `explain` loads.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from orbiter_spec.devtools.catalogue_comments import comments
from orbiter_spec.devtools.catalogue_fields import Fields, read_fields
from orbiter_spec.devtools.catalogue_registries import registries

TARGETS = Path(__file__).resolve().parents[1] / "lower" / "targets"
ROOT_CONFIG = "ppo_trainer"


def installed_config_dir() -> Path:
    """The configuration folder of the verl that is installed; RuntimeError without one."""
    found = find_spec("verl")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("verl is not installed: pass --config-dir")
    return Path(next(iter(found.submodule_search_locations))) / "trainer" / "config"


def build(config_dir: Path) -> dict[str, str]:
    """File name to text for the release that `config_dir` belongs to."""
    package = config_dir.parents[1]
    trees: dict[str, dict[str, Any]] = {}
    docs: dict[str, dict[str, str]] = {}
    for engine in sorted(path.stem for path in (config_dir / "model_engine").glob("*.yaml")):
        trees[engine], files = _compose(config_dir, engine)
        docs[engine] = comments(files)
    fields = {engine: read_fields(package, tree) for engine, tree in trees.items()}
    facts = {
        "engines": list(trees),
        "registries": registries(package),
        "free": {engine: sorted(found.free) for engine, found in fields.items()},
        "beyond": _by_engine({engine: found.beyond for engine, found in fields.items()}),
    }
    types = {engine: found.types for engine, found in fields.items()}
    keys = {"docs": _by_engine(_docs(docs, fields), everywhere=False), "types": _by_engine(types, everywhere=False)}
    named = {**trees, "facts": facts, "keys": keys}
    return {f"{name}.json": _text(content) for name, content in named.items()}


def _compose(config_dir: Path, engine: str) -> tuple[dict[str, Any], list[tuple[Path, str]]]:
    """The composed tree, and the files it came from with the package of each, in Hydra's order."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.types import RunMode
    from omegaconf import OmegaConf

    overrides = [f"model_engine={engine}"]
    with initialize_config_dir(str(config_dir.resolve()), version_base=None):
        tree = OmegaConf.to_container(compose(ROOT_CONFIG, overrides=overrides), resolve=False)
        loader = GlobalHydra.instance().config_loader()
        chosen = loader.compute_defaults_list(ROOT_CONFIG, overrides, RunMode.RUN).defaults
    files = [(config_dir / f"{item.config_path}.yaml", item.package or "") for item in chosen]
    return dict(tree), [(path, package) for path, package in files if path.is_file()]


def _docs(written: Mapping[str, dict[str, str]], fields: Mapping[str, Fields]) -> dict[str, dict[str, str]]:
    return {engine: {**fields[engine].docs, **written[engine]} for engine in written}


def _by_engine(tables: Mapping[str, Mapping[str, str]], *, everywhere: bool = True) -> dict[str, Any]:
    """Key to what the engines agree on, or a table by engine; `everywhere` asks that all of them have the key."""
    merged: dict[str, Any] = {}
    for key in sorted({key for table in tables.values() for key in table}):
        said = {engine: table[key] for engine, table in tables.items() if key in table}
        alike = len(set(said.values())) == 1 and (len(said) == len(tables) or not everywhere)
        merged[key] = next(iter(said.values())) if alike else said
    return merged


def _text(content: Any) -> str:
    """One key a line and no indentation: small, quick to read, and a difference shows as lines."""
    return json.dumps(content, indent=0, separators=(",", ":"), ensure_ascii=False) + "\n"


def main() -> None:
    """Write the files of one release."""
    parser = argparse.ArgumentParser(prog="python -m orbiter_spec.devtools.catalogue", description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--config-dir", type=Path, default=None)
    arguments = parser.parse_args()
    try:
        files = build(arguments.config_dir or installed_config_dir())
    except RuntimeError as problem:
        raise SystemExit(str(problem)) from None
    folder = TARGETS / arguments.version
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        print(folder / name)


if __name__ == "__main__":
    main()
