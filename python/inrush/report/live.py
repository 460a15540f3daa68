"""The report while its study runs: written again after runs, with one line that says what is going on and what is missing.

Drawing takes CPU of the machine that is measured, so it happens between runs and a small share of the time; while a
run goes on, only the line changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.border.events import Event
from inrush.report.page import NOW_BEGINS, NOW_ENDS, Live
from inrush.report.report import write_page, write_report
from inrush.results.store import Results
from inrush.run.progress import StudyClock
from inrush.stats.measures import writing_roles

if TYPE_CHECKING:
    from inrush.plan.planned import PlannedRun
    from inrush.run.listener import Listener

#: The line is renewed so often, and so is the page in the browser.
EVERY_S = 5
#: Share of the study's time that drawing may take.
DRAWING_SHARE = 0.05


class LivePage:
    """A listener that passes everything on and keeps the page."""

    def __init__(
        self, inner: Listener, results: Path, planned: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.inner, self.results, self.planned, self.clock = inner, results, planned, clock
        self.study = StudyClock()
        self.html = ""
        self.drawn_s = self.said_s = float("-inf")
        self.took_s = 0.0
        self.draw()

    def begun(self, n: int, of: int, run: PlannedRun) -> None:
        self.inner.begun(n, of, run)
        self.planned = of
        self.study.begun(n, of, run.point, run.block, writing_roles(run.plan), run.plan)
        self.say()

    def event(self, event: Event) -> None:
        self.inner.event(event)
        self.study.event(event)
        if self.clock() - self.said_s >= EVERY_S:
            self.say()

    def ended(self, run: PlannedRun, doc: dict[str, Any]) -> None:
        self.inner.ended(run, doc)
        self.study.ended()
        since_s = self.clock() - self.drawn_s
        if since_s >= max(EVERY_S, self.took_s / DRAWING_SHARE):
            self.draw()

    def note(self, message: str) -> None:
        self.inner.note(message)

    def draw(self) -> None:
        """The whole page, from what is sealed."""
        began_s = self.clock()
        results = Results(self.results)
        write_report(results, results.report_path, live=Live(len(results.runs), self.planned, EVERY_S))
        self.html = results.report_path.read_text(encoding="utf-8")
        self.drawn_s = self.clock()
        self.took_s = self.drawn_s - began_s
        self.say()

    def say(self) -> None:
        """The line alone, in the page as it was drawn last."""
        before, _, rest = self.html.partition(NOW_BEGINS)
        _, _, after = rest.partition(NOW_ENDS)
        line = escape(self.study.line()) if self.study.of else "about to begin"
        write_page(Results(self.results).report_path, f"{before}{NOW_BEGINS}{line}{NOW_ENDS}{after}")
        self.said_s = self.clock()
