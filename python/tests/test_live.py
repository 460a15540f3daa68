"""A report that follows its study: it says that it is live, what goes on and what is missing, and then that no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.analysis.analyse import analyse
from inrush.report.live import EVERY_S, LivePage
from inrush.report.page import Live, live_banner
from inrush.results.store import Results, Store
from inrush.run.listener import Silent
from tests import synthetic
from tests.terminal import Inrush
from tests.test_progress import load_beat
from tests.test_run import FINISHED, Planned, begin, make

RENEWS = 'http-equiv="refresh"'


class Clock:
    """Seconds as the test says."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Watched(LivePage):
    """Keeps every page that a reader could have seen."""

    seen: list[str]

    def say(self) -> None:
        super().say()
        self.seen = [*getattr(self, "seen", []), Results(self.results).report_path.read_text()]


def test_every_page_of_a_running_study_is_live_and_says_what_goes_on(tmp_path: Path) -> None:
    folder, clock = begin(tmp_path), Clock()
    page = Watched(Silent(), folder.path, 2, clock)

    class Ticking(Silent):
        def event(self, event: object) -> None:
            clock.now_s += EVERY_S

    page.inner = Ticking()
    runs = [
        Planned(i, [{"event": "segment", "index": 0, "label": "load"}, "table", FINISHED]) for i in range(2)
    ]
    make(folder, runs, page)  # type: ignore[arg-type]
    assert len(page.seen) >= 4
    for seen in page.seen:
        assert RENEWS in seen and "LIVE" in seen and "<script src=" not in seen
    assert "about to begin" in page.seen[0] and "[1/2]" in page.seen[1]
    assert any("Drawn from 1 of 2 runs" in seen for seen in page.seen)


def test_a_load_that_goes_on_tells_the_page_how_far_it_is(tmp_path: Path) -> None:
    folder, clock = begin(tmp_path), Clock()
    page = LivePage(Silent(), folder.path, 1, clock)
    page.begun(1, 1, Planned(0, []))  # type: ignore[arg-type]
    clock.now_s += EVERY_S
    page.event(load_beat(100, 4_000_000, gaps=1, gaps_s=90.0))  # type: ignore[arg-type]
    shown = Results(folder.path).report_path.read_text()
    assert "34,000,000 of 100,000,000 rows, 34 % · 1 gap, 2 min · the load ends at" in shown


def test_drawing_takes_no_more_than_its_share_of_the_study(tmp_path: Path) -> None:
    folder, clock = begin(tmp_path), Clock()

    class Slow(LivePage):
        draws = 0

        def draw(self) -> None:
            self.draws += 1
            super().draw()
            self.took_s = 10.0

    page = Slow(Silent(), folder.path, 100, clock)
    run = Planned(0, [FINISHED])
    for _ in range(100):
        clock.now_s += 10
        page.ended(run, {"status": "done"})  # type: ignore[arg-type]
    assert page.draws == 1 + 100 * 10 // 200, "ten seconds of drawing in two hundred"


def test_the_banner_names_the_points_without_a_measured_run() -> None:
    record = synthetic.study({("duckdb", 200): 1.0}, blocks=1)
    planned = [{"point": p, "block": 1} for p in ("", "duckdb batch_rows=5000")]
    analysis = analyse(type(record)({**record.study, "planned": planned}, record.runs))
    detail = live_banner(analysis, Live(2, 4, 5))
    assert "1 point has no measured run yet" in detail and "batch_rows=5000" in detail
    assert live_banner(analysis, None) == ""


@pytest.mark.parametrize("live", [("--live",), ()])
def test_the_page_of_a_study_that_has_ended_renews_itself_no_more(
    inrush: Inrush, live: tuple[str, ...]
) -> None:
    words = ("quickstart", "sqlite", "--scale", "xs", "-P", "batch_rows=1000", "-P", "repeats.count=1")
    said = inrush("run", *words, *live)
    assert said.code == 0, said.err
    assert ("live report:" in said.err) == bool(live)
    page = Results(Store(inrush.store.root).latest().path).report_path.read_text()
    assert RENEWS not in page and "LIVE" not in page
