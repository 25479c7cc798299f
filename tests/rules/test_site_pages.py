"""Pages of the rules that ask the machines: the machines of Bad and Good stand under `site`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ruamel.yaml import YAML

from orbiter_spec.launch.site_facts import Node, Site
from orbiter_spec.rules.finding import Finding, rule_id, title
from orbiter_spec.rules.site import SITE_RULES
from orbiter_spec.spec.fields import fields
from tests.rules.conftest import plan_of
from tests.rules.test_pages import HEADINGS, snippet

ROOMY = {"gpus": 8, "cpus": 64}


def site_of(said: dict[str, Any]) -> Site:
    """A cluster as a page says it; what it leaves out is roomy and well. Free is everything unless it says less."""
    nodes = said.get("nodes", [{}])
    whole = {"address": "head:6379", **{name: value for name, value in said.items() if name != "nodes"}}
    whole["unconnected"] = tuple(map(tuple, said.get("unconnected", ())))
    return Site(**whole, nodes=tuple(_node(number, {**ROOMY, **node}) for number, node in enumerate(nodes)))


def _node(number: int, said: dict[str, Any]) -> Node:
    free = {"free_cpus": said["cpus"], "free_gpus": said["gpus"]}
    node = Node(**{"address": f"10.0.0.{number}", **free, **said})
    return replace(
        node, accelerators=tuple(node.accelerators), missing_modules=tuple(node.missing_modules), ports_taken=()
    )


def findings_of(text: str) -> list[tuple[str, Finding]]:
    said = YAML(typ="safe").load(text)
    site = site_of(said.pop("site"))
    plan = plan_of(said)
    return [(rule_id(rule), finding) for rule in SITE_RULES for finding in rule.check(plan, site)]


@pytest.mark.parametrize("rule", SITE_RULES, ids=rule_id)
def test_bad_gives_exactly_this_id(rule: ModuleType) -> None:
    found = findings_of(snippet(rule, "Bad"))
    assert {name for name, _ in found} == {rule_id(rule)}
    for _, finding in found:
        assert finding.note
        assert finding.help
        assert re.sub(r"\.\d+$", "", finding.route) in fields()


@pytest.mark.parametrize("rule", SITE_RULES, ids=rule_id)
def test_good_is_silent(rule: ModuleType) -> None:
    assert findings_of(snippet(rule, "Good")) == []


@pytest.mark.parametrize("rule", SITE_RULES, ids=rule_id)
def test_page_has_its_parts(rule: ModuleType) -> None:
    assert re.findall(r"^## (.+)$", rule.__doc__ or "", re.MULTILINE) == HEADINGS
    assert len(title(rule)) <= 80
    assert not re.search(r"actor_rollout_ref\.|trainer\.v1", Path(rule.__file__ or "").read_text(encoding="utf-8"))


def test_tuple_is_the_folder() -> None:
    files = sorted(path.stem for path in Path(SITE_RULES[0].__file__ or "").parent.glob("orb*.py"))
    assert [rule.__name__.rpartition(".")[2] for rule in SITE_RULES] == files


@pytest.mark.parametrize(
    ("spec", "modules", "routes"),
    [
        ("run: {log: [console, wandb]}", ["wandb"], ["run.log"]),
        ("run: {log: [console, wandb]}", ["sympy", "wandb"], ["rewards", "run.log"]),
        ("agent: {environment: {class: envs.py:Game}}", ["gymnasium"], ["agent.environment"]),
        ("agent: {function_tools: tools.py}", ["httpx"], ["agent.function_tools"]),
        ("rewards: [{function: r.py:score}]\nagent: {function_tools: tools.py}", ["httpx"], ["rewards"]),
    ],
)
def test_missing_module_is_told_where_it_is_asked_for(spec: str, modules: list[str], routes: list[str]) -> None:
    found = findings_of(f"{spec}\nsite: {{nodes: [{{missing_modules: [{', '.join(modules)}]}}]}}")
    assert sorted(finding.route for name, finding in found if name == "ORB525") == routes
