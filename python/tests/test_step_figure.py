"""The time line of a run with many steps, in a real browser: everything stays inside of its card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inrush.report.report import write_report
from inrush.results.store import Results
from inrush.stats.measures import study_record
from tests.steps import STUDY, run_study_file, write_study
from tests.test_report import browser, wait

__all__ = ["browser"]

READS = "".join(
    f'[[steps]]\nname = "read_of_one_spectrum_{k:02}"\ndo = "read"\noperation = "one"\ncalls = 10\n'
    for k in range(20)
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steps")
    study = STUDY.replace('engines = ["sqlite", "duckdb"]', 'engines = ["sqlite"]') + READS
    results = run_study_file(write_study(folder, study), folder)
    write_report(study_record(Results(results)), folder / "report.html")
    return folder / "report.html"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_steps_of_a_run_fit_their_card(browser: Any, page: Path, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.get(page.as_uri())
        wait(browser, "document.documentElement.dataset.drawn >= '1'")
        figure = next(
            f for f in browser.find_elements("css selector", "figure") if "The steps of a run" in f.text
        )
        card, right, words = browser.execute_script(
            """const rights = [...arguments[0].querySelectorAll('svg, svg *')].map(e => e.getBoundingClientRect().right);
            const texts = [...arguments[0].querySelectorAll('svg text')].map(e => e.textContent);
            return [arguments[0].getBoundingClientRect().right, Math.max(...rights), texts]""",
            figure,
        )
        assert right <= card <= width
        assert sum(text.startswith("read_of_one_spectrum") for text in words) < 20
        assert any("other steps (read)" in text for text in words)
        assert any(text.startswith("read, 2") for text in words), "one line for all that read"
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
