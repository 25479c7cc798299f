"""The page of rehearsals says what was seen, and nothing of the machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

SCRIPT = Path("scripts/rehearse_all.py").resolve()


def script() -> Any:
    spec = importlib.util.spec_from_file_location("rehearse_all", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def result(name: str, verdict: str, **seen: Any) -> dict[str, Any]:
    found = {
        "exercised": [{"part": "training", "evidence": "2 steps"}, {"part": "critic", "evidence": "value loss 1"}],
        "episodes": [],
        "tool_calls": [],
        "rewards": [{"name": "correct", "low": 0.0, "high": 1.0}],
        "not_exercised": [{"what": "inference engine vllm"}, {"what": "offloading"}],
        "seconds_in_all": {"checks": 1.2, "starting Ray": 9.0},
    }
    return {
        "spec": name,
        "verdict": verdict,
        "seconds": 61.0,
        "findings": ["ORB561 it broke"],
        "seen": {**found, **seen},
    }


def test_what_every_rehearsal_shows_is_not_repeated() -> None:
    text = script().table([result("one", "passed"), result("two", "failed")])
    assert "1 of 2 passed." in text
    assert "| one | 61 | 1 | critic | correct 0 to 1 | offloading | ORB561 it broke |" in text
    assert "| two | failed | ORB561 it broke |" in text


def test_no_model_is_refused_and_no_end_is_failed() -> None:
    module = script()
    assert module._verdict(0, {"passed": True}) == "passed"
    assert module._verdict(1, {"passed": False, "findings": [{"id": "ORB560"}]}) == "refused"
    assert module._verdict(3, {"passed": False, "findings": [{"id": "ORB561"}]}) == "failed"
    assert module._verdict(1, {}) == "failed"


def test_the_page_is_of_the_specs_that_are_there() -> None:
    page = SCRIPT.parent.parent / "docs" / "rehearsals.md"
    named = {line.split(" | ")[0].removeprefix("| ") for line in page.read_text().splitlines() if line.startswith("| ")}
    assert named - {"Spec", "---"} <= {spec.stem for spec in Path("specs").glob("*.yaml")}
    assert "/tmp" not in page.read_text()
