"""Results and plans in a few lines of text. Pure: lines out, nothing printed."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from inrush.analysis.answer import answer
from inrush.analysis.conclusion import other_conditions
from inrush.analysis.expected import expectation_marks
from inrush.analysis.overview import overview
from inrush.analysis.points import Analysis, Point, PointSummary, headline, say
from inrush.analysis.ran import ran_said
from inrush.analysis.rejected import by_table, reject_lines
from inrush.analysis.same_work import WorkDone, by_rate, other_work, work
from inrush.analysis.title import title_of
from inrush.analysis.wording import TOO_FEW, shown
from inrush.errors import UsageError
from inrush.guards.verdicts import WITH_NOTES, Outcome, Verdict, by_guard, conditions_last, counted, promised
from inrush.report.first_sentence import first_sentence
from inrush.report.overview import markdown, text_table
from inrush.report.point_lines import point_lines
from inrush.report.run_list import wanted_runs
from inrush.stats.quantity import LEAST_RUNS, says_nothing, show, show_bounds, show_interval
from inrush.stats.stats import Interval, welch_ratio
from inrush.text import columns

if TYPE_CHECKING:
    from inrush.results.store import Results

#: Figures of a point in `show`, by their ending, in this order.
SHOWN = ("makespan_s", "rows_per_s", "ops_per_s", "keys_per_s", "latency_p50_s", "latency_p99_s")


def summary_lines(results: Results, analysis: Analysis) -> list[str]:
    """Title, what was found, a row for each engine, points with the headline figure, every guard that did not pass, the answer."""
    study = results.study
    found = answer(analysis)
    seen = overview(analysis, found)
    table = text_table(analysis, seen)
    figure = seen.stated if seen else headline(analysis)
    lines = [
        title_of(study),
        f"{study['id']} · {study.get('status', '')} · {len(results.runs)} of {wanted_runs(study)} runs sealed"
        f" · {standing(analysis)}",
        *([f"ran {ran}"] if (ran := ran_said(analysis)) else []),
        *(f"expected: {m.word}: {m.said}" for m in expectation_marks(analysis)),
        "",
        first_sentence(analysis, found, seen),
        *(["", *table] if table else []),
    ]
    if figure is not None and (rows := point_lines(analysis, found, figure)):
        lines += ["", *rows]
    if absent := absent_lines(analysis):
        lines += ["", *absent]
    if rejected := reject_lines(analysis):
        lines += ["", *rejected]
    doubts = doubt_lines(analysis)
    others = other_conditions(analysis, found, seen)
    parts = [f"answer: {said}" for said in (others or ([part.said for part in found.parts] if found else []))]
    return [*lines, *(["", *doubts] if doubts else []), *(["", *parts] if parts else [])]


def absent_lines(analysis: Analysis) -> list[str]:
    """Points without a run, steps that runs went without, and why; how many points a search passed over."""
    passed = sum(a.searched for a in analysis.record.absent)
    lines = [f"{a.why}: {say(a.point)}: {a.reason}" for a in analysis.record.absent if not a.searched]
    lines += step_lines(analysis)
    return lines + (
        [f"not tried: {counted(passed, 'point')}, which the search did not need"] if passed else []
    )


def step_lines(analysis: Analysis) -> list[str]:
    """Steps that an engine's runs went without: those with one reason in one line, whatever their point."""
    steps: dict[tuple[str, str], dict[str, None]] = {}
    for m in analysis.runs:
        for step, reason in m.run.labels.get("steps_left_out", {}).items():
            steps.setdefault((m.run.engine, reason), {})[step] = None
    return [
        f"left out: {engine}: step{'s' * (len(names) > 1)} {', '.join(names)}: {reason}"
        for (engine, reason), names in sorted(steps.items())
    ]


def markdown_lines(analysis: Analysis) -> list[str]:
    """What was found, the table of engines, and what became of the expectation, for a document."""
    found = answer(analysis)
    seen = overview(analysis, found)
    marks = [f"- {m.word}: {m.said}" for m in expectation_marks(analysis)]
    expected = ["", f"Expected: {analysis.study['expect']}", "", *marks] if marks else []
    return [*markdown(analysis, seen, first_sentence(analysis, found, seen)), *expected]


def standing(analysis: Analysis) -> str:
    """`valid` is said of figures: a pilot has none."""
    if not analysis.valid:
        return "INVALID"
    if not any(m.counts or m.run.confirms for m in analysis.runs):
        return "nothing measured yet"
    return WITH_NOTES if analysis.outcome is Outcome.NOTE else "valid"


def summed_up(s: PointSummary) -> str:
    """The figure of a point with its interval; without one its centre and range, `failed` where it failed in a run."""
    if s.interval is not None and not says_nothing(s.interval):
        return show_interval(s.interval, s.figure)
    return shown(dict(zip(s.blocks, s.values, strict=True)), s.figure)


def doubt_lines(analysis: Analysis) -> list[str]:
    """A line for every guard that did not pass everywhere, worst first: what it says of one run, and of how many."""
    lines = []
    held = by_guard(analysis.verdicts)
    for guard in conditions_last(held):
        found = held[guard]
        doubts = [(run, v) for run, v in found if v.outcome in (Outcome.NOTE, Outcome.INVALID)]
        if doubts:
            run, worst_one = doubts[0]
            where = f" ({len(doubts)} runs, as {run})" if len(doubts) > 1 else f" ({run})" if run else ""
            lines.append(
                (worst_one.outcome.weight, f"{worst_one.outcome.value}: {guard}{where}: {worst_one.sentence}")
            )
    return [line for _, line in sorted(lines, key=lambda pair: -pair[0])]


def summary(analysis: Analysis) -> dict[str, Any]:
    """The same for programs: every figure of every point, and all verdicts."""
    figures = sorted({name for m in analysis.runs for name in m.figures if name.endswith(SHOWN)})
    points: dict[Any, dict[str, Any]] = {}
    for figure in figures:
        for s in analysis.summaries(figure):
            held = points.setdefault(s.point, {"point": dict(s.point), "figures": {}})
            held["figures"][figure] = {
                "n": len(s.values),
                "values": [v if isfinite(v) else None for v in s.values],
                "failed": s.failed,
                "invalid": sorted({v.guard for _, v in analysis.broken(figure, s.point)}),
                **(
                    {"value": s.interval.value, "low": s.interval.low, "high": s.interval.high}
                    if s.interval
                    else {}
                ),
            }
    return {
        "study": analysis.study.get("id"),
        "valid": analysis.valid,
        "expected": [mark.document for mark in expectation_marks(analysis)],
        "points": list(points.values()),
        "rejected": {
            table: {"rejected": rejected, "of": of}
            for table, each in by_table(analysis).items()
            for rejected, of in [max(each)]
        },
        "verdicts": [verdict_document(run, v) for run, v in analysis.verdicts],
    }


def verdict_document(run: str, v: Verdict) -> dict[str, Any]:
    """For programs; `figures` are those that it makes invalid, null: all of the run."""
    document = {"run": run, "guard": v.guard, "outcome": v.outcome.value, "sentence": v.sentence}
    if v.outcome is Outcome.INVALID:
        document["figures"] = None if v.figures is None else list(v.figures)  # type: ignore[assignment]
    return document


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
        engines.setdefault(m.run.engine, set()).add(promised(m.run))
    return engines
