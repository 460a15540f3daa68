"""The report printed to PDF by a real browser: some pages, and nothing on them is cut."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from tests.test_report import browser, page, record, wait

__all__ = ["browser", "page", "record"]

#: A4, less a margin of 10 mm on each side, in pixels of CSS.
PRINTED_PX = (210 - 20) / 25.4 * 96


@pytest.fixture
def printed(browser: Any, page: Path) -> Any:
    """The report as it is laid out for A4 paper."""
    browser.get(page.as_uri())
    wait(browser, "document.documentElement.dataset.drawn >= '1'")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    size = {"width": round(PRINTED_PX), "height": 1047, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield browser
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_printed_report_has_all_of_its_pages(browser: Any, page: Path) -> None:
    browser.get(page.as_uri())
    wait(browser, "document.documentElement.dataset.drawn >= '1'")
    margins = {f"margin{side}": 10 / 25.4 for side in ("Left", "Right", "Top", "Bottom")}
    paper = {"paperWidth": 210 / 25.4, "paperHeight": 297 / 25.4, "printBackground": True, **margins}
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", paper)["data"])
    assert pdf.startswith(b"%PDF-") and b"%%EOF" in pdf[-64:]
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    figures = len(browser.find_elements("css selector", "figure"))
    assert 3 <= pages <= figures + 12, f"{pages} pages for {figures} figures"


def test_nothing_is_wider_than_the_paper(printed: Any) -> None:
    wide = printed.execute_script(
        "return [...document.querySelectorAll('main *')].filter(e => { const box = e.getBoundingClientRect(); "
        "return box.width && (box.right > arguments[0] + 1 || box.left < -1) })"
        ".map(e => `${e.tagName}.${e.className.baseVal ?? e.className} ${e.getBoundingClientRect().right}`)",
        PRINTED_PX,
    )
    assert wide == []


def test_nothing_on_paper_is_cut_off_by_its_own_box(printed: Any) -> None:
    cut = printed.execute_script(
        "return [...document.querySelectorAll('main, main *')].filter(e => { const style = getComputedStyle(e); "
        "return !e.closest('svg') && style.overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1 })"
        ".map(e => `${e.tagName}.${e.className} ${e.scrollWidth} > ${e.clientWidth}`)"
    )
    assert cut == []
    buttons = printed.execute_script(
        "return getComputedStyle(document.querySelector('header.top button')).display"
    )
    assert buttons == "none", "nothing to press"


def test_no_figure_and_no_row_is_broken_between_two_pages(printed: Any) -> None:
    breakable = printed.execute_script(
        "return [...document.querySelectorAll('figure, tr')].filter(e => getComputedStyle(e).breakInside !== 'avoid').length"
    )
    tallest = printed.execute_script(
        "return Math.max(...[...document.querySelectorAll('figure, tr')].map(e => e.getBoundingClientRect().height))"
    )
    assert breakable == 0
    assert 0 < tallest < (297 - 20) / 25.4 * 96, "what does not fit one page is broken all the same"
