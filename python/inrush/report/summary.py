"""Results and plans in a few lines of text. Pure: lines out, nothing printed."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from inrush.analysis.answer import answer
from inrush.analysis.deciding import crossed
from inrush.analysis.expected import expectation_marks
from inrush.analysis.overview import overview
from inrush.analysis.points import Analysis, PointSummary, headline, say
from inrush.analysis.ran import ran_said
from inrush.analysis.rejected import by_table, reject_lines
from inrush.analysis.sentence import other_conditions
from inrush.analysis.title import title_of
from inrush.analysis.verdicts import WITH_NOTES, Outcome, Verdict, by_guard
from inrush.analysis.wording import shown_runs
from inrush.guards.run import conditions_last
from inrush.report.answer_table import answer_lines, document
from inrush.report.first_sentence import first_sentence
from inrush.report.overview import markdown, text_table
from inrush.report.point_lines import point_lines
from inrush.report.run_list import status, wanted_runs
from inrush.stats.quantity import says_nothing, show_interval
from inrush.text import counted

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
    now = status_now(results)
    lines = [
        *crossed_lines(analysis),
        title_of(study),
        f"{study['id']} · {now} · {len(results.runs)} of {wanted_runs(study)} runs sealed"
        f" · {standing(analysis)}",
        *([f"it was killed: `inrush run --resume {study['id']}` continues it"] if now == "killed" else []),
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
    others = [f"answer: {said}" for said in other_conditions(analysis, found, seen)]
    for more in (doubts, others, answer_lines(analysis, found)):
        lines += ["", *more] if more else []
    return lines


def status_now(results: Results) -> str:
    """As study.json has it; whether one that runs still does, its lock says."""
    from inrush.results.store import StudyFolder

    found = str(results.study.get("status", ""))
    return status(StudyFolder(results.path)) if found == "running" else found


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


def crossed_lines(analysis: Analysis) -> list[str]:
    """Limits of `[accept]` that were crossed: before everything else, whatever is invalid beside them."""
    return [f"limit crossed: {sentence}" for sentence in crossed(analysis)]


def standing(analysis: Analysis) -> str:
    """`valid` is said of figures: a pilot has none."""
    if not analysis.valid:
        figures = analysis.undecided(v for _, v in analysis.invalidating)
        return f"INVALID ({figures})" if figures else "INVALID"
    if not any(m.counts or m.run.confirms for m in analysis.runs):
        return "nothing measured yet"
    return WITH_NOTES if analysis.outcome is Outcome.NOTE else "valid"


def summed_up(s: PointSummary) -> str:
    """The figure of a point with its interval; without one its centre and range, `failed` where it failed in a run."""
    if s.interval is not None and not says_nothing(s.interval):
        return show_interval(s.interval, s.figure)
    return shown_runs(dict(zip(s.blocks, s.values, strict=True)), s.figure, s.lacks)


def doubt_lines(analysis: Analysis) -> list[str]:
    """A line for every guard that did not pass everywhere, worst first: what it says of one run, and of how many."""
    lines = []
    held = by_guard(analysis.verdicts)
    for guard in conditions_last(held):
        found = held[guard]
        doubts = [(run, v) for run, v in found if v.outcome in (Outcome.NOTE, Outcome.INVALID)]
        if doubts:
            run, worst_one = doubts[0]
            spread = f"{len(doubts)} of {len(found)} runs, {'the worst ' * (len(doubts) > 1)}{run}"
            where = f" ({spread if len(found) > 1 else run})" if run else ""
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
                    {
                        "value": s.interval.value,
                        **(
                            {}
                            if says_nothing(s.interval)
                            else {"low": s.interval.low, "high": s.interval.high}
                        ),
                    }
                    if s.interval
                    else {}
                ),
            }
    found = answer(analysis)
    return {
        "study": analysis.study.get("id"),
        "valid": analysis.valid,
        "answer": document(analysis, found, first_sentence(analysis, found)),
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
