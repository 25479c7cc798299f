"""What kind of text this is, and its overrides in order: a launch script, overrides one a line, or a YAML of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orbiter_spec.diagnostics import Diagnostic, Place, Severity
from orbiter_spec.importing.script import Argument, Launch, Script
from orbiter_spec.importing.shell import follow
from orbiter_spec.importing.slurm import told
from orbiter_spec.importing.variables import NAME

LARGEST = 1_000_000
OVERRIDE_LINE = re.compile(r"^(?:\+\+|\+|~)?[A-Za-z_][\w/@.-]*(?:=|$)")
LAUNCH = re.compile(r"(?:^|[\s.'\"/])(main_[a-z_]+)(?:\.py)?(?:[\s'\"]|$)")
YAML_ROOT = re.compile(r"^(?:actor_rollout_ref|trainer|algorithm|data|critic)\s*:", re.MULTILINE)
FISH = re.compile(r"^\s*set\s+(?:-\w+\s+)*\w+\s+\S", re.MULTILINE)
FLAGS_WITH_VALUE = ("--config-name", "-cn", "--config-path", "-cp", "--config-dir", "-cd")
TRAPS = {
    "substitution": "a command substitution is not run, so this value is not known",
    "variable": "a variable that nothing sets; the shell would put nothing here",
    "arithmetic": "bash refuses this arithmetic",
    "expansion": "an expansion that is not followed",
    "condition": "assigned inside a condition, which is not decided here",
    "loop": "a loop is not run",
    "readonly": "the variable is read-only, and bash keeps its first value",
    "input": "only a running shell reads this, so the value is not known",
    "order": "the items of a map come in the order written; bash has an order of its own",
}


OF_NAMES = ("condition", "loop", "readonly", "order", "input")
"""Traps about a variable that is named, whatever became of its value."""


@dataclass(frozen=True, slots=True)
class Line:
    """One override as written, and where."""

    text: str
    line: int
    unknown: tuple[str, ...] = ()


@dataclass
class Read:
    """The overrides of one launch, or the settings of a YAML; `config_name` where the text has one."""

    kind: str
    overrides: list[Line] = field(default_factory=list)
    settings: Mapping[str, Any] | None = None
    config_name: str | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True when there is something to import."""
        return not any(found.severity is Severity.ERROR for found in self.diagnostics)


class Text:
    """The imported text with its lines, to point into."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        self.lines = self.text.split("\n")

    def place(self, line: int, part: str = "") -> Place:
        """The place of `part` on `line`; the whole line where the part is not written as it is."""
        shown = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        column = shown.find(part) + 1 if part and part in shown else len(shown) - len(shown.lstrip()) + 1
        width = len(part) if part and part in shown else max(1, len(shown.strip()))
        return Place(self.name, line, column, width, shown)


def read_text(text: Text, environ: Mapping[str, str], launch: int | None = None) -> Read:
    """The overrides in `text`; every reason why there are none."""
    if len(text.text) > LARGEST:
        return _refused(
            "ORB651", f"{len(text.text)} characters are more than a launch script has", "cut out the launch", text
        )
    if "\0" in text.text:
        return _refused("ORB651", "binary data, not a script", "give a script, overrides one a line, or a YAML", text)
    first = text.lines[0]
    if first.startswith("#!") and re.search(r"\b(fish|python\d?|perl|node|pwsh)\b", first):
        return _refused(
            "ORB652", f"{first[2:].strip()} is not sh, bash or zsh", "paste the launch command itself", text
        )
    if YAML_ROOT.search(text.text) and "main_ppo" not in text.text:
        return _read_yaml(text)
    if (
        not LAUNCH.search(text.text)
        and all(OVERRIDE_LINE.match(line.strip()) for line in _content(text))
        and list(_content(text))
    ):
        lines = [Line(line.strip(), number) for number, line in enumerate(text.lines, 1) if _is_content(line)]
        return Read("overrides", lines)
    return _read_script(text, environ, launch)


def _content(text: Text) -> Iterator[str]:
    return (line for line in text.lines if _is_content(line))


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith("#")


def _refused(identifier: str, message: str, advice: str, text: Text, line: int = 1) -> Read:
    return Read("nothing", diagnostics=[Diagnostic(identifier, message, text.place(line), help=advice)])


def _read_script(text: Text, environ: Mapping[str, str], launch: int | None) -> Read:
    prompt = re.sub(r"^(\s*)[$%>] (?=\S)", r"\1  ", text.text)
    try:
        script = follow(prompt, {**told(text.text), **environ}, None if text.name == "-" else text.name)
    except RecursionError:
        return _refused("ORB651", "expansions nested too deep to follow", "paste the launch command itself", text)
    if not script.launches:
        if FISH.search(text.text) and "end" in text.text.split():
            return _refused("ORB652", "this looks like a fish script", "paste the launch command itself", text)
        hidden = LAUNCH.search(text.text)
        if hidden is not None and text.text.count("\n") > 0:
            line = text.text.count("\n", 0, hidden.start(1)) + 1
            message = (
                "the launch is not reached: it stands in a comment, a quote or a bracket, or is left out by a test"
            )
            return _refused("ORB651", message, "paste the launch command itself", text, line)
        advice = "it needs a line such as python3 -m verl.trainer.main_ppo data.train_batch_size=256"
        return _refused("ORB651", "nothing here starts verl.trainer.main_ppo", advice, text)
    if len(script.launches) > 1 and launch is None:
        return _several(script, text)
    if launch is not None and not 1 <= launch <= len(script.launches):
        return _refused("ORB653", f"there is no launch {launch}", f"there are {len(script.launches)}", text)
    chosen = script.launches[(launch or 1) - 1]
    read = _read_launch(chosen, text)
    read.diagnostics += _traps(script, chosen, text)
    if text.lines[0].startswith("#!") and "zsh" in text.lines[0]:
        message = "a zsh script is read as bash: word splitting and array indices may differ"
        read.diagnostics.append(Diagnostic("ORB652", message, text.place(1), severity=Severity.WARNING))
    return read


def _several(script: Script, text: Text) -> Read:
    places = ", ".join(f"{number} at line {found.line}" for number, found in enumerate(script.launches, 1))
    found = Diagnostic(
        "ORB653",
        f"{len(script.launches)} launches, and a spec is one experiment",
        text.place(script.launches[1].line),
        note=places,
        help="choose one with --launch, and import each into a spec of its own",
    )
    return Read("nothing", diagnostics=[found])


def _read_launch(launch: Launch, text: Text) -> Read:
    read = Read("script")
    if launch.entry != "main_ppo":
        read.diagnostics.append(
            Diagnostic(
                "ORB654",
                f"{launch.entry} is not verl.trainer.main_ppo",
                text.place(launch.line, launch.entry),
                help="a spec describes runs of verl.trainer.main_ppo; the overrides are read as if this were one",
                severity=Severity.WARNING,
            )
        )
    arguments = iter(launch.arguments)
    for argument in arguments:
        if argument.text in FLAGS_WITH_VALUE:
            value = next(arguments, Argument("", argument.line))
            _flag(read, argument.text, value.text)
        elif argument.text.startswith("-") and not argument.unknown:
            name, _, value_text = argument.text.partition("=")
            _flag(read, name, value_text)
        elif argument.text:
            read.overrides.append(Line(argument.text, argument.line, argument.unknown))
    return read


def _flag(read: Read, name: str, value: str) -> None:
    if name in ("--config-name", "-cn"):
        read.config_name = value.removesuffix(".yaml")


def _traps(script: Script, launch: Launch, text: Text) -> Iterator[Diagnostic]:
    """What could not be known of what went into the launch."""
    unknown = script.buried.union(*(argument.unknown for argument in launch.arguments))
    last = {(trap.what, trap.text): trap for trap in script.traps if trap.what in TRAPS}
    for trap in last.values():
        named = re.findall(NAME, trap.text.partition("=")[0])
        if trap.text in unknown or (trap.what in OF_NAMES and launch.uses.intersection(named)):
            yield Diagnostic(
                "ORB655",
                f"{trap.text}: {TRAPS[trap.what]}",
                text.place(trap.line, trap.text),
                severity=Severity.NOTE if trap.what in ("variable", "condition", "loop", "order") else Severity.WARNING,
            )


def _read_yaml(text: Text) -> Read:
    from orbiter_spec.source import read

    document, problems = read(None, text=text.text, environ={})
    if document is None:
        return Read("nothing", diagnostics=list(problems))
    return Read("yaml", settings=document.data, diagnostics=[])
