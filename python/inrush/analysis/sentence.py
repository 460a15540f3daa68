"""An answer in sentences: what was asked, for every engine, with its figures. Pure.

Figures are rounded to what their intervals know. A figure that a guard makes invalid is not in it: its engine is named
with the guard. Engines with rows that survive different things stand in the order of the study, and the sentence says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite

from inrush.analysis.answer import PACED, Answer, no_decision
from inrush.analysis.comparability import refused
from inrush.analysis.keeping_up import keeps_up, not_decided, sustained
from inrush.analysis.levelling import levelling
from inrush.analysis.overview import (
    Cell,
    EngineRow,
    Overview,
    by_condition,
    is_percentile,
    overview,
)
from inrush.analysis.parts import ALIKE, APART, FEW, ONCE, Try
from inrush.analysis.points import Analysis, Point
from inrush.analysis.ran import measured_roles
from inrush.analysis.settled import (
    headed,
    value_said,
)
from inrush.analysis.wording import (
    LEAST_SAID,
    TOO_FEW,
    few,
    in_each,
    is_speed,
    lie_apart,
    name,
    ordered,
    plain,
    ratio_of,
    runs_needed,
)
from inrush.engines import title
from inrush.metrics import lower_is_better, metric_of
from inrush.stats.figure_names import kind_and_quantile
from inrush.stats.measures import writing_roles
from inrush.stats.quantity import LEAST_RUNS, digits, known, says_nothing, scale_known, show, show_known
from inrush.stats.stats import Interval
from inrush.text import counted, listed

NOTHING = "No answer: no counted run measured it."


def sentence(analysis: Analysis, found: Answer | None, seen: Overview | None = None) -> str:
    """The answer in sentences; never empty. seen: `overview` of the same, where it is known already."""
    seen = seen or overview(analysis, found)
    if found is None or seen is None or not any(row.point for row in seen.rows):
        return NOTHING
    broken, sound = judged_rows(found, seen)
    sentences = [*stated(analysis, found, seen, sound), *left_out(analysis, found, seen, broken, sound)]
    # Of a search, which says itself what is undecided; of other kinds `left_out` names the engines.
    guards = [v.guard for v in no_decision(analysis, [p for row in sound for p in row.tried])]
    undecided = [f"INVALID: no decision ({', '.join(guards)})"] if guards else []
    return in_a_row([*undecided, *sentences, *beside(analysis, seen)])


def other_conditions(analysis: Analysis, found: Answer | None, seen: Overview | None) -> list[str]:
    """The same sentences for every condition that `sentence` does not speak of."""
    if found is None or seen is None or not seen.others:
        return []
    said = []
    for condition in by_condition(analysis, found):
        there = overview(analysis, found, condition) if condition != seen.condition else None
        if there is None:
            continue
        broken, sound = judged_rows(found, there)
        missing = left_out(analysis, found, there, broken, sound)
        said.append(
            in_a_row([*stated(analysis, found, there, sound), *missing])
            if sound
            else headed(condition, in_a_row(missing))
        )
    return said


def in_a_row(sentences: Sequence[str]) -> str:
    return " ".join(f"{s}." for s in sentences if s)


def judged_rows(found: Answer, seen: Overview) -> tuple[list[EngineRow], list[EngineRow]]:
    """Rows that decide nothing, since what the sentence rests on is invalid, and rows that it can speak of."""
    broken = [row for row in seen.rows if row.undecided]
    return broken, [row for row in seen.rows if row not in broken and has_figure(row, found)]


def stated(analysis: Analysis, found: Answer, seen: Overview, sound: Sequence[EngineRow]) -> list[str]:
    """What was found, and what stands behind it: intervals and numbers of runs."""
    if not sound:
        return []
    said = TEMPLATES.get(found.kind, levels)(analysis, found, seen, sound)
    if found.kind == "sustained":  # which says the runs of each value
        return [said]
    return [
        said,
        alike_engines(found, sound),
        numbers_of_runs(sound) if found.kind in PACED else intervals(sound),
    ]


def has_figure(row: EngineRow, found: Answer) -> bool:
    return row.point is not None and (found.kind in PACED or row.stated is not None)


def left_out(
    analysis: Analysis, found: Answer, seen: Overview, broken: Sequence[EngineRow], sound: Sequence[EngineRow]
) -> list[str]:
    """Engines without a figure that stands, and why."""
    absent = [row for row in seen.rows if row not in broken and row not in sound]
    unexplained = [row for row in absent if not row.absent]
    lacking = {row.engine: words for row in broken if (words := not_decided(analysis, found, row))}
    said = [*lacking.values()]
    invalid = [row for row in broken if row.engine not in lacking]
    for what, of in (
        ("the figures of", {row.engine: row.guards for row in invalid if not row.open}),
        (f"no decision by {name(found.figure)} on", {row.engine: row.open for row in invalid if row.open}),
    ):
        guards = dict.fromkeys(guard for each in of.values() for guard in each)
        said += [f"INVALID: {what} {listed([*map(title, of)])} ({', '.join(guards)})"] if of else []
    said += [f"{title(row.engine)} has no run ({row.absent})" for row in absent if row.absent]
    if unexplained:
        said.append(f"No counted run of {listed([title(row.engine) for row in unexplained])} measured it")
    return said


def beside(analysis: Analysis, seen: Overview) -> list[str]:
    """What a reader of the sentence must know: unequal promises, and conditions that it does not speak of."""
    said = []
    if len([row for row in seen.rows if row.point]) > 1 and (why := refused(analysis)):
        said.append(f"These engines are not compared: acknowledged rows survive different things ({why})")
    said += dict.fromkeys(row.growing for row in seen.rows if row.growing)
    if seen.others:
        said.append(
            f"The study has {counted(seen.others, 'other condition')} too; the table of every point shows {'it' if seen.others == 1 else 'them'}"
        )
    return said


# --- levels: how much, how long


def levels(analysis: Analysis, found: Answer, seen: Overview, rows: Sequence[EngineRow]) -> str:
    """`DuckDB stores 1.9 M rows/s in batches of 20,000 (2,000 is 2.7 times slower); SQLite …`"""
    said = [
        f"{title(row.engine)} {level(analysis, row.stated)}{with_value(analysis, seen, row)}{against(analysis, found, row)}"
        for row in rows
        if row.stated is not None
    ]
    return headed(seen.condition, "; ".join(said))


def level(analysis: Analysis, cell: Cell) -> str:
    """`stores 1.9 M rows/s`, `takes 2.0 s`"""
    role, metric = cell.figure.rsplit(".", 1)
    writes = any(
        role in writing_roles(m.run.plan) or role in m.run.labels.get("totals", {}) for m in analysis.runs
    )
    value = show_known(cell.value, cell.interval, cell.figure)
    kind, q = kind_and_quantile(metric)
    if metric == "makespan_s":
        return f"takes {value}"
    if q and not isfinite(cell.value):
        return f"has no {q} of {role}: {cell.because}"
    if q:
        return f"has a {kind} of {value} ({q} of {role}{f', the {cell.few}' if cell.few else ''})"
    if metric in ("ops", "rows"):
        return f"has {value} {name(cell.figure)}"
    if verbs := metric_of(metric).verbs:
        return f"{verbs[0] if writes else verbs[1]} {value}"
    return f"has a {name(cell.figure)} of {value}"


def with_value(analysis: Analysis, seen: Overview, row: EngineRow) -> str:
    """` in batches of 20,000`: the value of `along` and of all else that is this engine's own."""
    shared = {"engine", *dict(seen.condition)}
    own = {k: v for k, v in row.point or () if k in analysis.factors and k not in shared}
    size = own.pop("batch_rows", None) or (None if "batch_rows" in shared else one_batch(analysis, row))
    batch = f" in batches of {plain(size)}" if size else ""
    return batch + (f" with {', '.join(value_said(k, v) for k, v in own.items())}" if own else "")


def one_batch(analysis: Analysis, row: EngineRow) -> int | None:
    """Rows of a call of the writing role that is stated, where nothing varies it; None of tables with several sizes."""
    if row.stated is None:
        return None
    role = row.stated.figure.rsplit(".", 1)[0]
    sizes = {
        part.get("work", {}).get("batch_rows")
        for m in analysis.runs
        if m.point == row.point and role in writing_roles(m.run.plan)
        for part in measured_roles(m.run, role)
        # A file that goes in as it is has a size of its own.
        if part.get("work", {}).get("input", {}).get("way", "parsed") == "parsed"
    }
    return sizes.pop() if len(sizes) == 1 else None


def against(analysis: Analysis, found: Answer, row: EngineRow) -> str:
    """What the value is held against: the next best one, or the first of a curve."""
    if found.kind == "best" or (found.kind == "comparison" and found.along != "engine"):
        return next_best(analysis, found, row)
    if found.kind in ("curve", "scaling"):
        return since_first(analysis, found, row)
    return ""


def next_best(analysis: Analysis, found: Answer, row: EngineRow) -> str:
    """` (2,000 is 2.7 times slower)`, or the values that cannot be distinguished from the best."""
    if not row.tries:
        return ""
    best, *others = row.tries
    if not others:
        is_search = found.kind == "best" and len(analysis.factors.get(found.along, ())) > 1
        return f" (no other {found.along} was measured)" if is_search else ""

    def named(tries: Sequence[Try]) -> str:
        return ", ".join(other_value(analysis, found.along, best.point, t.point) for t in tries)

    if once := [t for t in others if t.word == ONCE]:
        return f" (one run of each: it is not known whether {named(once)} differ{'s' * (len(once) == 1)})"
    if together := [t for t in others if t.word in (ALIKE, FEW, APART)]:
        return f" ({not_shown_worse(found.figure, together, named)})"
    ratio = others[0].ratio
    if ratio is None or ratio.holds(1.0):
        return ""
    second, comparison = named(others[:1]), worse_words(found.figure, ratio)
    # Where the other point has no fresh runs the ratio is that of the blocks, and not of the figure.
    if row.fresh and not others[0].fresh:
        return f" (in the blocks before, {second} was {comparison})"
    return f" ({second} is {comparison})"


def not_shown_worse(figure: str, together: Sequence[Try], named: Callable[[Sequence[Try]], str]) -> str:
    """`not distinguishable: A, B; too few runs to distinguish: C (2 of 3); D was slower in each of 2 runs, …`"""
    of = {word: [t for t in together if t.word == word] for word in (ALIKE, FEW, APART)}
    said = [f"{ALIKE}: {named(of[ALIKE])}"] if of[ALIKE] else []
    said += [f"{FEW}: {named(of[FEW])} {of[FEW][0].because}"] if of[FEW] else []
    if apart := of[APART]:
        were, word = "was" if len(apart) == 1 else "were", "slower" if is_speed(figure) else "worse"
        said.append(f"{named(apart)} {were} {word} {apart[0].because}; {LEAST_SAID}")
    return "; ".join(said)


def other_value(analysis: Analysis, along: str, best: Point, point: Point) -> str:
    """`2,000`, `row_order time with 4 writers`: a point by its value of `along`, and by what else differs from the best."""
    rest = [
        (k, v)
        for k, v in point
        if k in analysis.factors and k not in ("engine", along) and dict(best).get(k) != v
    ]
    value = dict(point)[along]
    own = plain(value) if along == "batch_rows" else value_said(along, value)
    return own + "".join(f" with {value_said(k, v)}" for k, v in rest)


def worse_words(figure: str, ratio: Interval) -> str:
    much = f"{known(ratio.value, ratio)} times" if ratio.value >= 1.1 else f"{100 * (ratio.value - 1):.2g} %"
    return f"{much} {'slower' if is_speed(figure) else 'worse'}"


def alike_engines(found: Answer, rows: Sequence[EngineRow]) -> str:
    """`Not distinguishable: DuckDB and SQLite`: engines of a comparison whose ratio to the best holds 1."""
    if found.kind != "comparison" or found.along != "engine":
        return ""
    shown = {row.engine: row.point for row in rows}
    for part in found.parts:
        alike = [e for e in shown if e in part.best and shown[e] in part.points]
        if len(alike) > 1:
            few_runs = any(row.runs < LEAST_RUNS for row in rows if row.engine in alike)
            word = TOO_FEW.capitalize() if few_runs else "Not distinguishable"
            return f"{word}: {listed([title(e) for e in alike])}"
    return ""


def since_first(analysis: Analysis, found: Answer, row: EngineRow) -> str:
    """`, 3.1 times as much as with 1 writer`: the same figure at the smallest value of `along`, paired by block."""
    along = found.along
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
        return unchanged(values[row.point], values[by_value[first]], value_said(along, first))
    much = "as long" if row.stated.figure.endswith("_s") and lower_is_better(row.stated.figure) else "as much"
    return f", {known(ratio.value, ratio)} times {much} as with {value_said(along, first)}"


def unchanged(here: Mapping[int, float], first: Mapping[int, float], named: str) -> str:
    """What is known of a difference from the first value that no test shows."""
    if not few(here, first):
        return f", not distinguishable from {named}"
    if not lie_apart(here, first):
        return f", {TOO_FEW} from {named} {runs_needed(here)}"
    word = "more" if min(here.values()) > max(first.values()) else "less"
    return f", {word} {in_each(here)} than with {named} ({LEAST_SAID})"


def intervals(rows: Sequence[EngineRow]) -> str:
    """`95 % interval: 1.80 to 2.00 M rows/s (5 runs)`, of every engine; a percentile has none, and its runs a range."""
    cells = [(row, row.stated) for row in rows if row.stated is not None]
    said = [
        (f"{title(row.engine)} " if len(cells) > 1 else "") + bounds(cell, row.runs, row.fresh)
        for row, cell in cells
    ]
    ranged = [has_range(cell) for _, cell in cells]
    what = "Range of the runs" if all(ranged) else f"95 % interval{'s' * (len(said) > 1)}"
    if any(ranged) and not all(ranged):
        what += f" (range of fewer than {LEAST_RUNS} runs)"
    return f"{what}: {'; '.join(said)}"


def has_range(cell: Cell) -> bool:
    """Of what no interval is shown: percentiles, and of few runs."""
    return is_percentile(cell.figure) or 1 < len(cell.values) < LEAST_RUNS


def bounds(cell: Cell, runs: int, fresh: bool = False) -> str:
    """`1.80 to 2.00 M rows/s (5 runs)`; `(3 fresh runs)` where they were made after the value was chosen."""
    i, n = cell.interval, counted(runs, "fresh run" if fresh else "run")
    if failed := sum(not isfinite(v) for v in cell.values):
        return f"{cell.lacks} in {failed} of {n}"
    if has_range(cell):
        low, high = (show(f(cell.values), cell.figure) for f in (min, max))
        return f"{low} to {high} ({n})" if len(cell.values) > 1 else f"none ({n})"
    if i is None or says_nothing(i):
        return f"none ({n})"
    factor, unit = scale_known(cell.value, i, cell.figure)
    return f"{digits(i.low / factor)} to {digits(i.high / factor)} {unit} ({n})"


def numbers_of_runs(rows: Sequence[EngineRow]) -> str:
    """`3 runs each`"""
    each = {row.runs for row in rows}
    if len(each) > 1:
        return ", ".join(f"{title(row.engine)} {counted(row.runs, 'run')}" for row in rows)
    return counted(each.pop(), "run") + (" each" if len(rows) > 1 else "")


Template = Callable[[Analysis, Answer, Overview, Sequence[EngineRow]], str]
#: Kind -> its sentence, where it is not `levels`.
TEMPLATES: Mapping[str, Template] = {
    "keeps_up": keeps_up,
    "sustained": sustained,
    "levels_off": levelling,
}
