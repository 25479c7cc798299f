"""Overrides to settings that the target knows: old keys rewritten and told, unknown ones told and left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from orbiter_spec.diagnostics import Diagnostic, Severity, nearest
from orbiter_spec.importing.reading import Line, Read, Text
from orbiter_spec.importing.stale import (
    DOUBTS,
    ENGINES,
    NEEDED,
    VALUES,
    change_of,
    known_until,
    matching,
    moved,
)
from orbiter_spec.lower.compose import REMOVED
from orbiter_spec.lower.overrides import Override, OverrideError, parse_override
from orbiter_spec.lower.target import Target

CONFIG_ENGINES = {
    "ppo_trainer": "dp",
    "ppo_megatron_trainer": "megatron",
    "_generated_ppo_trainer": "dp",
    "_generated_ppo_megatron_trainer": "megatron",
    "_generated_ppo_veomni_trainer": "veomni",
    "_generated_ppo_torchtitan_trainer": "torchtitan",
}

NEAREST_KEYS = 10
"""Unknown keys for which the nearest known one is looked up; each look costs a fifth of a second."""


@dataclass
class Settings:
    """What the run sets: engine, key to value in order, where each was written, and what had to be said."""

    engine: str = "dp"
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    count: int = 0


def settle(read: Read, text: Text, target: Target, config_name: str | None) -> Settings:
    """The settings of one launch."""
    name = read.config_name or config_name or "ppo_trainer"
    settled = Settings(CONFIG_ENGINES.get(name, "dp"))
    if name not in CONFIG_ENGINES:
        message = f"{name} is a configuration of its own, which is not read; verl's ppo_trainer stands in for it"
        settled.diagnostics.append(Diagnostic("ORB654", message, text.place(1, name), severity=Severity.WARNING))
        settled.engine = _likely_engine(read.overrides, target)
    if read.settings is not None:
        _from_yaml(read.settings, target, settled, text)
    else:
        _from_overrides(read.overrides, target, settled, text)
    if read.settings is None and not any(found.id == "ORB660" for found in settled.diagnostics):
        _needed(target, settled, text)
    return settled


def _needed(target: Target, settled: Settings, text: Text) -> None:
    """What older releases had a default for and verl asks for today."""
    for key, value in NEEDED.items():
        if key not in settled.values and _default(target, settled.engine, key) == "???":
            settled.values[key] = value
            message = f"{key} has no default any more: {value} is taken, as older releases did"
            settled.diagnostics.append(Diagnostic("ORB657", message, text.place(1), severity=Severity.NOTE))


def _likely_engine(lines: list[Line], target: Target) -> str:
    """The engine that knows most of the keys, dp among equals; a configuration of its own may have chosen it."""
    keys = [line.text.lstrip("+~").partition("=")[0] for line in lines]
    return max(ENGINES, key=lambda engine: sum(target.has(engine, key) for key in keys))


def _from_overrides(lines: list[Line], target: Target, settled: Settings, text: Text) -> None:
    parsed = [item for line in lines if (item := _parse(line, settled, text)) is not None]
    settled.count = len(lines)
    for line, override in parsed:
        key = change.to if (change := change_of(override.key)) and change.to == "model_engine" else override.key
        if key == "model_engine":
            _choose_engine(str(override.value), override.key, line, settled, text)
    if any(found.id == "ORB660" for found in settled.diagnostics):
        return
    for line, override in parsed:
        if override.key != "model_engine":
            _take(line, override, target, settled, text)


def _choose_engine(engine: str, key: str, line: Line, settled: Settings, text: Text) -> None:
    if engine in ENGINES:
        settled.engine = engine
        if key != "model_engine":
            settled.diagnostics.append(
                _changed(key, "model_engine", "the engine is chosen once, at the root", line, text)
            )
        return
    settled.diagnostics.append(
        Diagnostic(
            "ORB660",
            f"verl has no engine {engine} any more",
            text.place(line.line, line.text),
            help=f"choose one of {', '.join(ENGINES)} and translate the settings of {engine} by hand",
        )
    )


def _parse(line: Line, settled: Settings, text: Text) -> tuple[Line, Override] | None:
    place = text.place(line.line, line.text)
    if line.unknown:
        value = line.text.partition("=")[2]
        kept = "" if value.strip("/'\"[]{} ") else ", so the override is left out"
        message = f"{line.text.partition('=')[0]}: {', '.join(line.unknown)} is not known{kept}"
        settled.diagnostics.append(
            Diagnostic(
                "ORB656",
                message,
                place,
                help="write the value into the spec, or set the variable when you import",
                severity=Severity.WARNING,
            )
        )
        if kept:
            return None
    try:
        override = parse_override(line.text)
    except OverrideError as problem:
        settled.diagnostics.append(Diagnostic("ORB661", f"not an override that Hydra reads: {problem}", place))
        return None
    if override.package is not None or "/" in override.key:
        settled.diagnostics.append(_group(override, line, text))
        return None
    if override.key.startswith("hydra."):
        message = f"{override.key} concerns Hydra itself, not the run"
        settled.diagnostics.append(Diagnostic("ORB657", message, place, severity=Severity.NOTE))
        return None
    return line, override


def _group(override: Override, line: Line, text: Text) -> Diagnostic:
    name = f"{override.key}@{override.package}" if override.package else override.key
    return Diagnostic(
        "ORB660",
        f"{name}={override.value} chooses a group of settings that verl does not ship",
        text.place(line.line, line.text),
        help="translate its settings by hand",
    )


def _take(line: Line, override: Override, target: Target, settled: Settings, text: Text) -> None:
    """One override into the settings, rewritten where the target has moved on."""
    key, value = override.key, override.value
    if override.delete:
        settled.values[key] = REMOVED
        settled.lines[key] = line.line
        return
    if not target.has(settled.engine, key):
        change = change_of(key)
        if change is not None:
            to = moved(change, key)
            if to is not None and to != "model_engine" and not target.accepts(settled.engine, to):
                settled.diagnostics.append(_unknown(key, override, target, settled, line, text))
                return
            settled.diagnostics.append(_changed(key, to, change.why, line, text))
            if to is None or to == "model_engine":
                return
            key, value = to, change.value(value)
            for other, needed in change.also:
                settled.values.setdefault(other, needed)
        elif override.force and follows(target, settled.engine, key):
            pass
        elif not target.accepts(settled.engine, key):
            settled.diagnostics.append(_unknown(key, override, target, settled, line, text))
            return
        elif not override.add:
            message, place = f"{key} adds a key, and Hydra wants a + before it", text.place(line.line, line.text)
            settled.diagnostics.append(Diagnostic("ORB657", message, place, severity=Severity.WARNING))
    elif override.add and not override.force and not _is_section(target, settled.engine, key):
        message = f"+{key} adds a key that is there; the + is left out"
        place = text.place(line.line, line.text)
        settled.diagnostics.append(Diagnostic("ORB657", message, place, severity=Severity.NOTE))
    misfit = unfit(value, _default(target, settled.engine, key))
    if misfit:
        message, place = f"{key} {misfit}, so the override is left out", text.place(line.line, line.text)
        settled.diagnostics.append(Diagnostic("ORB661", message, place, help="correct the value"))
        return
    settled.values.pop(key, None)
    settled.values[key] = _current(key, value, line, settled, text)
    settled.lines[key] = line.line


def _current(key: str, value: Any, line: Line, settled: Settings, text: Text) -> Any:
    """`value` in today's words, a change told."""
    known = VALUES.get(key, {})
    if not isinstance(value, str) or value not in known:
        return value
    message = f"{key}: {value} is now {known[value]}"
    settled.diagnostics.append(Diagnostic("ORB657", message, text.place(line.line, value), severity=Severity.NOTE))
    return known[value]


def follows(target: Target, engine: str, key: str) -> bool:
    """True when the target's default for `key` is taken from another key."""
    node: Any = target.shared_tree(engine)
    for part in key.split("."):
        if isinstance(node, str):
            return "${" in node
        if not isinstance(node, dict) or part not in node:
            return False
        node = node[part]
    return isinstance(node, str) and "${" in node


def unfit(value: Any, default: Any) -> str:
    """Why no configuration can hold `value` where `default` stands; nothing where one can."""
    if not _is_finite(value):
        return "is a number that is not finite, or beyond 64 bits"
    if isinstance(value, dict) and value and not isinstance(default, dict | None):
        return f"is one value for verl ({default!r}), not a mapping"
    if isinstance(default, dict) and default and not isinstance(value, dict | None):
        return f"is a section of settings, not the value {value!r}"
    return ""


def _is_finite(value: Any) -> bool:
    if isinstance(value, dict | list):
        return all(map(_is_finite, value.values() if isinstance(value, dict) else value))
    return isfinite(value) if isinstance(value, float) else not isinstance(value, int) or -(2**63) <= value < 2**63


def _default(target: Target, engine: str, key: str) -> Any:
    """What the target has at `key`; None where it has nothing, or a text that leads elsewhere."""
    node: Any = target.shared_tree(engine)
    for part in key.split("."):
        node = node.get(part) if isinstance(node, dict) else None
    return None if isinstance(node, str) and "${" in node else node


def _is_section(target: Target, engine: str, key: str) -> bool:
    node: Any = target.shared_tree(engine)
    for part in key.split("."):
        node = node[part]
    return isinstance(node, dict)


def _changed(key: str, to: str | None, why: str, line: Line, text: Text) -> Diagnostic:
    fate = f"is now {to}" if to else "is gone"
    return Diagnostic(
        "ORB657", f"{key} {fate}: {why}", text.place(line.line, key), severity=Severity.NOTE if to else Severity.WARNING
    )


def _unknown(key: str, override: Override, target: Target, settled: Settings, line: Line, text: Text) -> Diagnostic:
    engine = settled.engine
    last = known_until(key, target)
    told = sum(found.id == "ORB658" for found in settled.diagnostics)
    close = nearest(key, target.keys(engine)) if told < NEAREST_KEYS else None
    elsewhere = next((other for other in ENGINES if other != engine and target.has(other, key)), None)
    reason = f"; verl {last} was the last to have it" if last else ""
    reason = f"; it belongs to the engine {elsewhere}" if elsewhere and not last else reason
    return Diagnostic(
        "ORB658",
        f"verl {target.version} has no key {key}{reason}, so {override.value!r} is left out",
        text.place(line.line, line.text),
        help=f"did you mean {close}?" if close else "say it in the spec if you need it",
    )


def _from_yaml(data: Any, target: Target, settled: Settings, text: Text) -> None:
    """Every leaf of a complete configuration, its engine read from the strategy where the root key is missing."""
    strategy = _dig(data, "actor_rollout_ref", "actor", "strategy")
    engine = data.get("model_engine") or {"fsdp": "dp", "fsdp2": "dp"}.get(str(strategy), strategy)
    if engine is not None:
        _choose_engine(str(engine), "model_engine", Line(f"model_engine: {engine}", 1), settled, text)
    for key, value in leaves_of(data):
        settled.count += 1
        if key in ("model_engine", "defaults") or key.startswith("hydra."):
            continue
        number = next(
            (at for at, line in enumerate(text.lines, 1) if line.strip().startswith(f"{key.rpartition('.')[2]}:")), 1
        )
        _take(Line(key, number), Override(key, value, add=True, force=True), target, settled, text)


def _dig(data: Any, *route: str) -> Any:
    for part in route:
        data = data.get(part) if isinstance(data, dict) else None
    return data


def leaves_of(node: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and values; an empty mapping is a value."""
    for name, value in node.items():
        if isinstance(value, dict) and value:
            yield from leaves_of(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


READ_FILES = (
    "data.train_files",
    "data.val_files",
    "data.custom_cls.path",
    "reward.custom_reward_function.path",
    "reward.reward_manager.module.path",
    "actor_rollout_ref.rollout.multi_turn.tool_config_path",
    "actor_rollout_ref.rollout.multi_turn.function_tool_path",
    "actor_rollout_ref.rollout.agent.agent_loop_config_path",
)
"""Keys that name files to read."""


def relative_paths(settled: Settings, text: Text) -> Iterator[Diagnostic]:
    """Files that verl looks for in the folder where it is started, which for a compiled run is another one."""
    for key in READ_FILES:
        value = settled.values.get(key)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str) and path and not path.startswith(("/", "~", "$")) and "://" not in path:
                yield Diagnostic(
                    "ORB650",
                    f"{path} is looked for in the folder where verl is started",
                    text.place(settled.lines.get(key, 1), path),
                    note="a compiled run starts in a folder of its own",
                    help="write the whole path",
                    severity=Severity.WARNING,
                )


def doubts(settled: Settings, flat: dict[str, Any], text: Text) -> Iterator[Diagnostic]:
    """Findings about what composes and does not do what it says."""
    told: set[str] = set()
    for key in settled.values:
        for doubt in DOUBTS:
            if doubt.key in told or not matching(doubt.key, key) or not doubt.holds(flat, flat.get(key)):
                continue
            told.add(doubt.key)
            place = text.place(settled.lines.get(key, 1), key)
            yield Diagnostic("ORB659", doubt.message, place, help=doubt.help, severity=doubt.severity)
