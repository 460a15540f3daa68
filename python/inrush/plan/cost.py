"""What a study will take, before it runs and after its pilot: seconds, rows, bytes, and what is created where. Pure.

A point lasts as long as its schedule, where it has one and usual rates suggest that the engine keeps it; else as long
as its work takes at usual rates. Usual rates are orders of magnitude: a warning that a schedule cannot be kept is one.
They are of tables that memory holds. Where results have loads of fewer rows, the laws of claims continue those instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Any, cast

from inrush.engines import known_twin
from inrush.engines.base.twin import Twin
from inrush.plan.documents import row_bytes
from inrush.plan.inputs import TEXT_SHARE
from inrush.plan.planned import PlannedRun, StudyPlan
from inrush.plan.planned_point import PointPlan
from inrush.plan.search import sweeps
from inrush.plan.units import LOAD_BATCH_ROWS
from inrush.plan.work import Work
from inrush.stats.quantity import show
from inrush.stats.row_order import out_of_order
from inrush.study.files import made_rows
from inrush.text import counted, show_s
from inrush.workload import STORED_SHARE

#: Seconds of a run that are not work: its process, connection, tables, sealing.
START_S = 0.6
#: Of a run on the null engine that prices the client's own work.
CALIBRATION_S = 1.2
#: Of a repetition into fresh tables that is not work: the tables made empty, and proven.
REPEAT_S = 0.03
#: Of the time that a row takes to be written: reading it back, and holding it against the generator's.
READ_BACK_SHARE = 0.25
#: Bytes of the row that a twin's `rate` speaks of; one of fewer costs as much.
ROW_BYTES = 72
#: Points of one group that fresh repeats are made of: the best, and up to two that cannot be distinguished from it.
FRESH = (1, 3)
#: Warnings that are spelled out.
MOST_WARNINGS = 3


@dataclass(frozen=True)
class Continued:
    """What results say of a point that they do not have, or have: its loads, by the laws of claims."""

    #: Load step -> seconds.
    step_s: Mapping[str, float]
    #: All tables in the end; None: usual shares say it.
    bytes: float | None = None
    #: A sentence for each step.
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class CutStep:
    """A segment that takes longer than it may, and is cut then."""

    takes_s: float
    limit_s: float
    #: Empty: the measured segment of a study without steps.
    step: str = ""


@dataclass(frozen=True)
class RunCost:
    """One run."""

    seconds: float
    #: Of the measured segment.
    measured_s: float
    #: Time that its work takes at usual rates, over the time that its schedules give it; 0 without one. Of the step that is
    #: furthest behind.
    demand: float = 0.0
    #: Seconds that those schedules last.
    due_s: float = 0.0
    cuts: tuple[CutStep, ...] = ()


@dataclass(frozen=True)
class Creation:
    """What one engine will hold while the study runs: one namespace at a time, dropped after its run."""

    engine: str
    namespaces: int
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Cost:
    #: Planned; a search makes `made` of them.
    runs: int
    seconds: float
    #: Written by all runs in one repetition each, loads included.
    rows: int
    #: Highest approximate size in a database at once.
    peak_bytes: int
    #: Highest approximate size of the files that one run dumps.
    dumped_bytes: int
    #: Highest size of the file that a run lays out in place of tables.
    file_bytes: int
    creates: tuple[Creation, ...]
    #: Highest approximate size of the input files that the study makes: they stay until its end.
    input_bytes: int = 0
    #: About so many of the runs are made: less than all of a search.
    made: int = 0
    #: Least and most seconds of fresh repeats, which come on top.
    fresh_s: tuple[float, float] = (0.0, 0.0)
    #: Schedules that usual rates do not keep, segments that their limit would cut, and tables that outgrow memory.
    warnings: tuple[str, ...] = ()
    #: A table outgrows memory and no result says what that costs, or rows lie in files that were not read: it takes longer than
    #: `seconds`, and so do fresh repeats.
    is_least: bool = False
    #: What results say of points, a sentence for each load.
    said: tuple[str, ...] = ()


def cost(
    plan: StudyPlan,
    pilot_s: Mapping[str, float] | None = None,
    done: int = 0,
    continued: Mapping[str, Continued] | None = None,
    memory_bytes: Mapping[str, float] | None = None,
) -> Cost:
    """pilot_s: point -> seconds its run took, from start to seal. done: runs that need not be made again. continued: point ->
    what results say of it. memory_bytes: engine -> that of its machine, where it is known."""
    pilot_s, continued = pilot_s or {}, continued or {}
    left = plan.all_runs[done:]
    forecasts = {
        p.id: forecast(p.engine, plan.planned[p.id], continued.get(p.id))
        for p in plan.points
        if p.id in plan.planned
    }
    large = {} if pilot_s else outgrown(plan, continued, memory_bytes or {})
    run_s = {point: pilot_s.get(point) or of.seconds for point, of in forecasts.items()}
    candidates = longest_sweep(plan)
    shares = [(run, made_share(run, candidates)) for run in left]
    return Cost(
        runs=len(left),
        seconds=sum(share * run_s.get(run.point, CALIBRATION_S) for run, share in shares),
        rows=round(sum(share * plan.planned[run.point].rows for run, share in shares if run.point in run_s)),
        peak_bytes=round(
            max((stored_bytes(p, continued.get(id)) for id, p in plan.planned.items()), default=0)
        ),
        dumped_bytes=max((p.dumped_bytes for p in plan.planned.values()), default=0),
        file_bytes=max((p.file_bytes for p in plan.planned.values()), default=0),
        creates=tuple(creations(plan)),
        input_bytes=input_bytes(plan),
        made=ceil(sum(share for _, share in shares)),
        fresh_s=fresh_s(plan, run_s),
        warnings=(*warnings(plan, forecasts), *shortened(list(large.values()))),
        is_least=bool(large) or any(point.lasts.of_files for point in plan.planned.values()),
        said=tuple(dict.fromkeys(said for of in continued.values() for said in of.said)),
    )


def stored_bytes(point: PointPlan, continued: Continued | None = None) -> float:
    """Approximate size in a database, indexes and logs included."""
    known = continued.bytes if continued is not None else None
    return point.bytes * STORED_SHARE if known is None else known


def input_bytes(plan: StudyPlan) -> int:
    """Of each set of files once, however many runs load it; what a sort writes for a while lies with what it has sorted."""
    rows: dict[tuple[str, bool], tuple[str, int]] = {}
    for of in {run.point: run.plan for run in plan.runs}.values():
        for key, (stream, count) in made_rows(of).items():
            rows[key] = stream, max(count, rows.get(key, ("", 0))[1])
    size = 0.0
    for (_, is_sorted), (stream, count) in rows.items():
        size += count * text_row_bytes(plan, stream) * (2 if is_sorted else 1)
    return round(size)


def text_row_bytes(plan: StudyPlan, stream: str) -> float:
    """Approximate size of a row in an input file."""
    pipeline, tables = plan.study.pipeline, plan.study.workload.tables
    return pipeline.row_bytes if pipeline is not None else row_bytes(tables[stream]) * TEXT_SHARE


def input_room_said(folder: str, free: int, needed: int) -> str:
    """What to say where a disk has less room than the input files on it will take."""
    return f"{folder}: {show(free, 'bytes')} free; the study's input files take up to {show(needed, 'bytes')} there"


# --- one run


def forecast(engine: str, point: PointPlan, continued: Continued | None = None) -> RunCost:
    """One run by its engine's usual rates, and its loads by results where these say it."""
    twin = known_twin(engine)
    batch_s, row_s = twin.rate if twin else Twin.rate
    lasts, row_bytes = point.lasts, point.bytes / max(point.rows, 1)

    def rows_s(rows: int, of_bytes: float) -> float:
        return rows * row_s * max(of_bytes / ROW_BYTES, 1.0)

    def work_s(work: Work) -> float:
        return rows_s(work.rows, work.row_bytes) + work.calls * batch_s / work.parallel

    def step_s(name: str, at_once: Sequence[Work]) -> float:
        """As long as the longest of its roles, which wait for answers at the same time; one engine stores the rows of all."""
        if continued is not None and name in continued.step_s:
            return continued.step_s[name]
        closed = [w for w in at_once if w.due_s is None]
        stored_s = sum(rows_s(w.rows, w.row_bytes) for w in closed)
        due_s, demand = schedules[name]
        return max(stored_s, max(map(work_s, closed), default=0.0), due_s * max(1.0, demand))

    steps: dict[str, list[Work]] = {}
    for work in lasts.work:
        steps.setdefault(work.step, []).append(work)
    schedules = {name: scheduled(at_once, work_s) for name, at_once in steps.items()}
    all_at_once = steps.pop("", [])
    takes_s = {name: step_s(name, at_once) for name, at_once in steps.items()}
    limit_s = {name: at_once[0].limit_s for name, at_once in steps.items()}
    cuts = [CutStep(s, limit_s[name], name) for name, s in takes_s.items() if s > limit_s[name]]
    closed_s = repeated_s(sum(work_s(w) for w in all_at_once if w.due_s is None), point)
    due_s, demand = schedules.get("", (0.0, 0.0))
    measured_s = max(closed_s, due_s * max(1.0, demand), lasts.measure_s)
    measured_s += sum(min(s, limit_s[name]) for name, s in takes_s.items())
    loaded = max(point.rows - point.written_rows, 0)
    load_s = rows_s(loaded, row_bytes) + loaded / LOAD_BATCH_ROWS * batch_s
    around_s = START_S + point.fixed_s + load_s + READ_BACK_SHARE * rows_s(lasts.proven_rows, row_bytes)
    if measured_s > lasts.limit_s:
        cuts.append(CutStep(measured_s, lasts.limit_s))
    due_s, demand = max(schedules.values(), key=lambda of: of[1], default=(0.0, 0.0))
    return RunCost(around_s + min(measured_s, lasts.limit_s), measured_s, demand, due_s, tuple(cuts))


def scheduled(at_once: Sequence[Work], work_s: Callable[[Work], float]) -> tuple[float, float]:
    """Seconds of the longest schedule, and how much of the time that all of them give their work takes."""
    paced = [(w, w.due_s) for w in at_once if w.due_s]
    return max((due for _, due in paced), default=0.0), sum(work_s(w) / due for w, due in paced)


def repeated_s(once_s: float, point: PointPlan) -> float:
    """A closed volume, into fresh tables until it was measured long enough."""
    lasts = point.lasts
    if once_s <= 0 or lasts.at_least_s <= once_s or not point.written_rows:
        return once_s
    times = min(ceil(lasts.at_least_s / once_s), max(lasts.max_repetitions, 1))
    return times * once_s + (times - 1) * REPEAT_S


# --- which runs


def longest_sweep(plan: StudyPlan) -> int | None:
    """Values that a search chooses from; None of a study that makes every run."""
    search = plan.study.search
    if search is None:
        return None
    planned = [point for point in plan.points if point.id in plan.planned]
    return max((len(sweep) for sweep in sweeps(planned, search.along)), default=1)


def made_share(run: PlannedRun, candidates: int | None) -> float:
    """How much of a planned run is expected to be made: a bisection tries log2(n + 1) of n values in the pilot and
    repeats two in every block."""
    if candidates is None:
        return 1.0
    return min(1.0, (log2(candidates + 1) if run.block == 0 else 2.0) / candidates)


def fresh_s(plan: StudyPlan, run_s: Mapping[str, float]) -> tuple[float, float]:
    """Fresh repeats of the best points, which are known only then: of one point a group, and of three."""
    answer = plan.study.answer
    if not plan.confirmations or answer is None:
        return (0.0, 0.0)
    blocks = len({run.block for run in plan.confirmations})
    groups: dict[tuple[str, ...], list[float]] = {}
    for point in plan.points:
        if point.id in run_s:
            values = {"engine": point.engine, **point.labels}
            names = answer.per or [name for name in values if name != answer.along]
            groups.setdefault(tuple(str(values.get(name)) for name in names), []).append(run_s[point.id])
    mean_s = [(sum(of) / len(of), len(of)) for of in groups.values()]
    least, most = (blocks * sum(mean * min(n, points) for mean, n in mean_s) for points in FRESH)
    return (least, most)


# --- warnings


def warnings(plan: StudyPlan, forecasts: Mapping[str, RunCost]) -> list[str]:
    """What usual rates say against a schedule or a limit. A search looks for what cannot be kept, so says nothing."""
    if plan.study.search is not None:
        return []
    behind = {
        point: f"{point}: usual rates suggest that the schedule cannot be kept: its work takes {of.demand:.1f} times the "
        f"{show_s(of.due_s)} that it has, {show_s(of.due_s * of.demand)}"
        for point, of in forecasts.items()
        if of.demand > 1
    }
    cut = [cut_said(point, cut) for point, of in forecasts.items() for cut in of.cuts]
    return [*shortened(list(behind.values())), *shortened(cut)]


def cut_said(point: str, cut: CutStep) -> str:
    if not cut.step:
        return (
            f"{point}: about {show_s(cut.takes_s)} are measured, and schedule.limit_s cuts a segment after "
            f"{show_s(cut.limit_s)}; raise it"
        )
    return (
        f"{point}: step {cut.step} takes about {show_s(cut.takes_s)}, and limit_s cuts it after {show_s(cut.limit_s)}; raise it, "
        f"-P steps.{cut.step}.limit_s={ceil(2 * cut.takes_s)}"
    )


def outgrown(
    plan: StudyPlan, continued: Mapping[str, Continued], memory_bytes: Mapping[str, float]
) -> dict[str, str]:
    """Point -> what to say of its tables, where loads meet their indexes in no order, memory does not hold them, and no result
    has a load to continue."""
    found = {}
    for at in plan.points:
        point, memory = plan.planned.get(at.id), memory_bytes.get(at.engine)
        twin = known_twin(at.engine)
        if point is None or memory is None or twin is None or not twin.answers or at.id in continued:
            continue
        labels = cast("Mapping[str, Any]", point.labels)
        scattered = bool(labels.get("steps")) and out_of_order(cast("Mapping[str, Any]", point.plan), labels)
        if scattered and (size := stored_bytes(point)) > memory:
            found[at.id] = (
                f"{at.id}: about {show(size, 'bytes')} of tables, and {show(memory, 'bytes')} of memory here: usual rates are of tables "
                f"that memory holds, so it takes longer. Run it with fewer rows first, {at.engine} at a smaller --scale: inrush plan "
                "continues those results"
            )
    return found


def shortened(warnings: Sequence[str]) -> list[str]:
    more = len(warnings) - MOST_WARNINGS
    return [
        *warnings[:MOST_WARNINGS],
        *([f"and {counted(more, 'more point')} like these"] if more > 0 else []),
    ]


def creations(plan: StudyPlan) -> list[Creation]:
    found = []
    for engine in plan.study.engines:
        mine = [plan.planned[p.id] for p in plan.points if p.engine == engine and p.id in plan.planned]
        tables = dict.fromkeys(name for point in mine for name in point.streams)
        if tables:
            found.append(Creation(engine, len(mine), tuple(tables)))
    return found
