"""Two results side by side: ratios with intervals, and what was not equal when they were made. Pure: lines out, nothing printed."""

from __future__ import annotations

from inrush.analysis.points import Analysis, Point, PointSummary, headline, say
from inrush.analysis.same_work import WorkDone, by_rate, other_work, work
from inrush.analysis.wording import TOO_FEW
from inrush.errors import UsageError
from inrush.guards.verdicts import survives
from inrush.report.summary import summed_up
from inrush.stats.quantity import LEAST_RUNS, says_nothing, show, show_bounds
from inrush.stats.stats import Interval, welch_ratio
from inrush.text import columns


def compare_lines(a: Analysis, b: Analysis) -> list[str]:
    """Ratio b/a of the headline figure at every point that both measured, with a Welch interval on logs.

    Where they did not write the same volume, times become rates; where rows are not alike there is no ratio.
    The two were not run in turns: a drift of the machine between them is part of the ratio, and is said.
    Raises UsageError where no point was measured by both.
    """
    asked = headline(a)
    if asked is None or headline(b) != asked:
        raise UsageError(
            f"{a.study.get('id')} and {b.study.get('id')} do not answer the same question: {asked} and {headline(b)}; compare "
            "results of one study"
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
    rows = [
        compared_row(a, b, left[point], right[point], works[point])
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
    table = columns(rows, ("point", *names, "ratio", "")) if rows else ["no point was measured by both"]
    lines = [f"{figure}, {names[1]} / {names[0]}", *table, *only]
    if figure != asked:
        lines.append(f"! {asked} is a time of the whole volume, and volumes differ: compared by {figure}")
    lines += [f"! {sentence}" for sentence in (*other_work(a, b, shared, asked), *differences(a, b))]
    lines.append(
        "! run one after the other, not in turns: the ratio contains changes of the machine between them"
    )
    lines += [
        f"! the result of {z.study.get('id')} is INVALID; `inrush show {z.study.get('id')}` says why"
        for z in (a, b)
        if not z.valid
    ]
    return lines


def compared_row(
    a: Analysis, b: Analysis, x: PointSummary, y: PointSummary, works: tuple[WorkDone | None, WorkDone | None]
) -> list[str]:
    """x, y: the same figure at the same point, of a and of b."""
    point, figure = x.point, x.figure
    row = [say(point), *(show(s.interval.value, figure) if s.interval else summed_up(s) for s in (x, y))]
    before, after = works
    if before and after and not before.has_rows_like(after):
        each = [f"{w.bytes / w.rows:,.0f}" if w.rows else "no" for w in (before, after)]
        return [*row, "not compared", f"rows of {' and '.join(each)} bytes are other rows"]
    if x.interval is None or y.interval is None:
        return [*row, "failed: no ratio" if x.failed or y.failed else "too few runs for a ratio", ""]
    ratio = welch_ratio(y.values, x.values)
    word = comparison_word(ratio)
    if (other := on_time_word(a, b, figure, point)) not in (None, word):
        word = f"INVALID: {word}, and with clients on time {other}"
    elif broken := [*a.broken(figure, point), *b.broken(figure, point)]:
        word = f"INVALID: {broken[0][1].guard}"
    return [*row, f"{ratio.value:.3g} {show_bounds(ratio)}", word]


def comparison_word(ratio: Interval) -> str:
    if ratio.holds(1.0) and says_nothing(ratio):
        return f"{TOO_FEW} ({ratio.n} of {LEAST_RUNS})"
    return "not distinguishable" if ratio.holds(1.0) else "more" if ratio.value > 1 else "less"


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


def differences(a: Analysis, b: Analysis) -> list[str]:
    """What was not equal when the two were made: durability, host, build."""
    said = []
    x, y = (durabilities(z) for z in (a, b))
    for engine in (e for e in x if e in y and x[e] != y[e]):
        said.append(
            f"durability of {engine} differs ({' or '.join(sorted(x[engine]))}; {' or '.join(sorted(y[engine]))}):"
            " the faster one may be faster because its rows survive less"
        )
    left, right = (z.runs[0].run.env if z.runs else {} for z in (a, b))
    said += [
        f"{key} differs: {left.get(key)} and {right.get(key)}"
        for key in COMPARED
        if left.get(key) != right.get(key)
    ]
    return said


def durabilities(analysis: Analysis) -> dict[str, set[str]]:
    """Engine -> what its acknowledged rows survive, over all its runs; why so names each run's own file."""
    engines: dict[str, set[str]] = {}
    for m in analysis.runs:
        window_s = (m.run.summary.get("durability") or {}).get("window_s")
        detail = (survives(m.run) or "not recorded").replace("_", " ").lower()
        engines.setdefault(m.run.engine, set()).add(
            f"{detail} but the last {window_s:g} s" if window_s else detail
        )
    return engines
