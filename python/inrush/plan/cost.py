"""What a study will take, before it runs and after its pilot: seconds, rows, bytes, and what is created where. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inrush.plan.plan import StudyPlan
from inrush.plan.point import PointPlan
from inrush.workload import STORED_SHARE

#: Seconds of a run that are not work: its process, connection, tables, sealing.
START_S = 0.6
#: Of a run on the null engine that prices the client's own work.
CALIBRATION_S = 1.2
#: Engine -> (s a batch, s a row of ten columns). Orders of magnitude for a forecast; the pilot replaces them.
RATES: Mapping[str, tuple[float, float]] = {
    "null": (1e-6, 5e-8),
    "duckdb": (1e-3, 1e-6),
    "sqlite": (1e-3, 1.5e-6),
    "postgresql": (1e-3, 1.5e-6),
    "mysql": (2e-3, 4e-6),
    "mariadb": (2e-3, 3e-6),
}
OTHER_RATE = (5e-3, 5e-6)
#: Bytes of the row that `RATES` speak of.
ROW_BYTES = 72


@dataclass(frozen=True)
class Creation:
    """What one engine will hold while the study runs: one namespace at a time, dropped after its run."""

    engine: str
    namespaces: int
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Cost:
    runs: int
    seconds: float
    #: Written by all runs in one repetition each, loads included.
    rows: int
    #: Highest approximate size in a database at once.
    peak_bytes: int
    creates: tuple[Creation, ...]
    #: Points whose duration the pilot has measured, of all.
    measured_points: int = 0

    @property
    def is_measured(self) -> bool:
        return self.measured_points > 0


def cost(plan: StudyPlan, pilot_s: Mapping[str, float] | None = None, done: int = 0) -> Cost:
    """pilot_s: point -> seconds its run took, from start to seal. done: runs that need not be made again."""
    pilot_s = pilot_s or {}
    left = plan.all_runs[done:]
    seconds = sum(
        pilot_s.get(run.point) or forecast_s(run.labels["engine"], plan.planned[run.point])
        if run.point in plan.planned
        else CALIBRATION_S
        for run in left
    )
    return Cost(
        runs=len(left),
        seconds=seconds,
        rows=sum(plan.planned[run.point].rows for run in left if run.point in plan.planned),
        peak_bytes=round(max((p.bytes for p in plan.planned.values()), default=0) * STORED_SHARE),
        creates=tuple(creations(plan)),
        measured_points=len(set(pilot_s) & set(plan.planned)),
    )


def forecast_s(engine: str, point: PointPlan) -> float:
    """Seconds of one run by its engine's usual rates."""
    batch_s, row_s = RATES.get(engine.partition(":")[0], OTHER_RATE)
    width = point.bytes / max(point.rows, 1) / ROW_BYTES

    def volume_s(rows: int) -> float:
        return rows / max(point.batch_rows, 1) * batch_s + rows * row_s * max(width, 0.1)

    loaded = point.rows - point.written_rows
    measured = max(volume_s(point.written_rows), point.at_least_s)
    return START_S + point.fixed_s + volume_s(max(loaded, 0)) + measured + volume_s(point.rows)


def creations(plan: StudyPlan) -> list[Creation]:
    found = []
    for engine in plan.study.engines:
        mine = [plan.planned[p.id] for p in plan.points if p.engine == engine and p.id in plan.planned]
        tables = dict.fromkeys(name for point in mine for name in point.streams)
        if mine:
            found.append(Creation(engine, len(mine), tuple(tables)))
    return found
