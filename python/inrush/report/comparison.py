"""Two results side by side: ratios with intervals, and what was not equal when they were made. Pure: lines out, nothing printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inrush.analysis.hosts import FACTS, fact_text
from inrush.analysis.points import Analysis, Point, PointSummary, headline, say
from inrush.analysis.run_facts import promised
from inrush.analysis.same_work import WorkDone, by_rate, other_work, work
from inrush.analysis.wording import name
from inrush.errors import UsageError
from inrush.report.other_hosts import (
    HostComparison,
    comparison_word,
    host_comparison,
    host_document,
    host_lines,
    interval_document,
    show_ratio,
)
from inrush.report.summary import summed_up
from inrush.stats.quantity import show
from inrush.stats.stats import Interval, welch_ratio
from inrush.text import columns


@dataclass(frozen=True)
class ComparedPoint:
    point: Point
    #: Of a and of b.
    sides: tuple[PointSummary, PointSummary]
    #: None where the two may not or cannot be compared: `said` is why then, in place of a ratio.
    ratio: Interval | None
    said: str
    #: What the ratio says, or what speaks against it.
    word: str

    def row(self) -> list[str]:
        each = [show(s.interval.value, s.figure) if s.interval else summed_up(s) for s in self.sides]
        return [say(self.point), *each, self.said, self.word]


@dataclass(frozen=True)
class Comparison:
    names: tuple[str, str]
    figure: str
    points: list[ComparedPoint]
    #: Points that one of the two has alone.
    only: list[str]
    #: What must be known beside the ratios.
    warnings: list[str]
    #: Where the two were made on different hosts.
    hosts: HostComparison | None


def compare_lines(a: Analysis, b: Analysis, ghz: tuple[float, float] | None = None) -> list[str]:
    """A comparison as text."""
    found = comparison(a, b, ghz)
    rows = [point.row() for point in found.points]
    table = columns(rows, ("point", *found.names, "ratio", "")) if rows else ["no point was measured by both"]
    lines = [
        f"{name(found.figure)}, {found.names[1]} / {found.names[0]}",
        *table,
        *found.only,
        *(f"! {sentence}" for sentence in found.warnings),
    ]
    return [*lines, *(host_lines(found.names, found.hosts) if found.hosts else [])]


def compare_document(a: Analysis, b: Analysis, ghz: tuple[float, float] | None = None) -> dict[str, Any]:
    """The same for programs: `a`, `b` and ratios b / a with their bounds; null where there is none."""
    found = comparison(a, b, ghz)
    return {
        "a": found.names[0],
        "b": found.names[1],
        "figure": found.figure,
        "points": [
            {
                "point": dict(p.point),
                **{side: interval_document(s.interval) for side, s in zip("ab", p.sides, strict=True)},
                "ratio": interval_document(p.ratio),
                "said": p.word if p.ratio else p.said,
            }
            for p in found.points
        ],
        "only": found.only,
        "warnings": found.warnings,
        "hosts": host_document(found.hosts) if found.hosts else None,
    }


def comparison(a: Analysis, b: Analysis, ghz: tuple[float, float] | None = None) -> Comparison:
    """Ratio b/a of the headline figure at every point that both measured, with a Welch interval on logs.

    Where they did not write the same volume, times become rates; where rows are not alike there is no ratio.
    The two were not run in turns: a drift of the machine between them is part of the ratio, and is said.
    ghz: clocks of the processors of both, where the user states them. Raises UsageError where no point was measured by both.
    """
    asked = headline(a)
    if asked is None or headline(b) != asked:
        raise UsageError(
            f"{a.study.get('id')} and {b.study.get('id')} do not answer the same question: {question(asked)} and "
            f"{question(headline(b))}; compare results of one study"
        )
    role = asked.rsplit(".", 1)[0]
    shared = [p for p in a.values(asked) if p in b.values(asked)]
    if not shared:
        raise UsageError(
            f"{a.study.get('id')} and {b.study.get('id')}: no point was measured by both; run them with the same engines and values"
        )
    works = {p: (work(a, p, role), work(b, p, role)) for p in shared}
    figures = {by_rate(asked, x, y) for x, y in works.values() if x and y}
    # One figure for all points: a column of times and rates would be read as one of either.
    figure = min(figures - {asked}, default=asked)
    left, right = ({s.point: s for s in x.summaries(figure)} for x in (a, b))
    points = [
        compared_point(a, b, left[point], right[point], works[point])
        for point in shared
        if point in left and point in right
    ]
    only = [
        f"only in {x.study.get('id')}: {say(p)}"
        for x, mine, other in ((a, left, right), (b, right, left))
        for p in mine
        if p not in other
    ]
    names = (str(a.study.get("id")), str(b.study.get("id")))
    hosts = host_comparison(a, b, asked, ghz)
    warnings = [*other_work(a, b, shared, asked), *differences(a, b, of_hosts=hosts is None)]
    if figure != asked:
        why = "is a time of the whole volume, and volumes differ"
        warnings.insert(0, f"{name(asked)} {why}: compared by {name(figure)}")
    warnings.append(
        "run one after the other, not in turns: the ratio contains changes of the machine between them"
    )
    warnings += [
        f"the result of {z.study.get('id')} is INVALID; `inrush show {z.study.get('id')}` says why"
        for z in (a, b)
        if not z.valid
    ]
    return Comparison(names, figure, points, only, warnings, hosts)


def question(figure: str | None) -> str:
    return "nothing that was measured" if figure is None else name(figure)


def compared_point(
    a: Analysis, b: Analysis, x: PointSummary, y: PointSummary, works: tuple[WorkDone | None, WorkDone | None]
) -> ComparedPoint:
    """x, y: the same figure at the same point, of a and of b."""
    point, figure = x.point, x.figure
    before, after = works
    if before and after and not before.has_rows_like(after):
        each = [f"{w.bytes / w.rows:,.0f}" if w.rows else "no" for w in (before, after)]
        why = f"rows of {' and '.join(each)} bytes are other rows"
        return ComparedPoint(point, (x, y), None, "not compared", why)
    if x.interval is None or y.interval is None:
        why = "failed: no ratio" if x.failed or y.failed else "too few runs for a ratio"
        return ComparedPoint(point, (x, y), None, why, "")
    ratio = welch_ratio(y.values, x.values)
    word = comparison_word(ratio)
    if (other := on_time_word(a, b, figure, point)) not in (None, word):
        word = f"INVALID: {word}, and with clients on time {other}"
    elif broken := [*a.broken(figure, point), *b.broken(figure, point)]:
        word = f"INVALID: {broken[0][1].guard}"
    return ComparedPoint(point, (x, y), ratio, show_ratio(ratio), word)


def on_time_word(a: Analysis, b: Analysis, figure: str, point: Point) -> str | None:
    """The same comparison with the other end of both figures; None where there is too little for one."""
    x, y = ({s.point: s for s in z.on_time.summaries(figure)}.get(point) for z in (a, b))
    if x is None or y is None or x.interval is None or y.interval is None:
        return None
    return comparison_word(welch_ratio(y.values, x.values))


#: Facts of the host that must agree before two figures are compared.
COMPARED = (
    "cpu_model",
    "cpu_logical",
    "mem_total_bytes",
    "kernel",
    "data_filesystem",
    "data_journal",
    "core",
    "core_build_profile",
    "cargo_lock_sha256",
)


def differences(a: Analysis, b: Analysis, of_hosts: bool) -> list[str]:
    """What was not equal when the two were made: durability, and where of_hosts host and build."""
    said = []
    x, y = (durabilities(z) for z in (a, b))
    for engine in (e for e in x if e in y and x[e] != y[e]):
        said.append(
            f"durability of {engine} differs ({' or '.join(sorted(x[engine]))}; {' or '.join(sorted(y[engine]))}):"
            " the faster one may be faster because its rows survive less"
        )
    left, right = (z.runs[0].run.env if z.runs else {} for z in (a, b))
    for key in COMPARED if of_hosts else ():
        if left.get(key) != right.get(key):
            each = (fact_text(key, [env[key]] if env.get(key) is not None else []) for env in (left, right))
            said.append(f"{FACTS[key]} differs: {' and '.join(each)}")
    return said


def durabilities(analysis: Analysis) -> dict[str, set[str]]:
    """Engine -> what its acknowledged rows survive, over all its runs; why so names each run's own file."""
    engines: dict[str, set[str]] = {}
    for m in analysis.runs:
        engines.setdefault(m.run.engine, set()).add(promised(m.run))
    return engines
