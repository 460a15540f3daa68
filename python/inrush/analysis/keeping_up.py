"""Sentences of paced studies: which engines keep up with a load, how long its rows take, and which rate is sustained. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from inrush.analysis.answer import Answer
from inrush.analysis.comparability import refused
from inrush.analysis.deciding import undecided_by
from inrush.analysis.overview import Cell, EngineRow, Overview, highest_held, reading_roles
from inrush.analysis.parts import KEEPS_UP, caught_up, is_late, late_words, role_of, tries
from inrush.analysis.points import Analysis, Measured, Point
from inrush.analysis.ran import Due, due, sessions
from inrush.analysis.settled import say_with
from inrush.analysis.wording import all_of, plain
from inrush.engines import title
from inrush.stats.figure_names import kind_and_quantile
from inrush.stats.quantity import known, scale_known
from inrush.stats.record import RunRecord
from inrush.stats.trials import Trial, standing
from inrush.text import counted, listed


def keeps_up_said(analysis: Analysis, found: Answer, seen: Overview, rows: Sequence[EngineRow]) -> str:
    """`Both keep up at 20,000 rows/s with 4 readers; a second's rows take ClickHouse 30, MySQL 165 ms (p99, 3 runs each)`"""
    loads = {row.engine: load_said(analysis, found, row) for row in rows}
    same = len(set(loads.values())) == 1
    up = [row for row in rows if not missed(analysis, found, row.point)]
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
        clauses.append(f"{title(row.engine)} {behind_said(analysis, found, seen, row, load)}")
    shown = up or down
    return "; ".join([*clauses, *times_said(analysis, found, shown)])


def missed(analysis: Analysis, found: Answer, point: Point | None) -> list[Measured]:
    """Counted runs at a point in which not every sample was stored in time."""
    return [m for m in analysis.runs if m.counts and m.point == point and is_late(m, found.figure)]


def behind_said(analysis: Analysis, found: Answer, seen: Overview, row: EngineRow, load: str) -> str:
    late = missed(analysis, found, row.point)
    behind = sum(not caught_up(m, found.figure) for m in late)
    if behind:
        said = f"falls behind{load} (in {behind} of {counted(row.runs, 'run')})"
    else:
        words = late_words(late, found.figure)
        said = f"is {words}{load} and catches up (in {len(late)} of {counted(row.runs, 'run')})"
    return said + less_said(analysis, found, seen, row)


def not_decided(analysis: Analysis, found: Answer, row: EngineRow) -> str:
    """`MySQL is not decided at 20,000 rows/s: other processes took … (in 3 of 3 runs)`; empty where the server lacked nothing, or kept up."""
    late = missed(analysis, found, row.point) if found.kind == "keeps_up" else []
    if not (lacks := undecided_by(late, found.figure)):
        return ""
    runs = f"in {len(late)} of {counted(row.runs, 'run')}"
    return f"{title(row.engine)} is not decided{load_said(analysis, found, row)}: {lacks} ({runs})"


def less_said(analysis: Analysis, found: Answer, seen: Overview, row: EngineRow) -> str:
    """The largest smaller value of `along` that was kept up with in every run, by figures that stand."""
    along = found.along or "engine"
    here = dict(row.point or ())
    if along == "engine" or not isinstance(here.get(along), int | float):
        return ""
    others = {k: v for k, v in here.items() if k != along}
    smaller = {
        dict(p)[along]: p
        for p in analysis.values(found.figure)
        if {k: v for k, v in p if k != along} == others and dict(p)[along] < here[along]
    }
    for value in sorted(smaller, reverse=True):
        if not missed(analysis, found, smaller[value]) and not analysis.broken(found.figure, smaller[value]):
            return f", and keeps up with {say_with(along, value)}"
    return ""


def times_said(analysis: Analysis, found: Answer, rows: Sequence[EngineRow]) -> list[str]:
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


def load_said(analysis: Analysis, found: Answer, row: EngineRow) -> str:
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


def sustained_said(analysis: Analysis, found: Answer, seen: Overview, rows: Sequence[EngineRow]) -> str:
    """`At 4 readers: ClickHouse sustains 380,000 rows/s (3 runs); MySQL sustains at least 67,000 rows/s (3 runs)`"""
    along = found.along or "engine"
    said = []
    for row in rows:
        found_runs = tries(analysis, found.figure, along, row.tried)
        stood = {v: standing(t) for v, t in found_runs.items()}
        value = highest_held(stood)
        if stood[value] is not Trial.HELD:
            nothing = (
                "sustains nothing that was tried"
                if stood[value] is Trial.FAILED
                else f"is undecided at {load_value(along, value)}"
            )
            said.append(f"{title(row.engine)} {nothing}")
            continue
        higher = [v for v, s in sorted(stood.items()) if s is Trial.FAILED and v > value]
        failed = bool(higher)
        undecided = [v for v, s in stood.items() if s is Trial.UNDECIDED and v > value]
        least = "" if failed else "at least "
        more = f", undecided at {', '.join(plain(v) for v in undecided)}" if undecided else ""
        does, over = "sustains", ""
        if found.figure.endswith(KEEPS_UP):
            does = "keeps up with"
            over = over_said(analysis, found, row, along, higher[0]) if failed else ""
        runs = counted(len(found_runs[value]), "run")
        said.append(f"{title(row.engine)} {does} {least}{load_value(along, value)}{over} ({runs}{more})")
    return headed(seen.condition, "; ".join(said))


def over_said(analysis: Analysis, found: Answer, row: EngineRow, along: str, value: Any) -> str:
    """`, at 13,200 its queue grows`: what happened at the lowest rate that was not kept up with."""
    at = [m for m in analysis.runs if m.counts and m.point in row.tried and dict(m.point).get(along) == value]
    failing = any(m.figures.get(f"{role_of(found.figure)}.errors") for m in at)
    return f", at {plain(value)} {'inserts fail' if failing else 'its queue grows'}"


def load_value(along: str, value: Any) -> str:
    unit = next((unit for unit in ("rows", "events") if along.endswith(f"{unit}_per_s")), None)
    return say_with(along, value) if unit is None else f"{plain(value)} {unit}/s"


def headed(condition: Point, sentence: str) -> str:
    """What all of it was measured with, in front: `At port_data_counters, 0 readers, without sort: …`"""
    values = ", ".join(say_with(k, v) for k, v in condition if not isinstance(v, bool))
    switches = [f"with{'' if v else 'out'} {k}" for k, v in condition if isinstance(v, bool)]
    words = ", ".join([*([f"at {values}"] if values else []), *switches])
    return f"{words[0].upper()}{words[1:]}: {sentence}" if words else sentence
