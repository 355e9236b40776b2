"""The Evaluate tab in a real browser, on Memoir's own benchmark."""

from __future__ import annotations

import csv
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from eval.runs.evaluator import Evaluator
from eval.settings import EvalSettings
from eval.tab.evaluate_tab import EvaluateTab
from eval.tab.run_form import make_plan
from eval.tab.runner import RunStatus
from graph.server.page import Page as GradioPage
from graph.server.page import isolate_pages
from memory.embedding.embedder import Embedder
from memory.tab.parts import Update
from support.browser_app import SLOW, App, Screen, served
from support.short_lives import write_short_lives

pytestmark = pytest.mark.browser

PROBES = "12"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    running = App(tmp_path_factory.mktemp("evaluate"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a life that is played in a second."""
    return str(write_short_lives(tmp_path_factory.mktemp("short"), ("marta",), sessions=10, probes=6))


@pytest.fixture
def screen(window: Screen) -> Iterator[Screen]:
    window.visit_anew()
    window.evaluate()
    yield window
    assert window.outside == []
    assert window.faults == []


def cell(page: Page, table: str, text: str | re.Pattern[str], column: int = 0) -> None:
    """Click a cell of the first row that has the text."""
    row = page.locator(f"#{table} .virtual-row", has_text=text).first
    row.locator(f".body-cell[data-col='{column}']").click()


def earlier(page: Page) -> None:
    page.locator("#eval-runs button").first.click()
    expect(page.locator("#eval-list .virtual-row").first).to_be_visible()


def saved(page: Page, button: str) -> str:
    with page.expect_download() as download:
        page.locator(f"#eval-{button}").click()
    return Path(download.value.path()).read_text("utf-8")


def stopped_at(page: Page) -> int:
    return int(re.findall(r"Stopped. (\d+) of", page.locator("#eval-status").inner_text())[0])


@pytest.mark.slow
def test_one_click_measures_and_every_figure_leads_to_a_probe_with_its_evidence(screen: Screen) -> None:
    page = screen.page
    expect(page.locator("#eval-empty")).to_contain_text(
        re.compile(r"Click Run to ask 1\d\d questions \(“probes”\) about 3 invented lives")
    )
    screen.measure(PROBES)
    expect(page.locator("#eval-status progress")).to_be_visible()
    expect(page.locator("#eval-status")).to_contain_text(re.compile(rf"\d+ of {PROBES} probes"), timeout=SLOW)
    screen.measured()
    expect(page.locator("#eval-heading")).to_contain_text(f"{PROBES} probes of 1 history")
    expect(page.locator("#eval-summary")).to_contain_text(re.compile(r"answered right\s*(1?\.\d{3})"))
    expect(page.locator("#eval-plot .js-plotly-plot")).to_be_visible(timeout=SLOW)
    expect(page.locator("#eval-groups")).to_contain_text("single-session")
    page.get_by_role("tab", name="Metrics").click()
    cell(page, "eval-figures", "session_recall_all@5")
    expect(page.locator("#eval-where")).to_contain_text(
        f"{PROBES} probes, lowest all evidence in the first 5 conversations first"
    )
    page.locator("#eval-probes .virtual-row .body-cell").nth(1).click()
    expect(page.locator("#eval-question")).to_contain_text("Right answer")
    expect(page.locator("#eval-evidence li").first).to_contain_text(re.compile(r"rank \d+|not found"))
    expect(page.locator("#eval-ranking .virtual-row").first).to_be_visible()
    expect(page.locator("#eval-trace")).to_contain_text(re.compile(r"classify.*retrieve.*read.*ms in total", re.DOTALL))


def test_what_was_measured_can_be_taken_along(screen: Screen, short: str) -> None:
    page = screen.measure(data=short)
    screen.measured()
    rows = list(csv.DictReader(saved(page, "csv").splitlines()))
    assert [row["n"] for row in rows if (row["axis"], row["metric"]) == ("all", "answer_accuracy")] == ["6"]
    held = json.loads(saved(page, "json"))
    assert held["n"] == 6
    assert held["metrics"]["answer_accuracy"]["n"] == 6
    assert "## Figures" in saved(page, "markdown")


def test_a_sweep_is_one_table_and_two_of_its_runs_are_compared_and_one_deleted(screen: Screen, short: str) -> None:
    page = screen.page
    page.locator("#eval-settings button").first.click()
    expect(page.locator("#eval-sweep textarea")).to_be_visible()
    screen.measure(data=short, sweep="search.dense_weight=0,1")
    screen.measured()
    expect(page.locator("#eval-sweep-table .virtual-row")).to_have_count(2)
    expect(page.locator("#eval-sweep-table")).to_contain_text("search.dense_weight=1")
    earlier(page)
    before = page.locator("#eval-list .virtual-row").count()
    cell(page, "eval-list", "search.dense_weight=1")
    expect(page.locator("#eval-chosen")).to_contain_text("search.dense_weight=1")
    page.locator("#eval-compare").click()
    expect(page.locator("#eval-outcome")).to_contain_text("search.dense_weight: 1.0 / 0.0", timeout=SLOW)
    expect(page.locator("#eval-outcome")).to_contain_text(re.compile(r"\d answers? became right and \d became wrong"))
    expect(page.locator("#eval-differences .virtual-row").first).to_be_visible()
    assert "| metric" in saved(page, "compare-markdown")
    page.locator("#eval-delete").click()
    expect(page.locator("#eval-runs .memoir-confirm").first).to_contain_text("Its 6 answers")
    page.locator("#eval-delete-sure").click()
    expect(page.locator("#eval-outcome")).to_contain_text("Deleted memoir-")
    expect(page.locator("#eval-list .virtual-row")).to_have_count(before - 1)


def test_ticked_systems_stand_in_one_table_with_what_they_cost(screen: Screen, short: str) -> None:
    page = screen.page
    page.locator("#eval-settings button").first.click()
    boxes = page.locator("#eval-systems")
    expect(boxes.get_by_label("memoir", exact=True)).to_be_checked()
    boxes.get_by_label("bm25", exact=True).check()
    screen.measure(data=short)
    screen.measured()
    rows = page.locator("#eval-sweep-table .virtual-row")
    expect(rows).to_have_count(2)
    expect(page.locator("#eval-sweep-table")).to_contain_text("seconds to remember")
    cell(page, "eval-sweep-table", "system=bm25")
    expect(page.locator("#eval-heading")).to_contain_text("system=bm25", timeout=SLOW)


@pytest.mark.slow
def test_a_run_belongs_to_no_window_and_stopping_keeps_what_is_done(app: App, browser: Browser, screen: Screen) -> None:
    page = screen.measure()
    expect(page.locator("#eval-status")).to_contain_text(re.compile(r"history \w+ · .* left"), timeout=SLOW)
    other = Screen(browser, app.url)
    other.evaluate()
    expect(other.page.locator("#eval-status")).to_contain_text(re.compile(r"\d+ of 1\d\d probes"))
    expect(other.page.locator("#eval-run")).to_be_hidden()
    page.reload()
    screen.evaluate()
    expect(page.locator("#eval-status")).to_contain_text("left")
    other.page.locator("#eval-stop").click()
    expect(page.locator("#eval-status")).to_contain_text("Run again with the same settings", timeout=SLOW)
    expect(page.locator("#eval-heading")).to_contain_text("unfinished")
    kept = stopped_at(page)
    assert 0 < kept < 168
    other.close()
    screen.measure()
    expect(page.locator("#eval-status")).to_contain_text(re.compile(r"\d+ of 1\d\d probes .* left"), timeout=SLOW)
    page.locator("#eval-stop").click()
    expect(page.locator("#eval-status")).to_contain_text("Stopped", timeout=SLOW)
    assert stopped_at(page) > kept
    earlier(page)
    expect(page.locator("#eval-list .virtual-row", has_text="unfinished")).to_have_count(1)


@pytest.mark.slow
def test_files_that_are_missing_are_told_with_what_to_do(screen: Screen) -> None:
    page = screen.page
    page.locator("#eval-benchmark input").click()
    page.get_by_role("option", name="LoCoMo").click()
    expect(page.locator("#eval-about")).to_contain_text("The files of LoCoMo are not on this machine")
    page.locator("#eval-fetch").click()
    expect(page.locator("#eval-fetched")).to_contain_text("Licence of LoCoMo")
    page.locator("#eval-run").click()
    expect(page.get_by_text("Enter their file or folder, or download the official ones")).to_be_visible()
    page.locator("#eval-data :is(input, textarea)").fill("/nowhere/at/all.json")
    expect(page.locator("#eval-about")).to_contain_text("/nowhere/at/all.json does not exist")


def test_a_setting_that_does_not_exist_is_refused(screen: Screen) -> None:
    page = screen.page
    page.locator("#eval-settings button").first.click()
    page.locator("#eval-lines textarea").fill("search.kk=3")
    page.locator("#eval-run").click()
    expect(page.get_by_text("there is no setting 'search.kk'")).to_be_visible()


def test_a_run_stays_on_the_screen_while_the_tab_is_still_being_filled(
    browser: Browser, tmp_path: Path, embedder: Embedder
) -> None:
    clicked = threading.Event()

    class SlowTab(EvaluateTab):
        def enter(self, *values: Any) -> Update:
            told = super().enter(*values)
            if clicked.wait(timeout=1.5):
                time.sleep(0.5)
            return told

        def start(self, *values: Any) -> Update:
            plan = make_plan(self.evaluator, self.form.read(*values))
            self.runner.status = RunStatus(1, "running", plan)
            clicked.set()
            return self._show_status(self.runner.status)

    isolate_pages()
    with GradioPage() as page, gr.Tabs():
        gr.Tab("Chat", id="chat")
        with gr.Tab("Evaluate", id="evaluate") as tab:
            SlowTab(tab, Evaluator(EvalSettings(home=tmp_path)), embedder)
    with served(page, tmp_path / "uploads") as url:
        window = browser.new_context().new_page()
        window.goto(url)
        window.get_by_role("tab", name="Evaluate").click()
        window.locator("#eval-run").click()
        expect(window.locator("#eval-stop")).to_be_visible()
        with pytest.raises(PlaywrightTimeout):
            window.locator("#eval-run").wait_for(state="visible", timeout=1500)
        window.context.close()


def test_nothing_in_a_benchmarks_file_runs(screen: Screen, tmp_path: Path) -> None:
    bad = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
    turns = [{"id": "t1", "speaker": bad, "role": "user", "text": f"The gate opens with the word Quittenbaum. {bad}"}]
    life = [
        {"memoir": 1, "persona": {"name": "Mira", "id": "mira"}},
        {"session": {"id": "s1", "title": bad, "started_at": "2026-01-05T10:00:00+00:00", "turns": turns}},
    ]
    probe = {
        "id": f"p1 {bad}",
        "ability": bad,
        "question": f"With which word does the gate open? {bad}",
        "asked_at": "2026-02-01T10:00:00+00:00",
        "answers": [f"Quittenbaum {bad}"],
        "evidence": ["t1"],
    }
    (tmp_path / "mira.jsonl").write_text("\n".join(map(json.dumps, life)) + "\n", "utf-8")
    (tmp_path / "mira.probes.jsonl").write_text(json.dumps(probe) + "\n", "utf-8")
    page = screen.measure(data=str(tmp_path))
    screen.measured()
    expect(page.locator("#eval-plot .js-plotly-plot")).to_be_visible(timeout=SLOW)
    page.get_by_role("tab", name="Probes").click()
    page.locator("#eval-probes .virtual-row .body-cell").nth(1).click()
    expect(page.locator("#eval-evidence li").first).to_contain_text("<img src=x")
    earlier(page)
    page.locator("#eval-list .virtual-row .body-cell").first.click()
    expect(page.locator("#eval-chosen")).to_contain_text("memoir-")
    assert page.evaluate("window.hacked") is None


def test_a_phone_shows_a_run_without_sideways_scrolling(window: Screen, short: str) -> None:
    window.visit_anew(390, 844)
    page = window.evaluate()
    assert not window.overflows()
    window.measure(data=short)
    window.measured()
    expect(page.locator("#eval-plot .js-plotly-plot")).to_be_visible(timeout=SLOW)
    assert not window.overflows()
    page.locator("#eval-settings button").first.click()
    earlier(page)
    assert not window.overflows()
