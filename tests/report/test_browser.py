"""The page in a real browser that has no network, at the width of a phone and of a desk."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orbiter_spec.report.page import write_page
from orbiter_spec.report.run_view import read_runs
from tests.report.generate import make_run, write_rollouts

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
OPEN_SECONDS = 3.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


def page_of(path: Path, *folders: Path) -> Path:
    runs, problems = read_runs(list(folders))
    assert not problems
    write_page(path, runs)
    return path


class Opened:
    """A page that was opened without a network; what went wrong in it is kept."""

    def __init__(self, browser: Any, path: Path, viewport: dict[str, int], scheme: str = "light") -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.context = browser.new_context(viewport=viewport, offline=True, color_scheme=scheme)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.page.on("request", lambda request: self.requests.append(request.url))
        started = time.monotonic()
        self.page.goto(path.as_uri())
        self.page.locator(".uplot canvas").nth(3).wait_for(state="attached")
        self.seconds = time.monotonic() - started


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("small") / "planted-run", steps=20)
    for step in (1, 10, 20):
        write_rollouts(run, step, prompts=2, answers=3, text="<b>planted words</b> " + "w" * 500)
    return page_of(run / "report.html", run)


@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_planted_numbers_are_seen(browser: Any, small: Path, viewport: dict[str, int], scheme: str) -> None:
    opened = Opened(browser, small, viewport, scheme)
    text = opened.page.inner_text("body")
    for planted in ("planted-run", "Qwen/Planted-7B", "16 x H100-80GB", "0.7188", "4321", "77.5", "1h30m", "62.5%"):
        assert planted in text, planted
    assert "<b>planted words</b>" in text
    width = opened.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1], "the page must not scroll sideways"
    smallest = opened.page.evaluate(
        "Math.min(...[...document.querySelectorAll('body *')].filter(e => e.innerText && e.offsetParent)"
        ".map(e => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert smallest >= 12
    assert opened.errors == []
    assert opened.requests == [small.as_uri()]
    opened.context.close()


def test_the_pointer_reads_values_off(browser: Any, small: Path) -> None:
    opened = Opened(browser, small, DESK)
    reward = opened.page.locator("#charts .chart").first
    assert "0.8125" in reward.inner_text()
    reward.locator(".u-over").hover(position={"x": 1, "y": 20})
    assert "0.1594" in reward.inner_text(), "0.125 + 0.6875 / 20"
    opened.context.close()


def test_answers_of_each_step_are_reached(browser: Any, small: Path) -> None:
    opened = Opened(browser, small, PHONE)
    page = opened.page
    assert "of step 20" in page.inner_text("#sample-list")
    page.click("#sample-back")
    assert "of step 10" in page.inner_text("#sample-list")
    page.select_option("#sample-step", "1")
    assert "of step 1" in page.inner_text("#sample-list")
    assert page.is_disabled("#sample-back")
    assert "planted_part" in page.inner_text("#sample-list")
    opened.context.close()


def test_every_metric_can_be_found(browser: Any, small: Path) -> None:
    opened = Opened(browser, small, DESK)
    opened.page.click("#every summary")
    opened.page.fill("#every-find", "grad_n")
    assert opened.page.inner_text("#every-note") == "1 metrics"
    assert "actor/grad_norm" in opened.page.inner_text("#every-charts")
    opened.context.close()


def test_a_comparison_names_its_runs(browser: Any, tmp_path: Path) -> None:
    first = make_run(tmp_path / "first-run", steps=12)
    second = make_run(tmp_path / "second-run", steps=8, state="failed", reason="planted reason")
    opened = Opened(browser, page_of(tmp_path / "page.html", first, second), PHONE)
    text = opened.page.inner_text("body")
    assert "2 runs compared" in text and "planted reason" in text
    assert "second-run" in opened.page.locator("#charts .chart").first.inner_text()
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert opened.errors == []
    opened.context.close()


def test_ten_thousand_steps_open_in_under_three_seconds(browser: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path / "long", steps=10_000, metrics=60)
    size = sum(write_rollouts(run, step, prompts=32, answers=8, text="x" * 4000) for step in range(100, 10_001, 100))
    assert size > 100e6
    page, tries = page_of(tmp_path / "page.html", run), []
    while len(tries) < 3 and min(tries, default=OPEN_SECONDS) >= OPEN_SECONDS:  # other programs may hold the cores
        opened = Opened(browser, page, DESK)
        tries.append(opened.seconds)
        assert "10,000" in opened.page.inner_text("body")
        opened.context.close()
    assert min(tries) < OPEN_SECONDS
