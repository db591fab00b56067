"""The report in a real Chromium: it renders, sorts, answers, prints, and asks nobody for anything.

Skipped where there is no Chromium; with TRUERANK_REQUIRE_BROWSER=1, as in CI, that is a failure.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import truerank as tr
from truerank.comparison.page import page_of
from truerank.report.html import write_html
from truerank.report.page import Cell, Page, Section, Table

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PHONE = {"width": 375, "height": 812}
DESK = {"width": 1280, "height": 900}


def unavailable(reason: str) -> None:
    reason = f"browser tests do not run: {reason}"
    if os.environ.get("TRUERANK_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        unavailable("there is no Chromium; install the package chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("the package playwright is not installed; run make setup")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=["--disable-gpu"])
        yield chromium
        chromium.close()


class Visit:
    """A tab on a report, with everything that must not happen written down."""

    def __init__(self, browser: Browser, path: Path, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": DESK, **options})
        self.tab: Tab = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.tab.goto(path.as_uri())


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    visits: list[Visit] = []

    def open_report(page: Page, **options: Any) -> Visit:
        path = write_html(page, tmp_path / f"report-{len(visits)}.html")
        visits.append(Visit(browser, path, **options))
        return visits[-1]

    yield open_report
    for one in visits:
        complaints = list(one.complaints)
        one.context.close()
        assert complaints == []
        assert [url for url in one.requests if not url.startswith(("file:", "blob:"))] == []


Open = Callable[..., Visit]


def column(tab: Tab, number: int) -> list[str]:
    return tab.locator(f"#results tbody tr > :nth-child({number})").all_inner_texts()


def test_it_renders_and_asks_nobody(page: Page, visit: Open) -> None:
    one = visit(page)
    assert one.tab.title() == page.title
    assert one.tab.locator("h1").inner_text() == page.verdict
    assert one.tab.locator("svg.wide").count() == 5
    for svg in one.tab.locator("svg.wide").all():
        box = svg.bounding_box()
        assert box is not None
        assert box["width"] > 600
        assert box["height"] > 150
    one.tab.wait_for_timeout(300)
    assert len(one.requests) == 1  # the file itself


def test_a_click_sorts_and_says_so(page: Page, visit: Open) -> None:
    tab = visit(page).tab
    head = tab.get_by_role("columnheader", name="P(best)")
    assert column(tab, 1) == ["ease", "ials", "slim", "item-knn", "popularity"]
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"  # large numbers first
    assert column(tab, 1)[0] == "ease"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(tab, 5) == ["< 0.01", "< 0.01", "0.09", "0.20", "0.71"]
    assert column(tab, 1)[:2] == ["item-knn", "popularity"]  # equal rows keep their order


def test_the_keyboard_sorts_too(page: Page, visit: Open) -> None:
    tab = visit(page).tab
    button = tab.locator("#results").get_by_role("button", name="model")
    button.focus()
    tab.keyboard.press("Enter")
    assert column(tab, 1) == ["ease", "ials", "item-knn", "popularity", "slim"]
    tab.keyboard.press("Space")
    assert column(tab, 1) == ["slim", "popularity", "item-knn", "ials", "ease"]
    assert tab.locator("#results [aria-sort]").count() == 1
    assert button.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"


def test_numbers_sort_as_numbers_and_gaps_come_last(visit: Open) -> None:
    values = [2.0, math.nan, 10.0, -math.inf, 1.5, -3.0]
    rows = [[Cell(f"m{i}"), Cell(f"{v}", sort=v)] for i, v in enumerate(values)]
    table = Table(["model", "value"], rows)
    tab = visit(Page("t", "v", "", [Section("r", "results", parts=[table])])).tab
    button = tab.get_by_role("button", name="value")
    button.click()
    assert column(tab, 2) == ["10.0", "2.0", "1.5", "-3.0", "-inf", "nan"]
    button.click()
    assert column(tab, 2) == ["-inf", "-3.0", "1.5", "2.0", "10.0", "nan"]


def test_hovering_shows_every_value_at_that_place(page: Page, visit: Open) -> None:
    tab = visit(page).tab
    svg = tab.locator("#cutoffs svg.wide")
    assert not tab.locator(".tip").is_visible()
    svg.hover(position={"x": 300, "y": 150})
    tip = tab.locator(".tip")
    assert tip.is_visible()
    assert tip.locator(".where").inner_text().startswith("K ")
    assert tip.locator("bdi").all_inner_texts() == [s.name for s in _series(page, "cutoffs")]
    assert " to " in tip.locator(".value").first.inner_text()
    tab.mouse.move(5, 5)
    assert not tip.is_visible()


def test_hovering_an_interval_shows_its_remark(page: Page, visit: Open) -> None:
    tab = visit(page).tab
    tab.locator("#differences svg.wide .answer").nth(4).hover()
    assert tab.locator(".tip .remark").inner_text() == "bounds overlap: do not decide on this"
    assert tab.locator(".tip bdi").inner_text() == "ials − slim"


def test_arrow_keys_walk_through_a_chart(page: Page, visit: Open) -> None:
    tab = visit(page).tab
    tab.locator("#cutoffs svg.wide").focus()
    where = tab.locator(".tip .where")
    tab.keyboard.press("ArrowRight")
    assert where.inner_text() == "K 1"
    tab.keyboard.press("ArrowRight")
    assert where.inner_text() == "K 2"
    tab.keyboard.press("Escape")
    assert not where.is_visible()
    tab.keyboard.press("ArrowLeft")
    assert where.inner_text() == "K 100"


def test_hostile_names_are_text_and_nothing_runs(hostile_page: Page, visit: Open) -> None:
    tab = visit(hostile_page).tab
    names = tab.locator("section > .tabular tbody th")
    assert names.first.inner_text().startswith("<script>alert(1)</script>")
    assert tab.locator("script").count() == 3
    assert tab.locator("img").count() == 0
    tab.locator("svg.wide").first.hover(position={"x": 200, "y": 150})
    assert "<script>alert(1)</script>" in tab.locator(".tip").inner_text()
    for button in tab.get_by_role("button", name="model", exact=True).all():
        button.click()
    tab.wait_for_timeout(100)


def test_a_script_from_elsewhere_is_refused(page: Page, visit: Open) -> None:
    one = visit(page)
    ran = one.tab.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            return window.ran === true;
        }"""
    )
    assert ran is False
    refused = one.tab.evaluate("() => fetch('http://127.0.0.1:9/').then(() => false, () => true)")
    assert refused is True
    one.tab.wait_for_timeout(100)
    assert len(one.complaints) >= 2
    assert all("Content Security Policy" in text for text in one.complaints)
    one.complaints.clear()
    assert len(one.requests) == 1  # refused before it left


def test_light_and_dark_differ_and_can_be_read(page: Page, visit: Open) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        tab = visit(page, color_scheme=scheme).tab
        style = "node => [getComputedStyle(node).backgroundColor, getComputedStyle(node).color]"
        colours[scheme] = tab.locator("body").evaluate(style)
    assert colours["light"] == ["rgb(251, 250, 247)", "rgb(28, 32, 38)"]
    assert colours["dark"] == ["rgb(21, 23, 27)", "rgb(232, 230, 225)"]


@pytest.mark.parametrize("which", ["page", "hostile_page"])
def test_a_phone_scrolls_tables_and_never_the_page(
    which: str, visit: Open, request: pytest.FixtureRequest
) -> None:
    tab = visit(request.getfixturevalue(which), viewport=PHONE, has_touch=True).tab
    for summary in tab.locator("summary").all():
        summary.click()
    assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    tab.evaluate("scrollTo(500, 0)")
    assert tab.evaluate("scrollX") == 0
    table = tab.locator(".scroll").first
    assert table.evaluate("node => node.scrollWidth > node.clientWidth")
    assert tab.locator("svg.compact").first.is_visible()
    assert not tab.locator("svg.wide").first.is_visible()


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_no_text_leaves_its_chart(page: Page, visit: Open, viewport: dict[str, int]) -> None:
    tab = visit(page, viewport=viewport).tab
    outside = tab.evaluate(
        """() => [...document.querySelectorAll("svg.chart")].flatMap((svg) => {
            const box = svg.getBoundingClientRect();
            return [...svg.querySelectorAll("text")].filter((text) => {
                const one = text.getBoundingClientRect();
                return one.left < box.left - 9 || one.right > box.right + 9
                    || one.top < box.top - 2 || one.bottom > box.bottom + 2;
            }).map((text) => text.textContent);
        })"""
    )
    assert outside == []


def test_reading_needs_no_script(page: Page, visit: Open) -> None:
    tab = visit(page, java_script_enabled=False).tab
    assert tab.locator("h1").inner_text() == page.verdict
    assert tab.locator("#results tbody tr").count() == 5
    assert tab.locator("button").count() == 0  # no control that does nothing
    assert tab.locator("#cutoffs svg.wide").is_visible()
    said = tab.locator("#cutoffs svg.wide .answer title").first.text_content()
    assert said is not None
    assert said.startswith("ease: 0.05")
    numbers = tab.locator("#cutoffs details.numbers")
    numbers.locator("summary").click()
    assert numbers.locator("tbody tr").first.is_visible()


def test_the_printed_page_is_light_and_unfolded(page: Page, visit: Open) -> None:
    one = visit(page, color_scheme="dark")
    tab = one.tab
    tab.emulate_media(media="print", color_scheme="dark")
    body = tab.locator("body").evaluate("node => getComputedStyle(node).backgroundColor")
    assert body == "rgb(255, 255, 255)"
    assert not tab.locator(".contents").is_visible()
    assert tab.locator("#cutoffs details.numbers tbody tr").first.is_visible()
    assert tab.locator("#made details p").first.is_visible()
    tab.emulate_media(media="screen")
    assert not tab.locator("#made details p").first.is_visible()
    assert tab.pdf().startswith(b"%PDF")


def test_the_numbers_can_be_saved(page: Page, visit: Open) -> None:
    tab = visit(page, accept_downloads=True).tab
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Save the numbers as JSON").click()
    saved = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert saved == {**page.data, "missing": None}


def test_the_keyboard_can_skip_to_the_report(page: Page, visit: Open) -> None:
    tab = visit(page).tab
    tab.keyboard.press("Tab")
    skip = tab.get_by_role("link", name="Skip to the report")
    assert skip.evaluate("node => node === document.activeElement")
    box = skip.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"


def _series(page: Page, anchor: str) -> Any:
    section = next(s for s in page.sections if s.anchor == anchor)
    return section.parts[0].series  # type: ignore[union-attr]


def test_a_real_verdict_with_a_script_for_a_name(visit: Open) -> None:
    rng = np.random.default_rng(0)
    ranks = np.exp(rng.uniform(0, np.log(2000), 800)).astype(np.int64)
    name = "<script>alert('name')</script>"
    tables = {
        name: tr.RankTable.from_arrays(rank=ranks, n_sampled=2000, n_items=2000),
        "sampled": tr.RankTable.from_arrays(
            rank=1 + rng.hypergeometric(ranks - 1, 2000 - ranks, 49), n_sampled=50, n_items=2000
        ),
    }
    verdict = tr.compare(tables, ["ndcg@10", "recall@10"], n_boot=100)
    tab = visit(page_of(verdict), viewport=PHONE).tab
    headings = tab.locator("h2").all_inner_texts()
    for wanted in ("The models", "The differences", "Over K", "How it was made"):
        assert any(wanted in heading for heading in headings)
    assert name in tab.inner_text("body")
    embedded = json.loads(tab.locator("script[type='application/json']").first.inner_text())
    read = embedded["comparisons"][0]["difference"]
    assert read == verdict.comparisons[0].difference
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert tab.locator("svg.chart").count() >= 5
