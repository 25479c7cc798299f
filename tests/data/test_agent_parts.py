"""Environments and tools are looked at before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orbiter_spec.compiler import check, compile_spec

SPEC = """\
version: 1
name: agent
agent:
  model: builtin:tiny-llama
  prompt: "{{ question }}"
  turns: {max: 4}
AGENT
dataset: {train: rows.jsonl}
rewards: REWARDS
algorithm: {name: grpo, batch: {prompts: 2, samples_per_prompt: 2}}
hardware: cpu
"""
GAME = """\
from orbiter_spec.train import BaseEnvironment
class Game:
    def __init__(self, rooms, *, seed=0, doors=2): ...
    def reset(self): ...
    async def step(self, action): ...
class Inherited(Game): ...
class Based(BaseEnvironment):
    def reset(self): ...
class Configured:
    def __init__(self, config): ...
    def reset(self): ...
    def step(self, action): ...
def not_a_class(): ...
"""
TOOLS = '''\
def good(place: str, depth: int = 1) -> str:
    """Look.

    Args:
        place: Where.
        depth (int): How far.
    """
def silent(place: str): ...
def untyped(place):
    """Look.

    Args:
        place: Where.
    """
def undescribed(place: str):
    """Look somewhere."""
def open_ended(*places: str):
    """Look."""
'''


def write(folder: Path, agent: str, rewards: str = "[{builtin: environment}]") -> Path:
    (folder / "envs.py").write_text(GAME, encoding="utf-8")
    (folder / "tools.py").write_text(TOOLS, encoding="utf-8")
    (folder / "rows.jsonl").write_text('{"question": "?", "size": 3}\n' * 8, encoding="utf-8")
    spec = folder / "spec.yaml"
    spec.write_text(SPEC.replace("AGENT", f"  {agent}").replace("REWARDS", rewards), encoding="utf-8")
    return spec


@pytest.mark.parametrize(
    ("agent", "found"),
    [
        ("environment: {class: 'envs.py:Game', args: {rooms: 3}}", []),
        ("environment: {class: 'envs.py:Game', columns: {rooms: size}}", []),
        ("environment: envs.py:Configured", []),
        ("environment: envs.py:Inherited", []),
        ("environment: env.py:Game", ["ORB401: file env.py does not exist"]),
        ("environment: envs.py:Gane", ["ORB402: envs.py defines no 'Gane'"]),
        ("environment: Game", ["ORB403: 'Game' is not a reference to a function"]),
        ("environment: envs.py:Based", ["ORB470: Based has no step"]),
        ("environment: envs.py:not_a_class", ["ORB470: not_a_class is no class"]),
        ("environment: envs.py:Game", ["ORB475: nothing fills parameter 'rooms' of Game"]),
        ("environment: {class: 'envs.py:Game', args: {rooms: 1, dors: 2}}", ["ORB475: Game takes no 'dors'"]),
        ("environment: {gymnasium: FrozenLake-v1}", []),
        ("environment: {verifiers: wordle, args: {turns: 3}, columns: {example: size}}", []),
        ("environment: {verifiers: 'envs.py:not_a_class'}", []),
        ("environment: {verifiers: 'envs.py:load'}", ["ORB402: envs.py defines no 'load'"]),
        ("tools: [tools.py:good]", []),
        ("tools: [tools.py:silent]", ["ORB471: tool silent has no docstring"]),
        ("tools: [tools.py:untyped]", ["ORB471: parameter 'place' of tool untyped has no type"]),
        (
            "tools: [tools.py:undescribed]",
            ["ORB471: parameter 'place' of tool undescribed is not in the docstring's Args"],
        ),
        ("tools: [tools.py:open_ended]", ["ORB471: tool open_ended takes * or ** arguments"]),
        ("tools: [tools.py:good, {function: 'tools.py:good'}]", ["ORB472: two tools are called good"]),
        ("tools: [tools.py:good, {function: 'tools.py:good', name: better}]", []),
    ],
)
def test_what_is_wrong_is_said_at_its_line(tmp_path: Path, agent: str, found: list[str]) -> None:
    rewards = "[{builtin: environment}]" if agent.startswith("environment") else "[{builtin: step_rewards}]"
    state = check(write(tmp_path, agent, rewards))
    errors = [item for item in state.report.diagnostics if item.severity.value == "error"]
    assert [f"{item.id}: {item.message}" for item in errors] == found
    assert all(item.place is not None for item in errors)


def test_compiled_files(tmp_path: Path) -> None:
    spec = write(
        tmp_path,
        "environment: {class: 'envs.py:Game', columns: {rooms: size}, on_error: -1, credit: step}\n"
        "  tools: [{function: 'tools.py:good', name: look, timeout_seconds: 2}]",
        "[{builtin: environment, weight: 0.5}]",
    )
    compiled = compile_spec(spec, tmp_path / "out")
    assert compiled.folder is not None, compiled.report
    settings = json.loads((compiled.folder / "agent.json").read_text(encoding="utf-8"))
    assert (
        settings["environment"] | {"name": "Game", "on_error": -1.0, "credit": "step", "weight": 0.5}
        == settings["environment"]
    )
    assert settings["host"]["objects"]["look"] == {
        "path": "code/tools.py",
        "module": None,
        "name": "good",
        "tool": True,
    }
    assert (compiled.folder / "code" / "envs.py").read_text(encoding="utf-8") == GAME
    assert "orbiter_agent.tools.UserTool" in (compiled.folder / "tools.yaml").read_text(encoding="utf-8")
    assert "orbiter_agent.loop.EpisodeLoop" in (compiled.folder / "agent_loops.yaml").read_text(encoding="utf-8")
    assert (compiled.folder / "orbiter_agent" / "loop.py").is_file()
    overrides = (compiled.folder / "overrides.txt").read_text(encoding="utf-8")
    assert "rollout.agent.agent_loop_config_path=agent_loops.yaml" in overrides
    assert "rollout.multi_turn.tool_config_path=tools.yaml" in overrides


def test_an_environment_of_verifiers_is_made_once_with_its_args(tmp_path: Path) -> None:
    agent = "environment: {verifiers: 'envs.py:not_a_class', args: {turns: 3}, columns: {example: size}}"
    compiled = compile_spec(write(tmp_path, agent), tmp_path / "out")
    assert compiled.folder is not None, compiled.report
    settings = json.loads((compiled.folder / "agent.json").read_text(encoding="utf-8"))
    made = settings["host"]["objects"]["environment"]
    assert (made["adapter"], made["path"], made["name"]) == ("verifiers", "code/envs.py", "not_a_class")
    assert (made["args"], settings["environment"]["args"]) == ({"turns": 3}, {})
    assert (settings["environment"]["name"], settings["environment"]["columns"]) == ("envs", {"example": "size"})


def test_the_seeds_names_are_importable() -> None:
    from orbiter_spec.train import BaseEnvironment, EnvironmentConfig, SimpleGameEnvironment, Trajectory

    game = SimpleGameEnvironment(EnvironmentConfig(items=1))
    assert isinstance(game, BaseEnvironment)
    trajectory, state = Trajectory(), game.reset()
    for action in ("Take it", "take", "look", "attack!"):
        after, reward, done, _ = game.step(action)
        trajectory.append(state, action, reward, done)
        state = after
    assert trajectory.rewards == [1.0, -0.1, -0.1, 5.0]
    assert trajectory.dones == [False, False, False, True]
    assert trajectory.total_reward == pytest.approx(5.8)
    assert state == "Score: 5.8, Inventory: ['item']"
