"""The listener of a study that keeps what is seen of it, for all that look: lines, the terminal, the page, Prometheus.

It hears on the study's own thread; looks come from another. Both take one lock of this process, which
measures nothing: the sessions of a run live in another one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from inrush.border.events import Event
from inrush.plan.planned import PlannedRun
from inrush.report.live.metrics import families, rendered
from inrush.report.live.points import Claimed, Points, claims_about
from inrush.report.live.run_lines import ended_line, found_line
from inrush.report.live.seen import StudySeen
from inrush.report.live.snapshot import Doc, snapshot, step_rows
from inrush.results.store import Results, SealedRun, Store, StudyFolder
from inrush.text import show_s

#: Says a line to the one who waits for the study.
Say = Callable[[str], None]


def claims_of(folder: StudyFolder, runs: Sequence[PlannedRun]) -> list[Claimed]:
    """Frozen claims about points of the study, in the store that its folder lies in."""
    points = [{"engine": run.labels["engine"], **run.labels["factors"]} for run in runs]
    return claims_about(Store(folder.path.parent), {"name": folder.name}, points)


@dataclass(frozen=True)
class SeriesPlace:
    """How far a reader has come: in which series of steps, and how many of them it has."""

    series: str = ""
    steps: int = 0


class View:
    def __init__(
        self,
        say: Say,
        folder: StudyFolder,
        runs: Sequence[PlannedRun],
        claims: Sequence[Claimed] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.say, self.folder, self.clock = say, folder, clock
        self.lock = threading.Lock()
        study = {**folder.doc, "id": folder.path.name}
        self.seen = StudySeen(study, runs, clock())
        self.points = Points(study, claims)
        self._shown: tuple[Sequence[Any], Sequence[Doc], str] = ((), (), "")
        sealed = Results(folder.path).runs
        # What a study that goes on had measured was said before.
        self.has_result = bool(sealed)
        self._learn(sealed)

    def begun(self, n: int, of: int, run: PlannedRun) -> None:
        with self.lock:
            self.seen.begun(n, of, run, self.clock())

    def event(self, event: Event) -> None:
        with self.lock:
            self.seen.event(event, self.clock())

    def ended(self, run: PlannedRun, doc: dict[str, Any]) -> None:
        sealed = SealedRun(self.folder.path / run.run_id)
        found = found_line(sealed, self.folder.doc.get("answer")) if doc["status"] == "done" else ""
        self._learn([sealed])
        with self.lock:
            self.seen.ended(str(doc["status"]))
            line = ended_line(self.seen.clock, doc)
        self.note(f"{line}{f' · {found}' if found else ''}")
        if found and not self.has_result:
            self.has_result = True
            after = show_s(self.clock() - self.seen.began_s)
            self.say(
                f"first result {after} after planning: {run.point}: {found}; what follows says how sure that is"
            )

    def note(self, message: str) -> None:
        self.say(message)
        with self.lock:
            self.seen.note(message, self.clock())

    def plan(self, runs: Sequence[PlannedRun]) -> None:
        """Planned anew, before the first run: a server has said what it cannot do."""
        with self.lock:
            self.seen.plan(runs)

    def finished(self, status: str) -> None:
        """status: as study.json says, or why it ended."""
        with self.lock:
            self.seen.status = status

    def look(self) -> Doc:
        """The snapshot of this moment."""
        with self.lock:
            points, claims, figure = self._shown
            return snapshot(self.seen, points, claims, figure, self.clock())

    def metrics(self, accept: str) -> tuple[str, bytes]:
        """accept: the header of the request. Content type and body."""
        with self.lock:
            found = families(self.seen, self.clock())
            return rendered(accept, found)

    def steps_since(self, place: SeriesPlace) -> tuple[SeriesPlace, list[Doc]]:
        """Rows of the steps that a reader does not have; all of them where they became others meanwhile."""
        with self.lock:
            series = self.seen.series
            now = SeriesPlace(f"{series.run}.{series.version}", len(series.steps))
            first = place.steps if place.series == now.series else 0
            return now, step_rows(series.steps[first:])

    def _learn(self, runs: Sequence[SealedRun]) -> None:
        """Reads runs that are sealed. Between two runs, on the study's own thread: no look waits for it."""
        for run in runs:
            self.points.add(run)
        shown = (self.points.so_far(), self.points.against_claims(), self.points.named())
        with self.lock:
            self._shown = shown
