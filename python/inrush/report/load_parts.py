"""Why the bytes of a load of files were not all as dear, in words and in a table. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from inrush.analysis.points import Analysis, Measured, Point, say
from inrush.model.decomposition import CALLED, LEAST, Decomposed, Estimate, Part, Units, alike, decompose
from inrush.model.forecast import Refused
from inrush.model.outgrown import Shape, joined, shape
from inrush.report.html import number, table
from inrush.stats.load_series import COSTS, FileLoad, cost_per_row, file_loads, own_seconds
from inrush.stats.quantity import digits, show
from inrush.text import number as counted
from inrush.text import percent

MB = 1e6
#: Points whose loads are taken apart: each takes a fifth of a second.
MOST_POINTS = 12
#: Parts that explain less are said without what they do.
SEEN = 0.005
#: Less between the cheapest MB and the dearest one is not worth a word.
DEARER = 1.02
#: A rate that falls and comes back, or stays low, is then that of caches as well.
WENT_ON = "the load was ended and went on, each time with cold caches and a server that had recovered"
SPEEDS = (
    "load",
    "#files",
    "#rows",
    "#load time",
    "#rows/s",
    "#MB/s",
    "#files/s",
    *(f"#{figure}" for figure in COSTS),
)
PARTS = ("load", "#a MB takes", "size of files", "places", "table", "rest", "B-tree out of memory")


@dataclass(frozen=True)
class TypicalLoad:
    """Files of one role at one point, in the run whose load took the median time."""

    point: Point
    measured: Measured
    of: FileLoad
    #: A guard says that its rate is none.
    invalid: bool = False

    @property
    def name(self) -> str:
        return say(self.point)


@dataclass(frozen=True)
class Taken:
    """A load taken apart, or why it was not."""

    found: Decomposed | None
    by_row: Decomposed | None
    refused: str
    shape: Shape


def typical_loads(analysis: Analysis) -> list[TypicalLoad]:
    """For each point and each role that loaded files; the lower of two medians."""
    found = []
    for point in analysis.points:
        runs = [m for m in analysis.runs if m.counts and m.point == point]
        each = [(m, file_loads(m.run)) for m in runs]
        for role in dict.fromkeys(role for _, of in each for role in of):
            held = sorted(((of[role].seconds, n) for n, (_, of) in enumerate(each) if role in of))
            m, of = each[held[(len(held) - 1) // 2][1]]
            invalid = bool(analysis.broken(f"{role}.rows_per_s", point))
            found.append(TypicalLoad(point, m, of[role], invalid))
    return found


def units_of(of: FileLoad) -> Units:
    return Units(own_seconds(of), of.bytes, of.rows, of.before, of.places)


def taken_apart(of: FileLoad) -> Taken:
    each = units_of(of)
    each = each.only((each.bytes > 0) & (each.seconds > 0))
    raw = Shape("undecided", WENT_ON) if went_on(of) else shape(each.before, each.bytes / each.seconds)
    try:
        found = decompose(each)
    except Refused as e:
        return Taken(None, None, str(e), raw)
    by_row = decompose(each, "row") if each.rows is not None and (each.rows > 0).all() else None
    return Taken(found, by_row, "", raw if went_on(of) else judged(each, found, raw))


def went_on(of: FileLoad) -> bool:
    """Whether a gap lies in the load: the run's may lie in that of another step."""
    return any(begin < of.end_ns and end > of.begin_ns for begin, end in of.gaps)


def judged(each: Units, found: Decomposed, raw: Shape) -> Shape:
    """Of the rate as it was, and of files that are all alike where they were not."""
    if all(part.names == ("table",) for part in found.parts):
        return raw
    same = alike(each, found)
    if same is None:
        return joined(raw, Shape("undecided", "the two are inseparable"))
    return joined(raw, shape(each.before, same))


def loads_section(analysis: Analysis) -> str:
    """Nothing for a study that loads no files."""
    every = typical_loads(analysis)
    if not every:
        return ""
    named = len({loaded.of.role for loaded in every}) > 1
    return (
        table(SPEEDS, [[escape(called(loaded, named)), *speeds(loaded)] for loaded in every])
        + "<p>Of each point the run whose load took the median time. CPU is that of the role in which rows are stored; read and "
        "written is what all devices of the machine did.</p>" + parts_said(every, named)
    )


def parts_said(every: Sequence[TypicalLoad], named: bool) -> str:
    """A row and sentences for each load that was taken apart; why the others were not, each reason once."""
    enough = [loaded for loaded in every if len(loaded.of.rows) >= LEAST]
    apart = [(called(loaded, named), loaded, taken_apart(loaded.of)) for loaded in enough[:MOST_POINTS]]
    rows = [[escape(name), *parts_of(loaded.of, taken)] for name, loaded, taken in apart]
    words = "".join(
        f"<li><b>{escape(name)}</b>: {escape(' '.join(said(taken)))}</li>" for name, _, taken in apart
    )
    without = []
    if few := len(every) - len(enough):
        without.append(
            f"{few} of {len(every)} loads have fewer than {LEAST} files, which are too few to take their time apart."
        )
    if len(enough) > MOST_POINTS:
        without.append(f"Of the others the first {MOST_POINTS} are taken apart.")
    note = "Share of the variance of the time of a MB, from file to file, that each part explains, with its 95 % interval."
    return (
        table(PARTS, rows)
        + (f"<p>{note}</p><ul>{words}</ul>" if rows else "")
        + (f"<p>{escape(' '.join(without))}</p>" if without else "")
    )


def called(loaded: TypicalLoad, named: bool) -> str:
    """named: with its role, of a study in which several load."""
    name = f"{loaded.name}, {loaded.of.role}" if named else loaded.name
    return f"{name} (INVALID)" if loaded.invalid else name


def speeds(loaded: TypicalLoad) -> Iterator[str]:
    of, run = loaded.of, loaded.measured.run
    rows = float(of.rows.sum())
    yield number(f"{len(of.rows):,}")
    yield number(f"{rows:,.0f}")
    yield number(show(of.seconds, "load_s"))
    yield number(show(rows / of.seconds, "rows_per_s").removesuffix(" rows/s"))
    yield number(digits(float(of.bytes.sum()) / of.seconds / MB))
    yield number(digits(len(of.rows) / of.seconds))
    costs = cost_per_row(run, of)
    for figure in COSTS:
        yield number(digits(costs[figure]) if figure in costs else "–")


def parts_of(of: FileLoad, taken: Taken) -> Iterator[str]:
    found, size = taken.found, float(of.bytes.sum())
    yield number(show(of.seconds / size * MB, "load_s") if size else "–")
    for name in CALLED:
        part = next((p for p in found.parts if name in p.names), None) if found else None
        joint = part is not None and len(part.names) > 1
        yield escape(f"{estimate(part.share)}{' (joint)' if joint else ''}") if part else "–"
    yield escape(estimate(found.rest)) if found else "–"
    yield taken.shape.word


def estimate(of: Estimate) -> str:
    """`90 % [28, 96]`"""
    low, high = (percent(v).removesuffix(" %") for v in (of.low, of.high))
    return f"{percent(of.value)} [{low}, {high}]"


def said(taken: Taken) -> list[str]:
    """Sentences, with figures."""
    found = taken.found
    out_of_memory = f"B-tree out of memory: {taken.shape.word}: {taken.shape.why}."
    if found is None:
        return [f"Not taken apart: {taken.refused}.", out_of_memory]
    return [
        f"Of the variance of the time of a MB, {'; '.join(part_said(p) for p in found.parts)}; {estimate(found.rest)} is explained by none.",
        cost_said(found, "MB", MB),
        *([cost_said(taken.by_row, "row", 1.0)] if taken.by_row else []),
        *(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in (*found.inseparable, *found.unseen)),
        out_of_memory,
    ]


def part_said(part: Part) -> str:
    """`the size of files explains 90 % [28, 96] (88 % that no other part does), and makes the dearest MB 1.7 times as dear as the
    cheapest`"""
    names = " and ".join(CALLED[name] for name in part.names)
    verb = "explains" if len(part.names) == 1 else "together explain"
    share = f"{names} {verb} {estimate(part.share)}"
    if part.adds < SEEN and part.share.value < SEEN:
        return share
    share += f" ({percent(part.adds)} that no other part does)"
    if part.times < DEARER:
        return share
    times = f"{part.times:.2g} times as dear as" if np.isfinite(part.times) else "endlessly dearer than"
    return f"{share}, and makes the dearest MB {times} the cheapest"


def cost_said(found: Decomposed, unit: str, times: float) -> str:
    """What each part costs, of costs that are not 0."""
    cost = found.cost
    file_unit = cost.file_byte_s * times * MB
    parts = [
        (cost.file_s, f"{show(cost.file_s, 'x_s')} for each file"),
        (file_unit, f"{show(file_unit, 'x_s')} more for each MB of its file"),
        (cost.place_s, f"{show(cost.place_s, 'x_s')} for each place that a file touches"),
        (cost.table_s, table_said(found, times)),
    ]
    beside = [words for value, words in parts if value > 0]
    return (
        f"A {unit} costs {show(cost.each_s * times, 'x_s')}"
        + (f"; {', '.join(beside)}" if beside else "")
        + "."
    )


def table_said(found: Decomposed, times: float) -> str:
    cost = found.cost
    if cost.knee is None:
        return f"{show(cost.table_s * times * 1e6, 'x_s')} more for each million rows in the table"
    return f"up to {show(cost.table_s * times, 'x_s')} more from {counted(cost.knee, 2)} rows on"
