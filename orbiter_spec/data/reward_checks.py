"""What is wrong with the parts of `rewards` beside their functions: gates, bounds, judges, and columns they read.

Nothing is called and nobody is asked; a judge's rubric is parsed as the run will parse it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import parse_qs, urlsplit

from orbiter_spec.data.columns import source_of
from orbiter_spec.data.problems import Problems
from orbiter_spec.data.read import Row, read_rows
from orbiter_spec.data.request import Columns
from orbiter_spec.data.rows import RowPlan
from orbiter_spec.data.rubric_checks import check_rubric, check_rubric_columns
from orbiter_spec.diagnostics import Diagnostic, Severity, nearest
from orbiter_spec.source import Document, Route
from orbiter_spec.spec.builtin_rewards import BUILTINS
from orbiter_spec.spec.experiment import Experiment
from orbiter_spec.spec.rewards import Reward, Rewards

FUNCTION_ONLY = ("timeout_seconds", "memory_megabytes", "concurrency", "batch")
WHOLE_EPISODE = ("step_rewards", "environment")
SECRET_WORDS = ("key", "token", "secret", "password", "authorization")
COLUMN_ARGS = {"code_tests": "tests", "json_schema": "column"}
MOST_FILES, LOOKED_AT_ROWS, LOOKED_AT_BYTES = 50, 200, 1_000_000


def reward_route(document: Document, index: int) -> Route:
    """The route of a part in the document, which may hold a list, a mapping with parts, or one function."""
    rewards = document.data.get("rewards")
    if isinstance(rewards, list):
        return ("rewards", index)
    return ("rewards", "parts", index) if isinstance(rewards, dict) else ("rewards",)


def check_reward(reward: Reward, rewards: Rewards, route: Route, document: Document) -> Iterator[Diagnostic]:
    """Everything about one part that can be said without its function."""
    yield from _check_gate(reward, rewards, route, document)
    yield from _check_bounds(reward, route, document)
    yield from _check_unread(reward, route, document)
    yield from _check_product(reward, rewards, route, document)
    if reward.judge is not None:
        yield from _check_judge(reward, rewards, (*route, "judge"), document)
    if reward.builtin == "reward_model" and rewards.model is None:
        yield Diagnostic(
            "ORB489",
            "reward_model scores with a model that is not there",
            document.place((*route, "builtin")),
            help="add rewards.model with the model's path",
        )
    if reward.builtin == "code_tests" and reward.args.get("language", "python") != "python" and not rewards.sandbox:
        yield Diagnostic(
            "ORB487",
            f"programs in {reward.args['language']} cannot be run without a sandbox service",
            document.place((*route, "args", "language")),
            note="this machine runs Python only",
            help="add rewards.sandbox with the service's url",
        )


def _check_gate(reward: Reward, rewards: Rewards, route: Route, document: Document) -> Iterator[Diagnostic]:
    if reward.only_if is None:
        return
    gates = {part.label: part.only_if.part for part in rewards.parts if part.only_if is not None}
    names = [part.label for part in rewards.parts]
    place = document.place((*route, "only_if"))
    if reward.only_if.part not in names:
        close = nearest(reward.only_if.part, names)
        yield Diagnostic(
            "ORB480",
            f"there is no reward {reward.only_if.part!r} to wait for",
            place,
            note=f"did you mean {close!r}?" if close else "",
            help=f"name one of: {', '.join(name for name in names if name != reward.label)}",
        )
        return
    path = [reward.label]
    while path[-1] in gates and len(path) <= len(names):
        path.append(gates[path[-1]])
        if path[-1] == reward.label:
            yield Diagnostic("ORB481", "rewards wait for one another", place, note=" -> ".join(path))
            return


def _check_bounds(reward: Reward, route: Route, document: Document) -> Iterator[Diagnostic]:
    judge = (("judge", "scale"), reward.judge.scale) if reward.judge else (("judge",), None)
    for inner, bounds in ((("range",), reward.range), (("clip",), reward.clip), judge):
        yield from check_pair(bounds, (*route, *inner), document)
    if reward.normalize == "range" and reward.range is None:
        yield Diagnostic(
            "ORB482",
            "normalize: range has no range to normalize by",
            document.place((*route, "normalize")),
            help="add range: [lowest, highest]",
        )
    ends = (0.0, 1.0) if reward.normalize in ("range", "sigmoid") else None if reward.normalize else reward.range
    clip = reward.clip
    if ends and clip and clip[0] < clip[1] and (clip[1] <= ends[0] or clip[0] >= ends[1]):
        yield Diagnostic(
            "ORB482",
            "clip leaves one value only",
            document.place((*route, "clip")),
            note=f"values are from {ends[0]:g} to {ends[1]:g}",
        )


def check_pair(bounds: Any, route: Route, document: Document) -> Iterator[Diagnostic]:
    """Two ends, the lower first."""
    if bounds is not None and not bounds[0] < bounds[1]:
        note = f"{bounds[0]:g} is not below {bounds[1]:g}"
        yield Diagnostic("ORB482", f"{route[-1]} has no values inside", document.place(route), note=note)


def _check_unread(reward: Reward, route: Route, document: Document) -> Iterator[Diagnostic]:
    """Fields that this kind of part does not have."""
    if reward.function is None:
        for name in FUNCTION_ONLY:
            if getattr(reward, name) is not None:
                inside = reward.judge is not None and name in ("timeout_seconds", "concurrency")
                yield Diagnostic(
                    "ORB483",
                    f"{name} is for functions of your own",
                    document.place((*route, name), key=True),
                    help=f"write it inside judge: {name}" if inside else "remove it",
                )
    if reward.judge is not None and reward.args:
        yield Diagnostic(
            "ORB483", "a judge takes no args", document.place((*route, "args"), key=True), help="use judge: fields"
        )
    if reward.steps is not None and (reward.builtin in WHOLE_EPISODE or reward.batch is not None):
        what = "batch" if reward.batch is not None else str(reward.builtin)
        yield Diagnostic(
            "ORB483",
            f"steps does not go with {what}",
            document.place((*route, "steps"), key=True),
            help="the function gets whole samples: split them there" if reward.batch else "it scores whole episodes",
        )
    if reward.error_limit is not None and reward.on_error == "stop":
        yield Diagnostic(
            "ORB483",
            "error_limit is not read: the first failure ends the run",
            document.place((*route, "error_limit"), key=True),
            help="set on_error to skip or to a number",
            severity=Severity.WARNING,
        )


def _check_product(reward: Reward, rewards: Rewards, route: Route, document: Document) -> Iterator[Diagnostic]:
    """A penalty is never above 0: a product with it turns signs around, and the least of all is mostly it."""
    known = BUILTINS.get(str(reward.builtin))
    if rewards.combine in ("product", "min") and known and known.high <= 0 and reward.weight and not reward.normalize:
        yield Diagnostic(
            "ORB488",
            f"{reward.builtin} is never above 0, and the total is the {rewards.combine} of the parts",
            document.place((*route, "builtin")),
            help="use combine: sum, or bring it to 0 to 1 with range: [-1, 0] and normalize: range",
            severity=Severity.WARNING,
        )


def _check_judge(reward: Reward, rewards: Rewards, route: Route, document: Document) -> Iterator[Diagnostic]:
    judge = reward.judge
    assert judge is not None
    if judge.address is None and rewards.model is None:
        yield Diagnostic(
            "ORB484",
            "the judge has no address and no model of the run's own",
            document.place(route),
            help="add address: https://HOST/v1, or rewards.model",
        )
    if judge.model is None and rewards.model is None:
        yield Diagnostic("ORB484", "the judge names no model", document.place(route), help="add model: NAME")
    if judge.address is not None:
        yield from _check_address(judge.address, (*route, "address"), document)
    for name in judge.body or {}:
        if any(word in name.lower().split("_") for word in SECRET_WORDS):
            yield _secret((*route, "body", name), document)
    if judge.rubric is not None:
        yield from check_rubric(judge.rubric, (*route, "rubric"), document)


def _check_address(address: str, route: Route, document: Document) -> Iterator[Diagnostic]:
    try:
        parts = urlsplit(address)
        port_fits = parts.port is None or parts.port > 0
    except ValueError:
        parts, port_fits = urlsplit(""), False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_fits:
        yield Diagnostic(
            "ORB484", f"{address!r} is not an address", document.place(route), help="write https://HOST:PORT/v1"
        )
    elif parts.path.rstrip("/").endswith("/chat/completions"):
        help = f"write {address.rstrip('/').removesuffix('/chat/completions')}"
        yield Diagnostic("ORB484", "the address ends in what is added to it", document.place(route), help=help)
    if (
        parts.username
        or parts.password
        or any(word in name.lower() for name in parse_qs(parts.query) for word in SECRET_WORDS)
    ):
        yield _secret(route, document)


def _secret(route: Route, document: Document) -> Diagnostic:
    return Diagnostic(
        "ORB486",
        "a key stands in the spec, and would stand in compiled files",
        document.place(route),
        help="put it into an environment variable and name that in api_key_env",
    )


def check_shared(rewards: Rewards, document: Document) -> Iterator[Diagnostic]:
    """The total."""
    yield from check_pair(rewards.clip, ("rewards", "clip"), document)


def check_keys_travel(experiment: Experiment, document: Document) -> Iterator[Diagnostic]:
    """A judge's key is read where rewards run; on a cluster that is another machine."""
    cluster = experiment.hardware.cluster
    if cluster is None or cluster.kind in (None, "local"):
        return
    run = experiment.run
    passed = {*(run.secrets or {}), *(entry.partition("=")[0] for entry in run.env or ())} if run else set()
    for index, reward in enumerate(experiment.rewards.parts):
        variable = reward.judge.api_key_env if reward.judge else None
        if variable is not None and variable not in passed:
            yield Diagnostic(
                "ORB478",
                f"the judge's key {variable} does not reach the cluster",
                document.place((*reward_route(document, index), "judge", "api_key_env")),
                help=f"add run.secrets: {{{variable}: {{}}}}",
                severity=Severity.WARNING,
            )


def check_columns(experiment: Experiment, document: Document, rows: RowPlan) -> Iterator[Diagnostic]:
    """Columns that parts name in their args or show in a rubric, looked for in the first row of a file that they score.

    Rows that a pipeline changes, and prepared ones, are given the benefit of the doubt.
    """
    if rows.request is None or rows.request.pipeline or not _column_readers(experiment):
        return
    for source in rows.request.train[:MOST_FILES]:
        first = list(islice(read_rows(source, Problems(), stop_at=LOOKED_AT_BYTES), LOOKED_AT_ROWS))
        found = list(_absent_columns(experiment, document, first, rows.request.columns))
        yield from found
        if found:
            return


def _column_readers(experiment: Experiment) -> bool:
    return any(part.builtin in COLUMN_ARGS or _rubric(part) for part in experiment.rewards.parts)


def _rubric(part: Reward) -> str:
    return (part.judge.rubric or "") if part.judge else ""


def read_column(reward: Reward) -> str:
    """The column of the row that a built-in reads beside the answer; empty when there is none."""
    name = COLUMN_ARGS.get(str(reward.builtin))
    return str(reward.args.get(name, "tests" if reward.builtin == "code_tests" else "")) if name else ""


def _absent_columns(
    experiment: Experiment, document: Document, rows: list[Row], named: Columns
) -> Iterator[Diagnostic]:
    for index, reward in enumerate(experiment.rewards.parts):
        first = next((row for row in rows if not reward.sources or source_of(row, named) in reward.sources), None)
        if first is None:
            continue
        columns = set(first.fields)
        rubric = (*reward_route(document, index), "judge", "rubric")
        yield from check_rubric_columns(_rubric(reward), columns, rubric, document)
        name, column = COLUMN_ARGS.get(str(reward.builtin)), read_column(reward)
        if not column or column in columns:
            continue
        close = nearest(str(column), columns)
        yield Diagnostic(
            "ORB497",
            f"rows have no {column!r}, which {reward.builtin} reads",
            document.place((*reward_route(document, index), "builtin")),
            note=f"did you mean {close!r}?" if close else f"they have {', '.join(sorted(columns))}",
            help=f"name the column: args: {{{name}: COLUMN}}",
        )
