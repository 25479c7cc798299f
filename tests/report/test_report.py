"""What a report says about runs with planted numbers."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from orbiter_spec.report import content
from orbiter_spec.report.comparison import difference_groups
from orbiter_spec.report.page import embedded, render
from orbiter_spec.report.run_view import RunView, read_runs
from tests.report.generate import make_run, write_rollouts


def view(*folders: Path) -> list[RunView]:
    runs, problems = read_runs(list(folders))
    assert not problems
    return runs


def data_of(html: str) -> dict:
    start = html.index('type="application/json">') + len('type="application/json">')
    return json.loads(html[start : html.index("</script>", start)])


def chart(found: list[content.Chart], title: str) -> content.Chart:
    return next(one for one in found if one["title"] == title)


def test_planted_numbers_are_in_the_plots(tmp_path: Path) -> None:
    found = content.charts(view(make_run(tmp_path / "run", steps=20)))
    reward = chart(found, "Reward")["lines"][0]
    assert reward["x"] == list(range(1, 21))
    assert reward["y"][-1] == 0.8125
    assert chart(found, "Validation")["lines"] == [
        {"label": "planted-source", "color": 0, "x": [0, 20], "y": [0.03125, 0.71875]}
    ]
    assert {line["label"] for line in chart(found, "Reward by part")["lines"]} == {"planted_part", "other_part"}
    for title in ("KL divergence", "Entropy", "Answer length", "Throughput", "Time per step", "Main memory"):
        assert chart(found, title)["lines"]


def test_a_part_that_is_the_whole_reward_is_not_drawn_twice(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", steps=4)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        line.pop("reward/other_part/mean", None)
        if "critic/score/mean" in line:
            line["reward/planted_part/mean"] = line["critic/score/mean"]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "Reward by part" not in {one["title"] for one in content.charts(view(run))}


def test_several_runs_are_compared_line_by_line(tmp_path: Path) -> None:
    runs = view(make_run(tmp_path / "a", steps=5), make_run(tmp_path / "b", steps=9))
    found = content.charts(runs)
    assert [line["label"] for line in chart(found, "Reward")["lines"]] == ["a", "b"]
    assert [line["color"] for line in chart(found, "Reward by part: planted_part")["lines"]] == [0, 1]
    assert "Answer length: longest" not in {one["title"] for one in found}


def test_runs_of_one_name_get_labels_that_differ(tmp_path: Path) -> None:
    runs = view(make_run(tmp_path / "x" / "run", steps=2), make_run(tmp_path / "y" / "run", steps=2))
    assert [run.label for run in runs] == ["x/run", "y/run"]


def test_configurations_are_compared_by_what_differs(tmp_path: Path) -> None:
    first, second = make_run(tmp_path / "a", steps=2), make_run(tmp_path / "b", steps=2)
    (second / "compiled" / "verl.yaml").write_text("trainer: {logger: [wandb]}\nalgorithm: {gamma: 0.5}\n")
    groups = difference_groups(view(first, second))
    assert [(group["meaning"], group["rows"]) for group in groups] == [
        ("changes results", [{"key": "algorithm.gamma", "values": ["1.0", "0.5"]}]),
        ("only names", [{"key": "trainer.logger", "values": ['["console"]', '["wandb"]']}]),
    ]


def test_rewards_and_files_are_compared_too(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, steps=2) for name in "ab"]
    for number, run in enumerate(runs):
        rewards = [{"name": "correct", "weight": 0.5 + number / 4, "function": "f"}]
        (run / "compiled" / "rewards.json").write_text(json.dumps({"rewards": rewards}))
        sources = {"sources": {"data/rows.jsonl": f"{number}" * 64, "spec.yaml": f"{number}"}}
        (run / "compiled" / "manifest.json").write_text(json.dumps(sources))
    (group,) = difference_groups(view(*runs))
    assert group["rows"] == [
        {"key": "file data/rows.jsonl", "values": ["0" * 12, "1" * 12]},
        {"key": "rewards.correct.weight", "values": ["0.5", "0.75"]},
    ]


def test_time_by_phase_adds_up(tmp_path: Path) -> None:
    rows = {
        row["name"]: row["cells"][0] for row in content.phase_table(view(make_run(tmp_path / "a", steps=10)))["rows"]
    }
    assert rows["answers"]["share"] == "62.5%"
    assert rows["policy update"]["share"] == "25.0%"
    assert rows["other"]["share"] == "12.5%"


def test_the_reason_of_a_failure_stands_in_the_page(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", steps=3, state="failed", reason="ValueError: planted <b>reason</b>")
    (run / "logs").mkdir()
    (run / "logs" / "verl.log").write_text("\x1b[31mthe last planted line\x1b[0m\n")
    html = render(view(run))
    assert "ValueError: planted &lt;b&gt;reason&lt;/b&gt;" in html
    assert "<pre>the last planted line\n</pre>" in html


def test_a_run_without_a_step_has_a_report(tmp_path: Path) -> None:
    run = tmp_path / "empty"
    (run / "compiled").mkdir(parents=True)
    html = render(view(run))
    assert "No step was measured" in html
    assert "never started" in html


def test_untrusted_text_stays_text(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", steps=2)
    hostile = "</script><script>alert(1)</script><!-- \u2028 \ud800 <img src=x onerror=alert(2)>"
    write_rollouts(run, 1, prompts=1, answers=1, text=hostile)
    page = tmp_path / "page.html"
    from orbiter_spec.report.page import write_page

    write_page(page, view(run))
    html = page.read_text(encoding="utf-8")
    assert "<script>alert" not in html
    assert "<img" not in html
    answer = data_of(html)["samples"][0]["kinds"][0]["groups"][0]["answers"][0]
    assert answer["text"].startswith("</script><script>alert(1)</script>")
    assert "\u2028" in answer["text"]


def test_embedded_data_cannot_end_its_element() -> None:
    assert "<" not in embedded({"text": "</script><!--"})


def test_parts_are_joined_to_answers_and_the_best_comes_first(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", steps=2)
    write_rollouts(run, 2, prompts=2, answers=8, text="hello")
    (kind,) = view(run)[0].samples
    group = kind["groups"][0]
    scores = [answer["score"] for answer in group["answers"]]
    assert group["of"] == 8 and len(scores) == 4
    assert scores == sorted(scores, reverse=True) and scores[0] == 1.0 and scores[-1] == 0.0
    assert group["answers"][0]["parts"] == {"planted_part": 0.4375}


def test_warnings_of_the_checks_are_shown(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", steps=2)
    found = {"diagnostics": [{"id": "ORB999", "severity": "warning", "message": "planted warning", "help": "do this"}]}
    (run / "findings.json").write_text(json.dumps(found))
    html = render(view(run))
    assert "ORB999: planted warning" in html and "do this" in html


def test_what_is_no_run_is_refused(tmp_path: Path, cli) -> None:
    done = cli("report", tmp_path, tmp_path / "absent")
    assert done.returncode == 1
    assert done.stderr.count("ORB550") == 2
    assert "Traceback" not in done.stderr


def test_odd_files_do_not_break_a_report(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", steps=2)
    (run / "rollouts").mkdir()
    (run / "rollouts" / "1.jsonl").write_bytes(b'\xff\xfe nonsense\n[1]\n{"output": 3, "score": null}\n{"cut": ')
    (run / "findings.json").write_text("[]")
    (run / "compiled" / "verl.yaml").write_text("- no mapping")
    (run / "compiled" / "plan.json").write_text("{")
    assert "<html" in render(view(run))


def test_the_command_writes_page_and_images(tmp_path: Path, cli) -> None:
    pytest.importorskip("matplotlib")
    run = make_run(tmp_path / "runs" / "a", steps=6)
    done = cli("report", run)
    assert done.returncode == 0, done.stderr
    assert (run / "report.html").stat().st_size > 50_000
    assert (run / "report-plots" / "reward.png").read_bytes().startswith(b"\x89PNG")
    other = make_run(tmp_path / "runs" / "b", steps=6)
    assert cli("report", run, other, "-o", "both.html", cwd=tmp_path).returncode == 0
    assert (tmp_path / "both-plots" / "parts-2.png").is_file()


def test_ten_thousand_steps_and_a_hundred_megabytes(tmp_path: Path) -> None:
    """Reading and writing are bounded; how fast the page opens is measured in test_browser.py."""
    run = make_run(tmp_path / "long", steps=10_000, metrics=40)
    size = sum(write_rollouts(run, step, prompts=32, answers=8, text="x" * 4000) for step in range(100, 10_001, 100))
    assert size > 100e6
    started = time.monotonic()
    html = render(view(run))
    seconds = time.monotonic() - started
    assert len(html) < 3e6
    assert all(len(line["x"]) <= 600 for one in data_of(html)["charts"] for line in one["lines"])
    assert data_of(html)["samples"][0]["kinds"][0]["steps"] == 100
    assert seconds < 10, seconds
