"""Which planned runs are made after all: stop rules, a search, and the repeats of the points that came out best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from inrush.plan.calibration import is_price
from inrush.results.store import Results, SealedRun
from inrush.run.ahead import Look

if TYPE_CHECKING:
    from inrush.analysis.points import Measured
    from inrush.plan.planned import PlannedRun, StudyPlan
    from inrush.plan.search import Searching
    from inrush.stats.trials import Tried


class StopRules:
    """Applies a study's stop rules, or its search, to what was measured so far; reads each sealed run once.

    note: gets, once a run, the reason why its figures decide nothing.
    """

    def __init__(self, plan: StudyPlan, note: Callable[[str], None] = lambda message: None) -> None:
        self._plan, self._note = plan, note
        #: Run -> its figures and verdicts, as measured and with a client on time.
        self._read: dict[str, tuple[Measured, Measured]] = {}
        self._noted: set[str] = set()
        #: Of a study that searches; thousands of planned runs ask, one after the other.
        self._searching: Searching | None = None
        #: Run -> its point, and what it showed.
        self._tried: dict[str, tuple[str, Tried]] = {}

    def __call__(self, run: Any, sealed: Sequence[SealedRun]) -> str | None:
        done = [r for r in sealed if r.doc["status"] == "done"]
        if self._plan.study.search is not None:
            return self._not_searched(run, done)
        return self._stopped(run, done) if self._plan.study.stop else None

    def look(self, run: PlannedRun) -> Look:
        """A search that moves wants what it passed over; prices of points are wanted once these were tried."""
        if self._plan.study.search is None:
            return Look.NEVER
        return Look.BLOCKS if is_price(run.point) else Look.BLOCK

    def _stopped(self, run: Any, done: Sequence[SealedRun]) -> str | None:
        from inrush.analysis.deciding import above
        from inrush.plan.stops import crossed, stopped

        pilot: dict[str, tuple[Measured, Measured]] = {}
        for r in done:
            if r.doc["block"] == 0:
                pilot.setdefault(str(r.labels.get("point", "")), self._both_ends(r))
        figures = {point: measured.figures for point, (measured, _) in pilot.items()}

        def objecting(point: str, figure: str, limit: float) -> Any:
            return above(*pilot[point], figure, limit)

        for crossing in crossed(self._plan, figures, objecting):
            if crossing.doubt is not None:
                what = f"{crossing.limits} at {crossing.point.id} stops nothing"
                self._say_once(what, crossing.doubt)
        found = stopped(self._plan, figures, objecting).get(run.point)
        return None if found is None else found.reason

    def _not_searched(self, run: Any, done: Sequence[SealedRun]) -> str | None:
        from inrush.analysis.deciding import tried
        from inrush.plan.search import Searching

        search = self._plan.study.search
        assert search is not None, "the caller looked"
        self._searching = self._searching or Searching(self._plan)
        for r in done:
            if r.id not in self._tried:
                point = str(r.labels.get("point", ""))
                shown = tried(*self._both_ends(r), search.of, search.at_least)
                self._tried[r.id] = (point, shown)
                if shown.because and point in self._plan.planned:
                    self._say_once(f"{r.id}: {point} is undecided", shown.because)
        return self._searching.left_out(run, [self._tried[r.id] for r in done])

    def _both_ends(self, r: SealedRun) -> tuple[Measured, Measured]:
        from inrush.guards.analyse import measured_run
        from inrush.stats.record import RunRecord

        if r.id not in self._read:
            of = measured_run(RunRecord(r.id, r.plan, r.env, r.doc, r.tables))
            self._read[r.id] = (of, of.on_time())
        return self._read[r.id]

    def _say_once(self, what: str, why: str) -> None:
        if what not in self._noted:
            self._noted.add(what)
            self._note(f"{what}: {why}")


def confirmations(plan: StudyPlan) -> Callable[[Results], Sequence[PlannedRun]]:
    """The planned fresh repeats, of those points that the sealed blocks found best or nearly so."""

    def chosen(results: Results) -> Sequence[PlannedRun]:
        if not plan.confirmations:
            return ()
        from inrush.analysis.answer import contenders
        from inrush.analysis.points import point_key
        from inrush.guards.analyse import analyse
        from inrush.stats.measures import study_record

        # Those that are sealed already, after a resume, must not change the choice: they enter no figure.
        wanted = set(contenders(analyse(study_record(results))))
        return [
            run
            for run in plan.confirmations
            if point_key({"engine": run.labels["engine"], **run.labels["factors"]}) in wanted
        ]

    return chosen
