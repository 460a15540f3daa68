"""Sentences of paced studies: which engines keep up with a load, how long its rows take, and which rate is sustained. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from inrush.analysis.answer import Answer
from inrush.analysis.comparability import refused
from inrush.analysis.deciding import undecided_by
from inrush.analysis.overview import Cell, EngineRow, Overview, reading_roles
from inrush.analysis.parts import (
    BEHIND,
    FAILS,
    HOLDS,
    KEEPS_UP,
    UNDECIDED,
    UP,
    Try,
    is_late,
    role_of,
)
from inrush.analysis.points import Analysis, Measured, Point
from inrush.analysis.ran import Due, due, sessions
from inrush.analysis.settled import headed, say_with
from inrush.analysis.wording import all_of, plain
from inrush.engines import title
from inrush.stats.figure_names import kind_and_quantile
from inrush.stats.quantity import known, scale_known
from inrush.stats.record import RunRecord
from inrush.text import counted, is_number, listed


def keeps_up(analysis: Analysis, found: Answer, seen: Overview, rows: Sequence[EngineRow]) -> str:
    """`Both keep up at 20,000 rows/s with 4 readers; a second's rows take ClickHouse 30, MySQL 165 ms (p99, 3 runs each)`"""
    loads = {row.engine: load_of(analysis, found, row) for row in rows}
    same = len(set(loads.values())) == 1
    up = [row for row in rows if row.here is not None and row.here.word == UP]
    down = [row for row in rows if row not in up]
    clauses = []
    if up:
        everyone = same and len(up) == len(seen.rows) > 1
        each = [title(row.engine) + ("" if same else loads[row.engine]) for row in up]
        at = loads[up[0].engine] if same else ""
        clauses.append(
            f"{all_of(len(up)) if everyone else listed(each)} {'keeps' if len(up) == 1 else 'keep'} up{at}"
        )
    for k, row in enumerate(down):
        load = "" if same and (up or k) else loads[row.engine]
        clauses.append(f"{title(row.engine)} {behind(row, found.along, load)}")
    shown = up or down
    return "; ".join([*clauses, *times(analysis, found, shown)])


def behind(row: EngineRow, along: str, load: str) -> str:
    """`falls behind at … (in 3 of 3 runs), and keeps up with 0 readers`; a load that was made up for was late."""
    found = row.here
    if found is None:
        return ""
    of_runs = f"(in {found.count} of {counted(found.counted or 0, 'run')})"
    if found.word == BEHIND:
        said = f"falls behind{load} {of_runs}"
    else:
        said = f"is {found.because}{load} and catches up {of_runs}"
    return said + less(row, along)


def missed(analysis: Analysis, found: Answer, point: Point | None) -> list[Measured]:
    """Counted runs at a point in which not every sample was stored in time."""
    return [m for m in analysis.runs if m.counts and m.point == point and is_late(m, found.figure)]


def not_decided(analysis: Analysis, found: Answer, row: EngineRow) -> str:
    """`MySQL is not decided at 20,000 rows/s: other processes took … (in 3 of 3 runs)`; empty where the server lacked nothing, or kept up."""
    late = missed(analysis, found, row.point) if found.kind == "keeps_up" else []
    if not (lacks := undecided_by(late, found.figure)):
        return ""
    runs = f"in {len(late)} of {counted(row.runs, 'run')}"
    return f"{title(row.engine)} is not decided{load_of(analysis, found, row)}: {lacks} ({runs})"


def less(row: EngineRow, along: str) -> str:
    """The largest smaller value of `along` that was kept up with in every run, by figures that stand."""
    here = row.here
    if here is None or not is_number(here.value):
        return ""
    smaller = [t for t in row.tries if t.value < here.value and t.word == UP]
    return f", and keeps up with {say_with(along, smaller[-1].value)}" if smaller else ""


def times(analysis: Analysis, found: Answer, rows: Sequence[EngineRow]) -> list[str]:
    """How long the rows of a sample take, of the engines with a valid percentile; nothing where none is known."""
    cells = {row.engine: row.write for row in rows if row.write is not None}
    sound = {engine: c for engine, c in cells.items() if not c.broken and isfinite(c.value)}
    if not sound:
        return []
    first = next(row for row in rows if row.engine in sound)
    kind, q = kind_and_quantile(next(iter(sound.values())).figure.rsplit(".", 1)[1])
    planned = due_at(analysis, found, first.point)
    every_s = planned.every_s if planned is not None else None
    what = "a sample takes" if kind == "sample" else "an insert takes"
    if kind == "sample" and every_s is not None:
        what = "a second's rows take" if every_s == 1 else f"the rows of {every_s:g} s take"
    ranked_rows = sound if refused(analysis) else dict(sorted(sound.items(), key=lambda kv: kv[1].value))
    return [f"{what} {each_known(ranked_rows, alone=len(rows) == 1)} ({q})"]


def each_known(cells: Mapping[str, Cell], alone: bool) -> str:
    """`ClickHouse 30, PostgreSQL 85, MySQL 165 ms`: one unit for all, that of the one in the middle."""
    values = sorted(c.value for c in cells.values())
    figure = next(iter(cells.values())).figure
    middle = next(c for c in cells.values() if c.value == values[len(values) // 2])
    factor, unit = scale_known(middle.value, middle.interval, figure)
    each = [
        (f"{title(engine)} " if not alone else "") + known(c.value, c.interval, factor)
        for engine, c in cells.items()
    ]
    return f"{', '.join(each)} {unit}"


def load_of(analysis: Analysis, found: Answer, row: EngineRow) -> str:
    """` at 20,000 rows/s with 4 readers`: what was due by the plan of the run, and what the study varied."""
    planned = due_at(analysis, found, row.point)
    rate = f" at {planned.rows_per_s:,.0f} rows/s" if planned is not None else ""
    # The rate itself may be what varies: it is not said twice.
    varied = [
        (k, v)
        for k, v in row.point or ()
        if k in analysis.factors and k != "engine" and not (k.endswith("_per_s") and planned is not None)
    ]
    # Readers that every point had are no factor, and part of the load all the same.
    run = run_at(analysis, row.point)
    beside = sessions(run, reading_roles(run)) if run is not None else {}
    varied += [(role, n) for role, n in beside.items() if role not in dict(varied)]
    return rate + (f" with {', '.join(say_with(k, v) for k, v in varied)}" if varied else "")


def due_at(analysis: Analysis, found: Answer, point: Point | None) -> Due | None:
    run = run_at(analysis, point)
    return None if run is None else due(run, role_of(found.figure))


def run_at(analysis: Analysis, point: Point | None) -> RunRecord | None:
    """All counted runs of a point have one plan."""
    return next((m.run for m in analysis.runs if m.counts and m.point == point), None)


def sustained(analysis: Analysis, found: Answer, seen: Overview, rows: Sequence[EngineRow]) -> str:
    """`At 4 readers: ClickHouse sustains 380,000 rows/s (3 runs); MySQL sustains at least 67,000 rows/s (3 runs)`"""
    along = found.along
    said = []
    for row in rows:
        best = row.here
        if best is None or best.word != HOLDS:
            nothing = "sustains nothing that was tried"
            if best is not None and best.word == UNDECIDED:
                nothing = f"is undecided at {load_value(along, best.value)}"
            said.append(f"{title(row.engine)} {nothing}")
            continue
        higher = [t for t in row.tries if t.value > best.value]
        failed = next((t for t in higher if t.word == FAILS), None)
        open_ = [plain(t.value) for t in higher if t.word == UNDECIDED]
        least = "" if failed else "at least "
        more = f", undecided at {', '.join(open_)}" if open_ else ""
        does, over = "sustains", ""
        if found.figure.endswith(KEEPS_UP):
            does = "keeps up with"
            over = beyond(analysis, found, failed) if failed else ""
        runs = counted(best.count or 0, "run")
        said.append(f"{title(row.engine)} {does} {least}{load_value(along, best.value)}{over} ({runs}{more})")
    return headed(seen.condition, "; ".join(said))


def beyond(analysis: Analysis, found: Answer, failed: Try) -> str:
    """`, at 13,200 its queue grows`: what happened at the lowest rate that was not kept up with."""
    at = [m for m in analysis.runs if m.counts and m.point == failed.point]
    failing = any(m.figures.get(f"{role_of(found.figure)}.errors") for m in at)
    return f", at {plain(failed.value)} {'inserts fail' if failing else 'its queue grows'}"


def load_value(along: str, value: Any) -> str:
    unit = next((unit for unit in ("rows", "events") if along.endswith(f"{unit}_per_s")), None)
    return say_with(along, value) if unit is None else f"{plain(value)} {unit}/s"
