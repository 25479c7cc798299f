"""Planted mistakes in environments, tools and rewards, found without training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orbiter_spec.rehearse.rehearsal import Rehearsal, rehearse

pytest.importorskip("transformers")
pytestmark = pytest.mark.timeout(400)

GAME = """\
class Game:
    def __init__(self, goal="go"):
        self.goal = goal

    def reset(self):
        return f"say {self.goal}"

    def step(self, action):
        BODY
"""
TOOL = '''\
def calculate(expression: str) -> str:
    """Work out a sum.

    Args:
        expression: what to work out.
    """
    return expression
'''
REWARDS = """\
def missing(response, row):
    return float(row["worth"])

def constant(response):
    return 0.5

def right(response, expected):
    return float(expected in response)
"""


def spec(folder: Path, agent: str, rewards: str) -> Rehearsal:
    rows = [json.dumps({"question": f"{number} + 1", "answer": str(number + 1)}) for number in range(24)]
    (folder / "rows.jsonl").write_text("\n".join(rows))
    (folder / "rewards.py").write_text(REWARDS)
    (folder / "tools.py").write_text(TOOL)
    (folder / "spec.yaml").write_text(
        f"version: 1\nname: planted\nagent:\n  model: builtin:tiny-llama\n  prompt: '{{{{ question }}}}'\n{agent}"
        f"dataset: {{train: rows.jsonl, validation: {{fraction: 0.2}}}}\nrewards: [{rewards}]\n"
        "algorithm: {name: grpo, batch: {prompts: 4}}\nhardware: 8xH100\n"
    )
    return rehearse(folder / "spec.yaml", run=False)


def game(folder: Path, body: str) -> Rehearsal:
    (folder / "game.py").write_text(GAME.replace("BODY", body))
    return spec(folder, "  environment: game.py:Game\n  turns: {max: 3}\n", "{builtin: environment}")


def ids(done: Rehearsal) -> list[str]:
    return [found.id for found in done.report]


def test_an_environment_that_ends_is_walked(tmp_path: Path) -> None:
    done = game(tmp_path, 'return "more", 1.0 if action == self.goal else 0.0, action == self.goal, {}')
    assert ids(done) == [], [found.message for found in done.report]
    assert done.played is not None
    assert len(done.played.episodes) == 8
    assert any(one.done and one.total_reward == 1.0 for one in done.played.episodes)


def test_an_environment_that_never_ends(tmp_path: Path) -> None:
    done = game(tmp_path, 'return "more", 0.0, False, {}')
    assert ids(done) == ["ORB567"]
    assert done.played is not None
    assert {one.steps for one in done.played.episodes} == {64}


def test_an_environment_that_raises_names_its_line(tmp_path: Path) -> None:
    done = game(tmp_path, 'return "more", 1 / len(""), False, {}')
    (found,) = done.report
    assert (found.id, found.severity) == ("ORB566", "error")
    assert "ZeroDivisionError" in found.message
    assert "game.py line 9 in step" in found.note


def test_an_environment_that_hangs_is_cut(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text(GAME.replace("BODY", "while True: pass"))
    agent = "  environment: {class: game.py:Game, timeout_seconds: 1}\n  turns: {max: 3}\n"
    done = spec(tmp_path, agent, "{builtin: environment}")
    (found,) = done.report
    assert found.id == "ORB566"
    assert "within 1 s" in found.message


def test_a_tool_is_called(tmp_path: Path) -> None:
    agent = "  instructions: Use the `calculate` tool.\n  tools: [{function: tools.py:calculate}]\n  turns: {max: 3}\n"
    done = spec(tmp_path, agent, "{function: rewards.py:right}")
    assert ids(done) == []
    assert done.played is not None
    (call,) = done.played.calls
    assert (call.tool, dict(call.arguments), call.answer) == ("calculate", {"expression": "1"}, "1")


MISNAMED = (
    "Use the `calculator` tool.",
    "Call `calculator(2 + 2)`.",
    'Write {"name": "calculater"}.',
    "Use the tool calculator.",
)


@pytest.mark.parametrize("said", MISNAMED)
def test_a_tool_under_another_name(tmp_path: Path, said: str) -> None:
    agent = f"  instructions: '{said}'\n  tools: [{{function: tools.py:calculate}}]\n  turns: {{max: 3}}\n"
    done = spec(tmp_path, agent, "{function: rewards.py:right}")
    (found,) = done.report
    assert found.id == "ORB568"
    assert "write calculate" in found.help


ROW_GAME = """\
class Game:
    def __init__(self, goal="go"):
        self.goal = GOAL

    def reset(self):
        return "guess"

    def step(self, action):
        return "no", float(action == self.goal), action == self.goal, {}
"""


def row_game(folder: Path, goal: str) -> Rehearsal:
    (folder / "game.py").write_text(ROW_GAME.replace("GOAL", goal))
    agent = "  environment: {class: game.py:Game, columns: {goal: answer}}\n  turns: {max: 3}\n"
    return spec(folder, agent, "{builtin: environment}")


def test_an_environment_that_forgets_the_rows_argument(tmp_path: Path) -> None:
    found = next(found for found in row_game(tmp_path, '"1"').report if found.id == "ORB570")
    assert found.severity == "warning"
    assert "answer" in found.message


def test_an_environment_that_keeps_it_to_itself_is_fine(tmp_path: Path) -> None:
    assert ids(row_game(tmp_path, "goal")) == []


def test_a_tool_that_is_given_what_its_annotation_says(tmp_path: Path) -> None:
    agent = "  tools: [{function: half.py:half}]\n  turns: {max: 3}\n"
    (tmp_path / "half.py").write_text(
        'def half(number: str) -> str:\n    """Halve it.\n\n    Args:\n        number: what.\n    """\n'
        "    return str(number / 2)\n"
    )
    (found,) = spec(tmp_path, agent, "{function: rewards.py:right}").report
    assert (found.id, found.severity) == ("ORB566", "warning")
    assert "TypeError" in found.message
    assert "annotations" in found.help


def test_a_reward_that_fails_for_one_source_only(tmp_path: Path) -> None:
    for name in ("plain", "odd"):
        rows = [json.dumps({"question": f"{name} {number}", "answer": str(number)}) for number in range(40)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows))
    (tmp_path / "rewards.py").write_text(
        "def by_source(response, expected, data_source):\n"
        "    return {'plain': float(expected in response)}[data_source]\n"
    )
    (tmp_path / "spec.yaml").write_text(
        "version: 1\nname: planted\nagent:\n  model: builtin:tiny-llama\n  prompt: '{{ question }}'\n"
        "dataset: {train: [plain.jsonl, odd.jsonl], validation: {fraction: 0.2}}\n"
        "rewards: [{function: rewards.py:by_source}]\n"
        "algorithm: {name: grpo, batch: {prompts: 4}}\nhardware: 8xH100\n"
    )
    done = rehearse(tmp_path / "spec.yaml", run=False)
    failed = next(found for found in done.report if found.id == "ORB495")
    assert not done.passed
    assert "KeyError" in failed.note
    assert "odd" in failed.note


def test_a_reward_that_reads_a_missing_field(tmp_path: Path) -> None:
    done = spec(tmp_path, "", "{function: rewards.py:missing}")
    assert "ORB495" in ids(done)
    assert not done.passed
    assert any("worth" in f"{found.message} {found.note}" for found in done.report)


def test_a_reward_that_is_constant(tmp_path: Path) -> None:
    done = spec(tmp_path, "", "{function: rewards.py:constant}")
    assert "ORB490" in ids(done)
    assert not done.passed


def test_a_good_reward_is_shown_with_its_means(tmp_path: Path) -> None:
    done = spec(tmp_path, "", "{function: rewards.py:right}")
    assert done.passed, [found.message for found in done.report]
    assert done.tried is not None
    means = next(row.means for row in done.tried.table if row.name == "right")
    assert means["gold"] == 1.0
    assert means["empty"] == 0.0
