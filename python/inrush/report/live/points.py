"""The points of a study so far: what its sealed runs measured, with intervals, and what was claimed of them beforehand.

One run is read when it is sealed, between two runs. What the study's guards say of all runs together is in the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inrush.analysis.points import Analysis, Measured, Point, headline, point_key, say
from inrush.analysis.wording import name
from inrush.errors import InrushError
from inrush.guards.analyse import measured_run
from inrush.plan.calibration import is_price
from inrush.results.predictions import Predictions
from inrush.results.store import SealedRun, Store
from inrush.stats import quantity
from inrush.stats.record import RunRecord, StudyRecord


@dataclass(frozen=True)
class PointSoFar:
    point: Point
    title: str
    #: Runs that count.
    runs: int
    centre: float | None
    low: float | None
    high: float | None
    #: As the report shows it; of a point with the pilot alone, what that measured.
    shown: str
    invalid: bool = False


@dataclass(frozen=True)
class Claimed:
    """A frozen claim about a point of this study."""

    id: str
    figure: str
    point: Point
    title: str
    median: float
    low: float
    high: float


class Points:
    def __init__(self, study: Mapping[str, Any], claims: Sequence[Claimed] = ()) -> None:
        self.study, self.claims = study, claims
        self.measured: dict[str, Measured] = {}

    def add(self, run: SealedRun) -> None:
        """A sealed run; one that failed has no figures, and one that prices the client is of no point."""
        if run.doc.get("status") != "done" or is_price(str(run.labels.get("point", ""))):
            return
        record = RunRecord(run.id, run.plan, run.env, run.doc, run.tables)
        self.measured[run.id] = measured_run(record)

    def analysis(self) -> Analysis:
        runs = list(self.measured.values())
        return Analysis(StudyRecord(self.study, [m.run for m in runs]), runs, lambda _: [])

    def figure(self) -> str | None:
        return headline(self.analysis()) if self.measured else None

    def so_far(self) -> list[PointSoFar]:
        """Points with a sealed run, in the order of the study."""
        figure, analysis = self.figure(), self.analysis()
        if figure is None:
            return []
        summaries = {s.point: s for s in analysis.summaries(figure)}
        piloted = {
            m.point: m.figures[figure] for m in analysis.runs if m.run.block == 0 and figure in m.figures
        }
        found = []
        for point in analysis.points:
            summary = summaries.get(point)
            if summary is None:
                shown = (
                    f"{quantity.show(piloted[point], figure)} (pilot)" if point in piloted else "no figure"
                )
                found.append(PointSoFar(point, say(point), 0, None, None, None, shown))
                continue
            interval, centre = summary.interval, summary.centre
            shown = (
                quantity.show_interval(interval, figure)
                if interval is not None
                else quantity.show(centre, figure)
            )
            sure = interval is not None and not quantity.says_nothing(interval)
            found.append(
                PointSoFar(
                    point,
                    say(point),
                    len(summary.values),
                    centre if np.isfinite(centre) else None,
                    interval.low if interval is not None and sure else None,
                    interval.high if interval is not None and sure else None,
                    shown,
                    bool(analysis.broken(figure, point)),
                )
            )
        return found

    def against_claims(self) -> list[dict[str, Any]]:
        """Each claim beside what the runs so far have measured at its point."""
        analysis = self.analysis()
        found = []
        for claim in self.claims:
            of = [
                m.figures[claim.figure]
                for m in analysis.runs
                if m.enters(claim.figure) and claim.figure in m.figures and agrees(m.point, claim.point)
            ]
            finite = [v for v in of if 0 < v < float("inf")]
            mean = float(np.exp(np.mean(np.log(finite)))) if finite else None
            found.append(
                {
                    "id": claim.id,
                    "figure": claim.figure,
                    "point": claim.title,
                    "claimed": quantity.show(claim.median, claim.figure),
                    "from": quantity.show(claim.low, claim.figure),
                    "to": quantity.show(claim.high, claim.figure),
                    "measured": quantity.show(mean, claim.figure) if mean is not None else None,
                    "runs": len(finite),
                    "inside": claim.low <= mean <= claim.high if mean is not None else None,
                }
            )
        return found

    def named(self) -> str:
        figure = self.figure()
        return name(figure) if figure is not None else ""


def agrees(point: Point, claimed: Point) -> bool:
    """A claim names an engine, the factors of its group and the one along which it was made."""
    held = dict(point)
    return all(held.get(factor) == value for factor, value in claimed)


def claims_about(
    store: Store, study: Mapping[str, Any], planned: Iterable[Mapping[str, Any]]
) -> list[Claimed]:
    """Claims without a score about points that the study has. planned: engine and factors of each."""
    points = [point_key(of) for of in planned]
    found = []
    try:
        claims = Predictions(store).all()
    except InrushError:
        return []  # `inrush scoreboard` says what is wrong with them; a study runs all the same
    for claim in claims:
        document = claim.doc
        if claim.scored or document.get("study") != study.get("name"):
            continue
        of = point_key({**document["group"], document["along"]: document["forecast"]["x"]})
        if any(agrees(point, of) for point in points):
            made = document["forecast"]
            found.append(
                Claimed(claim.id, document["figure"], of, say(of), made["median"], made["lo"], made["hi"])
            )
    return found
