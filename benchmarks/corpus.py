"""How well `import` does on a file of launch commands: every entry against Hydra's own composition of the installed
verl.

    python benchmarks/corpus.py FILE.json [--no-hydra]

FILE.json is a list of entries with `id`, `engine`, `config_name`, `overrides` and, where the commands no longer
compose, `repaired.overrides`. Each entry is imported, its spec is read again and compiled, and the result is
compared key for key with what Hydra composes from the repaired overrides. Prints one row an engine, then what went
wrong, and exits 1 if anything did. `--no-hydra` compares with our own composition instead. Milliseconds are CPU
time of this process, beyond start-up: those of import and compile together, and those of one Hydra composition.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from orbiter_spec.importing import Imported, import_text
from orbiter_spec.importing.check import compiled_text
from orbiter_spec.importing.compare import Difference, differences, flatten, roles_off
from orbiter_spec.lower.compose import compose
from orbiter_spec.lower.overrides import parse_override
from orbiter_spec.lower.target import Target, load_target

Compose = Callable[[list[str], str], dict[str, Any]]


@dataclass
class Row:
    """The results of one engine."""

    entries: int = 0
    gone: int = 0
    equal: int = 0
    changed: int = 0
    hatched: int = 0
    stale: int = 0
    stale_told: int = 0
    spec_lines: list[int] = field(default_factory=list)
    overrides: list[int] = field(default_factory=list)
    import_ms: list[float] = field(default_factory=list)
    compile_ms: list[float] = field(default_factory=list)
    hydra_ms: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def hydra_composer() -> Compose:
    """Composition by Hydra from the installed verl's own configuration folder."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf

    found = find_spec("verl")
    if found is None or found.origin is None:
        raise SystemExit("verl is not installed; use --no-hydra")
    folder = str(Path(found.origin).parent / "trainer" / "config")
    initialize_config_dir(folder, version_base=None).__enter__()

    def run(overrides: list[str], config_name: str) -> dict[str, Any]:
        composed = OmegaConf.to_container(hydra_compose(config_name, overrides), resolve=True)
        assert isinstance(composed, dict)
        return flatten({str(key): value for key, value in composed.items()})

    return run


def own_composer(target: Target) -> Compose:
    """Composition by our own catalogue."""

    def run(overrides: list[str], config_name: str) -> dict[str, Any]:
        parsed = [parse_override(text) for text in overrides]
        engine = "megatron" if "megatron" in config_name else "dp"
        engine = next((str(item.value) for item in parsed if item.key == "model_engine"), engine)
        settings = {item.key: item.value for item in parsed if item.key != "model_engine"}
        return flatten(compose(target, engine, settings))

    return run


def measure(entry: Mapping[str, Any], target: Target, composer: Compose, row: Row) -> None:
    """Import, compile and compare one entry."""
    written = list(entry["overrides"])
    repaired = entry.get("repaired") or {}
    row.entries += 1
    row.overrides.append(len(written))
    before = time.process_time()
    imported = import_text("\n".join(written), name=entry["id"], config_name=entry["config_name"], target=target)
    row.import_ms.append(1000 * (time.process_time() - before))
    _stale(entry, imported, row)
    if imported.spec_text is None:
        row.gone += 1
        if entry["composes"] or repaired.get("composes"):
            row.wrong.append(f"{entry['id']}: not imported: {imported.report.diagnostics[0].message}")
        return
    row.spec_lines.append(sum(bool(line.strip()) and line[0] != "#" for line in imported.spec_text.splitlines()))
    before = time.process_time()
    try:
        compiled = compiled_text(imported.spec_text, target)
    except ValueError as problem:
        row.wrong.append(f"{entry['id']}: the spec is refused: {problem}")
        return
    row.compile_ms.append(1000 * (time.process_time() - before))
    before = time.process_time()
    original = composer(repaired.get("overrides") or written, entry["config_name"])
    row.hydra_ms.append(1000 * (time.process_time() - before))
    left = differences(original, compiled)
    _changes(original, imported, target, row)
    row.equal += not left
    row.wrong += [_wrong(entry["id"], found) for found in left]


def _wrong(name: str, found: Difference) -> str:
    return f"{name}: {found.key} is {found.original!r}, compiled to {found.compiled!r}"


def _changes(original: Mapping[str, Any], imported: Imported, target: Target, row: Row) -> None:
    """Count the leaves that differ from verl's defaults, and those of them that went through the hatch."""
    defaults = flatten(compose(target, imported.engine, {}))
    off = tuple(roles_off(original))
    changed = [key for key, value in original.items() if value != defaults.get(key) and not key.startswith(off)]
    row.changed += len(changed)
    row.hatched += sum(key in imported.hatch for key in changed)


def _stale(entry: Mapping[str, Any], imported: Imported, row: Row) -> None:
    told = " ".join(found.message for found in imported.diagnostics)
    keys = {text.lstrip("+~").partition("=")[0] for text in entry.get("blocking") or ()}
    row.stale += len(keys)
    for key in sorted(keys):
        if key in told or key.partition("@")[0] in told:
            row.stale_told += 1
        elif key in imported.settings or (imported.spec_text is None and _engine_gone(told)):
            row.stale_told += 1  # kept under the engine that was meant, or gone together with its engine
        else:
            row.wrong.append(f"{entry['id']}: nothing was said about {key}")


def _engine_gone(told: str) -> bool:
    return "no engine" in told or "chooses a group" in told


def table(rows: Mapping[str, Row]) -> str:
    """One row an engine, then all together."""
    header = (
        "engine",
        "entries",
        "equal",
        "gone",
        "by fields",
        "stale told",
        "lines",
        "overrides",
        "ms",
        "Hydra ms",
        "ratio",
    )
    lines = [header, *(_cells(name, row) for name, row in rows.items())]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def _cells(name: str, row: Row) -> tuple[str, ...]:
    share = f"{100 * (row.changed - row.hatched) / row.changed:.1f}%" if row.changed else "-"
    ours = _mean(row.import_ms) + _mean(row.compile_ms)
    hydra = _mean(row.hydra_ms)
    return (
        name,
        str(row.entries),
        str(row.equal),
        str(row.gone),
        share,
        f"{row.stale_told}/{row.stale}",
        f"{statistics.median(row.spec_lines):g}" if row.spec_lines else "-",
        f"{statistics.median(row.overrides):g}",
        f"{ours:.1f}",
        f"{hydra:.0f}",
        f"{ours / hydra:.2f}" if hydra else "-",
    )


def _mean(values: list[float]) -> float:
    return statistics.fmean(values) if values else 0.0


def run(entries: list[Mapping[str, Any]], composer: Compose, target: Target) -> dict[str, Row]:
    """Every entry, by engine, and all together under `all`."""
    rows: dict[str, Row] = defaultdict(Row)
    import_text("data.seed=1", target=target)
    for entry in entries:
        measure(entry, target, composer, rows[entry["engine"]])
    return dict(rows) | {"all": _sum(list(rows.values()))}


def _sum(rows: list[Row]) -> Row:
    total = Row()
    for row in rows:
        for name, value in vars(row).items():
            setattr(total, name, getattr(total, name) + value)
    return total


def main() -> int:
    """Print the table; 1 when an entry is not equal, a stale key is not told, or less than 95% is said by fields."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("file", type=Path)
    parser.add_argument("--no-hydra", action="store_true", help="compare with our own composition")
    options = parser.parse_args()
    target = load_target("0.9.1")
    entries = json.loads(options.file.read_text(encoding="utf-8"))
    rows = run(entries, own_composer(target) if options.no_hydra else hydra_composer(), target)
    print(table(rows))
    wrong = rows["all"].wrong
    print("\n".join(wrong))
    below = [name for name, row in rows.items() if row.changed and (row.changed - row.hatched) / row.changed < 0.95]
    print(f"{len(wrong)} problems; below 95% by fields: {', '.join(below) or 'none'}")
    return 1 if wrong or below else 0


if __name__ == "__main__":
    sys.exit(main())
