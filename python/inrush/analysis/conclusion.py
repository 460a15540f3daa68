"""The first sentence of a report: what was asked, for every engine, with its figures. Pure.

Figures are rounded to what their intervals know. A figure that a guard makes invalid is not in it: its engine is named
with the guard. Engines whose rows survive different things stand in the order of the study, and the sentence says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from inrush.analysis.answer import Answer
from inrush.analysis.comparability import refused
from inrush.analysis.overview import (
    PACED,
    Cell,
    EngineRow,
    Overview,
    fresh,
    highest_held,
    is_percentile,
    overview,
    reading_roles,
)
from inrush.analysis.parts import caught_up, is_late, late_words, role_of, tries
from inrush.analysis.points import Analysis, Measured, Point, lower_is_better
from inrush.analysis.ran import Due, due, sessions
from inrush.analysis.settled import Values, ranked, say_with, settled
from inrush.analysis.wording import name, ordered, plain, ratio_of
from inrush.engines import title
from inrush.guards.verdicts import Outcome, counted, kind_and_quantile
from inrush.stats.measures import RunRecord, writing_roles
from inrush.stats.quantity import digits, known, scale, show, show_known
from inrush.stats.trials import Trial, standing

EQUAL_DURABILITY = "equal durability"
NOTHING = "No answer: no counted run measured it."
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def conclusion(analysis: Analysis, found: Answer | None, seen: Overview | None = None) -> str:
    """The answer in sentences; never empty. seen: `overview` of the same, where it is known already."""
    seen = seen or overview(analysis, found)
    if found is None or seen is None or not any(row.point for row in seen.rows):
        return NOTHING
    broken = [row for row in seen.rows if row.point is not None and decides_nothing(row, found, seen)]
    sound = [row for row in seen.rows if row not in broken and has_figure(row, found)]
    sentences = []
    if sound:
        sentences.append(SAID.get(found.kind, levels_said)(analysis, found, seen, sound))
        if found.kind != "sustained":  # which says the runs of each value
            sentences.append(runs_said(sound) if found.kind in PACED else intervals_said(sound))
    sentences += [*left_out(seen, broken, sound), *beside(analysis, seen)]
    undecided = (
        [f"INVALID: no decision ({', '.join(guards)})"] if sound and (guards := no_decision(analysis)) else []
    )
    return " ".join(f"{s}." for s in (*undecided, *sentences) if s)


def no_decision(analysis: Analysis) -> list[str]:
    """Guards of the study by which every figure stands and the answer does not; `beside` speaks of unequal promises."""
    found = [v.guard for v in analysis.study_verdicts if v.outcome is Outcome.INVALID and v.figures == ()]
    return [guard for guard in found if guard != EQUAL_DURABILITY or refused(analysis) is None]


def decides_nothing(row: EngineRow, found: Answer, seen: Overview) -> bool:
    """Whether a figure that the sentence rests on is invalid; percentiles beside it are judged by themselves."""
    return bool({found.figure, seen.stated} & set(row.broken))


def has_figure(row: EngineRow, found: Answer) -> bool:
    return row.point is not None and (found.kind in PACED or row.stated is not None)


def left_out(seen: Overview, broken: Sequence[EngineRow], sound: Sequence[EngineRow]) -> list[str]:
    """Engines without a figure that stands, and why."""
    absent = [row for row in seen.rows if row not in broken and row not in sound]
    said = []
    if broken:
        guards = dict.fromkeys(guard for row in broken for guard in row.guards)
        named = listed([title(row.engine) for row in broken])
        said.append(f"INVALID: the figures of {named} ({', '.join(guards)})")
    if absent:
        said.append(f"No counted run of {listed([title(row.engine) for row in absent])} measured it")
    return said


def beside(analysis: Analysis, seen: Overview) -> list[str]:
    """What a reader of the sentence must know: unequal promises, and conditions that it does not speak of."""
    said = []
    if len([row for row in seen.rows if row.point]) > 1 and (why := refused(analysis)):
        said.append(f"These engines are not compared: acknowledged rows survive different things ({why})")
    if seen.others:
        said.append(f"{counted(seen.others, 'other condition')} of the study: in the table of every point")
    return said


# --- paced: is the load kept up with?


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
    """How long the rows of a sample take, of the engines whose percentile stands; nothing where none is known."""
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
    factor, unit = scale(values[len(values) // 2], figure)
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
        failed = any(s is Trial.FAILED for v, s in stood.items() if v > value)
        undecided = [v for v, s in stood.items() if s is Trial.UNDECIDED and v > value]
        least = "" if failed else "at least "
        more = f", undecided at {', '.join(plain(v) for v in undecided)}" if undecided else ""
        said.append(
            f"{title(row.engine)} sustains {least}{load_value(along, value)} ({counted(len(found_runs[value]), 'run')}{more})"
        )
    return headed(seen.condition, "; ".join(said))


def load_value(along: str, value: Any) -> str:
    return f"{plain(value)} rows/s" if along.endswith("rows_per_s") else say_with(along, value)


# --- levels: how much, how long


def levels_said(analysis: Analysis, found: Answer, seen: Overview, rows: Sequence[EngineRow]) -> str:
    """`DuckDB stores 1.9 M rows/s in batches of 20,000 (2,000 is 2.7 times slower); SQLite …`"""
    said = [
        f"{title(row.engine)} {level(analysis, row.stated)}{with_value(analysis, seen, row)}{against(analysis, found, row)}"
        for row in rows
        if row.stated is not None
    ]
    return headed(seen.condition, "; ".join(said))


def headed(condition: Point, said: str) -> str:
    """What all of it was measured with, in front: `At port_data_counters, 0 readers: …`"""
    words = ", ".join(say_with(k, v) for k, v in condition)
    return f"At {words}: {said}" if words else said


def level(analysis: Analysis, cell: Cell) -> str:
    """`stores 1.9 M rows/s`, `takes 2.0 s`"""
    role, metric = cell.figure.rsplit(".", 1)
    writes = any(role in writing_roles(m.run.plan) for m in analysis.runs)
    value = show_known(cell.value, cell.interval, cell.figure)
    kind, q = kind_and_quantile(metric)
    if metric == "makespan_s":
        return f"takes {value}"
    if q and not isfinite(cell.value):
        return f"has no {q} of {role}: too many calls failed"
    if q:
        return f"has a {kind} of {value} ({q} of {role})"
    verbs = {"rows_per_s": "stores" if writes else "returns", "keys_per_s": "looks up", "bytes_per_s": "takes in",
             "file_bytes_per_s": "takes in", "ops_per_s": "makes" if writes else "answers"}  # fmt: skip
    return f"{verbs[metric]} {value}" if metric in verbs else f"has a {name(cell.figure)} of {value}"


def with_value(analysis: Analysis, seen: Overview, row: EngineRow) -> str:
    """` in batches of 20,000`: the value of `along` and of all else that is this engine's own."""
    shared = {"engine", *dict(seen.condition)}
    own = {k: v for k, v in row.point or () if k in analysis.factors and k not in shared}
    batch = f" in batches of {plain(own.pop('batch_rows'))}" if "batch_rows" in own else ""
    return batch + (f" with {', '.join(value_said(k, v) for k, v in own.items())}" if own else "")


def value_said(factor: str, value: Any) -> str:
    """`4 writers`, `layout pk_time`: a name alone would not say what it is of."""
    return f"{factor} {value}" if isinstance(value, str) else say_with(factor, value)


def against(analysis: Analysis, found: Answer, row: EngineRow) -> str:
    """What the value is held against: the next best one, or the first of a curve."""
    of = {p: v for p, v in analysis.values(found.figure).items() if p in row.tried}
    if found.kind == "best":
        return runner_up(analysis, found, row, of)
    if found.kind in ("curve", "scaling"):
        return since_first(analysis, found, row)
    return ""


def runner_up(analysis: Analysis, found: Answer, row: EngineRow, of: Values) -> str:
    """` (2,000 is 2.7 times slower)`, or the values that cannot be told from the best."""
    along = found.along or "engine"
    best = row.point
    if best is None or len(of) < 2:
        return ""

    def said(point: Point) -> str:
        held = dict(point)
        rest = [
            (k, v)
            for k, v in point
            if k in analysis.factors and k not in ("engine", along) and dict(best).get(k) != v
        ]
        own = plain(held[along]) if along == "batch_rows" else value_said(along, held[along])
        return own + "".join(f" with {value_said(k, v)}" for k, v in rest)

    together = settled(of, fresh(analysis, found, of), found.figure).together
    if together:
        return f" (not distinguishable: {', '.join(said(p) for p in together)})"
    second = next(p for p, _ in ranked(of, found.figure) if p != best)
    lower = lower_is_better(found.figure)
    ratio = ratio_of(of[second], of[best]) if lower else ratio_of(of[best], of[second])
    if ratio is None or ratio.holds(1.0):
        return ""
    much = f"{known(ratio.value, ratio)} times" if ratio.value >= 1.1 else f"{100 * (ratio.value - 1):.2g} %"
    return f" ({said(second)} is {much} {'slower' if is_speed(found.figure) else 'worse'})"


def is_speed(figure: str) -> bool:
    return figure.endswith("_s") and not figure.endswith("failed_share")


def since_first(analysis: Analysis, found: Answer, row: EngineRow) -> str:
    """`, 3.1 times as much as with 1 writer`: the same figure at the smallest value of `along`, paired by block."""
    along = found.along or "engine"
    if row.stated is None or row.point is None:
        return ""
    others = {k: v for k, v in row.point if k != along}
    values = analysis.values(row.stated.figure)
    by_value = {
        dict(p)[along]: p for p in values if along in dict(p) and {k: v for k, v in p if k != along} == others
    }
    here = dict(row.point).get(along)
    first = ordered(by_value)[0] if by_value else here
    if first == here or analysis.broken(row.stated.figure, by_value[first]):
        return ""
    ratio = ratio_of(values[row.point], values[by_value[first]])
    if ratio is None:
        return ""
    if ratio.holds(1.0):
        return f", not distinguishable from {value_said(along, first)}"
    much = "as long" if lower_is_better(row.stated.figure) else "as much"
    return f", {known(ratio.value, ratio)} times {much} as with {value_said(along, first)}"


def intervals_said(rows: Sequence[EngineRow]) -> str:
    """`95 % interval: 1.80 to 2.00 M rows/s (5 runs)`, of every engine; a percentile has none, and its runs a range."""
    cells = {row.engine: (row.stated, row.runs) for row in rows if row.stated is not None}
    said = [
        (f"{title(engine)} " if len(cells) > 1 else "") + bounds_said(cell, runs)
        for engine, (cell, runs) in cells.items()
    ]
    ranges = any(is_percentile(cell.figure) for cell, _ in cells.values())
    what = "Range of the runs" if ranges else f"95 % interval{'s' * (len(said) > 1)}"
    return f"{what}: {'; '.join(said)}"


def bounds_said(cell: Cell, runs: int) -> str:
    """`1.80 to 2.00 M rows/s (5 runs)`"""
    i, n = cell.interval, counted(runs, "run")
    if failed := sum(not isfinite(v) for v in cell.values):
        return f"failed in {failed} of {n}"
    if is_percentile(cell.figure):
        low, high = (show(f(cell.values), cell.figure) for f in (min, max))
        return f"{low} to {high} ({n})" if len(cell.values) > 1 else f"none ({n})"
    if i is None:
        return f"none ({n})"
    factor, unit = scale(i.value, cell.figure)
    return f"{digits(i.low / factor)} to {digits(i.high / factor)} {unit} ({n})"


def runs_said(rows: Sequence[EngineRow]) -> str:
    """`3 runs each`"""
    each = {row.runs for row in rows}
    if len(each) > 1:
        return ", ".join(f"{title(row.engine)} {counted(row.runs, 'run')}" for row in rows)
    return counted(each.pop(), "run") + (" each" if len(rows) > 1 else "")


# --- words


def all_of(n: int) -> str:
    return "Both" if n == 2 else f"All {NUMBERS[n] if n < len(NUMBERS) else n}"


def listed(words: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`"""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


Sayer = Callable[[Analysis, Answer, Overview, Sequence[EngineRow]], str]
SAID: Mapping[str, Sayer] = {"keeps_up": keeps_up_said, "sustained": sustained_said}
