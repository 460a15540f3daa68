"""The live page in a real browser: light, dark and narrow, loaded again, cut off, and at the end of the study."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.report.draw import script, themes
from inrush.report.live.access import Access
from inrush.report.live.charts import specs
from inrush.report.live.points import PointSoFar
from tests.live_events import progress, role, usage
from tests.test_live_server import TOKEN, Study, until
from tests.test_report import browser, wait  # noqa: F401
from tests.test_run import begin

MARKUP = "<b>bold</b> & 'quoted'"


class Busy(Study):
    """A study whose two roles go on by themselves."""

    def __init__(self, folder: Any) -> None:
        super().__init__(folder)
        self.access = self.server.served.access = Access(TOKEN, made_for_page=True)
        self.server.served.charts = script()
        self.server.served.themes = json.dumps({"specs": specs(), "themes": themes()})
        self.view.seen.study = {
            **self.view.seen.study, "title": MARKUP, "question": "How fast is it?", "accept": {"writers.errors": 0},
        }  # fmt: skip
        rows = [
            PointSoFar((), f"engine, n {n}", 3, 100.0 * n, 90.0 * n, 110.0 * n, f"{100 * n} rows/s", n == 2)
            for n in (1, 2, 4)
        ]
        claims = [{"id": "c", "figure": "writers.rows_per_s", "point": "n 8", "claimed": "800", "from": "700",
                   "to": "900", "measured": "650", "runs": 1, "inside": False}]  # fmt: skip
        self.view._shown = (rows, claims, "rate of writers")
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self) -> None:
        half = 0
        while not self.stopped.wait(0.25):
            half += 1
            rows = 900 * half + 300 * (half % 7)
            roles = {
                "writers": role(
                    rows, 10 * half, [2_000_000 + 90_000 * (half % 11)] * 10, due=10 * half + 3, backlog=3
                ),
                "readers": role(0, 4 * half, [700_000] * 4, errors=half // 4, failed={"timeout": half // 4}),
            }
            used = [usage("cpu_s", half / 2, 0.2 * half), usage("cpu_busy_s", half / 2, 0.7 * half, "host"),
                    usage("dev_write_bytes", half / 2, 1e7 * half, "host", "vda"), usage("rss_bytes", half / 2, 3e8)]  # fmt: skip
            self.view.event(
                progress(half / 2, roles, resources=used, share=min(1.0, half / 200), left_s=50.0)
            )

    def end(self, report: Path | None = None) -> None:
        self.stopped.set()
        self.thread.join()
        self.view.finished("done")
        self.server.end(report)


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Busy]:
    found = Busy(begin(tmp_path))
    yield found
    if not found.stopped.is_set():
        found.end()


def opened(browser: Any, study: Busy, width: int = 1200) -> None:  # noqa: F811
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False},
    )
    browser.get(study.server.url + study.access.path())
    wait(browser, "document.documentElement.dataset.beats > 3 && document.documentElement.dataset.drawn > 2")


def complaints(browser: Any) -> list[str]:  # noqa: F811
    return [
        entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 400])
def test_the_page_fills_and_fits(browser: Any, busy: Busy, scheme: str, width: int, tmp_path: Path) -> None:  # noqa: F811
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    opened(browser, busy, width)
    text = browser.find_element("tag name", "main").text
    for part in (MARKUP, "How fast is it?", "rows/s", "p99.9", "due, not done", "timeout", "client", "vda",
                 "accepted at most", "engine, n 4", "OUTSIDE", "fake 1", "LIVE"):  # fmt: skip
        assert part.lower() in text.lower(), part
    assert not browser.find_elements("css selector", "h1 b"), "text of a study is never markup"
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script("return document.documentElement.dataset.theme") == scheme
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('figure')].filter((f) => !f.hidden && f.querySelector('canvas')).map((f) => f.innerText)"
    )
    assert len(drawn) == 7, (
        drawn
    )  # rows, calls, failed calls, cores, points, and the latency of each of two roles
    assert browser.execute_script("return document.documentElement.dataset.failed") is None
    assert complaints(browser) == []
    browser.save_screenshot(str(tmp_path / f"{scheme}-{width}.png"))


def test_what_happens_is_seen_within_two_seconds(browser: Any, busy: Busy) -> None:  # noqa: F811
    opened(browser, busy)
    late = []
    for _ in range(8):
        time.sleep(0.4)
        now_s, shown_s = (
            time.time(),
            float(browser.execute_script("return document.documentElement.dataset.now")),
        )
        late.append(now_s - shown_s)
    assert max(late) < 2.0, late


@pytest.mark.slow
def test_a_page_that_is_loaded_again_shows_the_run_from_its_begin(browser: Any, busy: Busy) -> None:  # noqa: F811
    opened(browser, busy)
    time.sleep(3)
    before = len(busy.view.seen.series.steps)
    browser.refresh()
    wait(browser, "document.documentElement.dataset.beats >= 1")
    assert before >= 3 and int(wait(browser, "document.documentElement.dataset.steps")) >= before


@pytest.mark.ci
def test_the_page_becomes_the_report(browser: Any, busy: Busy, tmp_path: Path) -> None:  # noqa: F811
    opened(browser, busy)
    report = tmp_path / "report.html"
    report.write_text(
        "<!doctype html><title>r</title><main id=report>the report<script>document.title='ran'</script></main>"
    )
    ending = threading.Thread(target=busy.end, args=(report,))
    ending.start()
    # Not `wait`: its script would be waited for in the page that is left.
    until(
        lambda: bool(
            browser.execute_script("return document.title === 'ran' && !!document.getElementById('report')")
        ),
        "the report is in the place of the page",
    )
    ending.join()


@pytest.mark.ci
def test_a_page_that_is_cut_off_says_so(browser: Any, busy: Busy) -> None:  # noqa: F811
    opened(browser, busy)
    server = busy.server._server

    def cut() -> None:
        for listening in server.servers:
            listening.close()
        for connection in list(server.server_state.connections):
            connection.transport.abort()  # type: ignore[union-attr]

    busy.server._loop.call_soon_threadsafe(cut)
    wait(browser, "document.getElementById('word').textContent === 'NO CONNECTION'", 20)


@pytest.mark.slow
def test_a_study_that_ends_without_a_report_is_said_to_have_ended(browser: Any, busy: Busy) -> None:  # noqa: F811
    opened(browser, busy)
    busy.stopped.set()
    busy.thread.join()
    busy.server.end(None)
    wait(browser, "document.getElementById('word').textContent === 'ENDED'", 20)
