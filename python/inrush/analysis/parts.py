"""What is decided of one group of points, for each kind of question: every value that was tried, and what it came to. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from inrush.analysis.deciding import tried, undecided_by
from inrush.analysis.points import Analysis, Measured, Point
from inrush.analysis.settled import Values, at_edge, best_of_each, like_the_best, ranked, run_once, settled
from inrush.analysis.verdicts import worst_said
from inrush.analysis.wording import (
    TOO_FEW,
    ends,
    few,
    in_each,
    lie_apart,
    ordered,
    own_interval,
    plain,
    ratio_of,
    runs_needed,
    say_bytes,
)
from inrush.metrics import lower_is_better
from inrush.stats import shape, stats
from inrush.stats.levels import Levels, levels_off
from inrush.stats.quantity import says_nothing, show
from inrush.stats.trials import Trial, Tried, standing
from inrush.text import percent, signed_percent

#: Makespans of weak scaling do n times the work; a base within this factor of equal work is strong scaling.
WEAK_FROM = 1.5

# What is decided of a value. Held against the best one, or against the first of a curve:
BEST, ALIKE, FEW, APART = "best", "not distinguishable", TOO_FEW, "differs"
WORSE, REFUTED, ONCE = "worse", "worse in the fresh repeats", "one run of each"
# of a load that was due:
UP, LATE, BEHIND, OPEN = "keeps up", "late", "falls behind", "not decided"
# of a search:
STOOD = {Trial.HELD: "holds", Trial.FAILED: "does not hold", Trial.UNDECIDED: "undecided"}
HOLDS, FAILS, UNDECIDED = STOOD.values()
# and of a rate that levels off:
LEVEL = "from here on doubling gains little"


@dataclass(frozen=True)
class Try:
    """A value of `along`: what was measured there, and what is decided of it."""

    value: Any
    point: Point
    #: Block -> figure; `fresh`: of the repeats that were made after the choice.
    runs: Mapping[int, float]
    word: str = ""
    #: Against the best, how many times worse, by the fresh repeats where both have some; against the first of a curve, how many
    #: times as much; of scaling, the speed-up.
    ratio: stats.Interval | None = None
    #: How late they were, why nothing is decided.
    because: str = ""
    #: Runs that say so, of so many that count: of a load that was due and of a search.
    count: int | None = None
    counted: int | None = None
    fresh: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """The answer for one group (`per` of the study)."""

    group: Point
    #: In the order of their values; where they compete the best first. Empty where the part is invalid.
    tries: tuple[Try, ...]
    #: Of the figure that decides; None where there is too little to say.
    interval: stats.Interval | None = None
    #: Values of `along` that cannot be distinguished from the best, the best first; empty for other kinds.
    best: tuple[Any, ...] = ()
    #: What it speaks of.
    points: tuple[Point, ...] = ()
    #: Why the figures behind it are invalid, and where; empty where they stand.
    invalid: str = ""
    #: What a reader must know of its values: that the best lies at an edge, whether a curve is bent.
    note: str = ""
    levels: Levels | None = None

    def try_of(self, point: Point | None) -> Try | None:
        return next((t for t in self.tries if t.point == point), None)


def level_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """What one engine was measured to be, held against nothing."""
    interval = own_interval(figure, next(iter(of.values()))) if len(of) == 1 else None
    return Part(group, tuple(Try(dict(p).get(along), p, runs) for p, runs in of.items()), interval)


def best_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """The best value. Where fresh repeats were made they settle it, and say what it is: of many that are nearly equal,
    the one that looks best in the search was also lucky, and its own runs flatter it."""
    fresh = {p: v for p, v in analysis.fresh(figure).items() if p in of}
    found = settled(of, fresh, figure)
    best, together = found.best, found.together
    once = bool(together) and run_once([best, *together], of, fresh)

    def held(p: Point) -> Try:
        values = fresh if p in fresh and best in fresh else of
        word, because = WORSE, ""
        if p == best:
            word = BEST
        elif p in together:
            word, because = (ONCE, "") if once else undecided(values[p], values[best])
        elif p in found.settled:
            word, because = REFUTED, "the best of the search" if p == found.looked_best else ""
        ratio = worse_by(figure, values[p], values[best]) if p != best else None
        return Try(dict(p).get(along), p, of[p], word, ratio, because, fresh=fresh.get(p, {}))

    order = [best, *(p for p, _ in ranked(of, figure) if p != best)]
    values = dict.fromkeys(dict(p).get(along) for p in (best, *together))
    return Part(
        group,
        tuple(map(held, order)),
        own_interval(figure, fresh.get(best, of[best])),
        tuple(values),
        note=at_edge(analysis, figure, along, group, best, of),
    )


def undecided(a: Mapping[int, float], b: Mapping[int, float]) -> tuple[str, str]:
    """What is known of two points that no test distinguishes."""
    if not few(a, b):
        return ALIKE, ""
    return (APART, in_each(a)) if lie_apart(a, b) else (FEW, runs_needed(a))


def worse_by(figure: str, other: Mapping[int, float], best: Mapping[int, float]) -> stats.Interval | None:
    """How many times worse the other is, paired by block; None where that is not known."""
    return ratio_of(other, best) if lower_is_better(figure) else ratio_of(best, other)


def comparison_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """Each value of `along` against the best, paired by block; what varies besides competes, and each has its best of it."""
    points = best_of_each(of, along, figure)
    best, *others = points.values()
    alike = like_the_best({p: of[p] for p in points.values()}, figure)
    once = run_once(list(points.values()), of)
    tries = [Try(next(iter(points)), best, of[best], BEST)]
    for value, p in list(points.items())[1:]:
        ratio = worse_by(figure, of[p], of[best])
        word, because = ONCE if once else WORSE, ""
        if ratio is not None and p in alike:
            word, because = undecided(of[p], of[best])
        tries.append(Try(value, p, of[p], word, ratio, because))
    together = [t.value for t in tries if t.word in (BEST, ALIKE, FEW, APART)]
    first = tries[1].ratio if others else None
    return Part(group, tuple(tries), first or own_interval(figure, of[best]), tuple(together))


def along_values(of: Values, along: str) -> dict[Any, Point]:
    found = {dict(p)[along]: p for p in of if along in dict(p)}
    return {value: found[value] for value in ordered(found)}


def curve_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """Each value of `along` over the first, paired by block."""
    points = along_values(of, along)
    first, last = ends(points)
    tries = [Try(first, points[first], of[points[first]])]
    for value, p in list(points.items())[1:]:
        ratio = ratio_of(of[p], of[points[first]])
        alike = ratio is not None and ratio.holds(1.0)
        word, because = undecided(of[p], of[points[first]]) if alike else ("", "")
        tries.append(Try(value, p, of[p], word, ratio, because))
    note = shape_of(figure, {value: of[p] for value, p in points.items()})
    return Part(group, tuple(tries), tries[-1].ratio or own_interval(figure, of[points[last]]), note=note)


def shape_of(figure: str, by_value: Mapping[Any, Mapping[int, float]]) -> str:
    """Whether time grows in a line, in a bend or in steps; nothing for other figures or too few volumes."""
    numbers = all(isinstance(v, int | float) for v in by_value)
    if not numbers or not figure.endswith("makespan_s"):
        return ""
    found = shape.steps({v: list(of.values()) for v, of in by_value.items()})
    return f"{found.word} (a straight line: p = {found.p:.2g})" if found else ""


def spread(found: Mapping[Point, Values]) -> str:
    """Which engine varies more from run to run; empty of one engine."""
    points: dict[str, list[list[float]]] = {}
    for of in found.values():
        for point, values in of.items():
            if all(isfinite(v) for v in values.values()):
                points.setdefault(str(dict(point)["engine"]), []).append(list(values.values()))
    spreads = shape.spreads(points) if len(points) > 1 else None
    if spreads is None:
        return ""
    each = ", ".join(f"{engine} {percent(sd, 1)}" for engine, sd in spreads.sd.items())
    word = "differs" if spreads.differ else "cannot be distinguished"
    return f"Spread from run to run {word} (p = {spreads.p:.2g}): {each}"


def scaling_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """Speed-up and efficiency from the smallest value of `along` to each other one."""
    points = along_values(of, along)
    first, _ = ends(points)
    base = of[points[first]]
    weak = lower_is_better(figure) and work_grows(analysis, figure, along, of)
    tries = [Try(first, points[first], base)]
    for value, p in list(points.items())[1:]:
        n = float(value) / float(first) if first else 1.0
        ratio = ratio_of(base, of[p]) if lower_is_better(figure) else ratio_of(of[p], base)
        word, because = (
            (FEW, "") if ratio is None else ("", efficiency(ratio if weak else ratio.scaled(1 / n)))
        )
        if weak and ratio is not None:
            word = f"{n:g} times the work takes {1 / ratio.value:.2f} times as long"
        tries.append(Try(value, p, of[p], word, ratio, because))
    return Part(group, tuple(tries), tries[-1].ratio)


def efficiency(kept: stats.Interval) -> str:
    bounds = "" if says_nothing(kept) else f" [{percent(kept.low)}, {percent(kept.high)}]"
    return f"efficiency {percent(kept.value)}{bounds}"


def work_grows(analysis: Analysis, figure: str, along: str, of: Values) -> bool:
    """Whether larger values of `along` do more rows a repetition (weak scaling)."""
    role = figure.rsplit(".", 1)[0]
    rows: dict[Any, float] = {}
    for m in analysis.runs:
        if m.point in of and m.figures.get(f"{role}.repetitions"):
            rows[dict(m.point)[along]] = m.figures[f"{role}.rows"] / m.figures[f"{role}.repetitions"]
    if len(rows) < 2 or not rows[min(rows)]:
        return False
    return rows[max(rows)] / rows[min(rows)] > WEAK_FROM


def keeps_up_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """Which values of `along` kept up: every sample of every run stored before the next was due.

    A late sample is not yet a writer that falls behind: where everything was stored and the last samples were in time
    again, it is said how many were late, and by how much.
    """
    points = {dict(p).get(along): p for p in of}
    tries = []
    for value in ordered(points):
        at = [m for m in analysis.runs if m.counts and m.point == points[value]]
        late = [m for m in at if is_late(m, figure)]
        behind = sum(not caught_up(m, figure) for m in late)
        if broken := [m for m in at if m.broken(figure)]:
            why = undecided_by(late, figure) or worst_said(v for m in broken for v in m.broken(figure))
            word, because, count = OPEN, why, len(broken)
        elif not late:
            word, because, count = UP, "", len(at)
        elif behind:
            word, because, count = BEHIND, "", behind
        else:
            word, because, count = LATE, late_words(late, figure), len(late)
        tries.append(Try(value, points[value], of[points[value]], word, None, because, count, len(at)))
    return Part(group, tuple(tries), best=tuple(t.value for t in tries if t.word == UP))


def is_late(m: Measured, figure: str) -> bool:
    return m.figures.get(figure, 1.0) < 1


def caught_up(m: Measured, figure: str) -> bool:
    """Whether a run left no backlog; of one that does not say, it did."""
    return m.figures.get(f"{role_of(figure)}.caught_up") == 1.0


def late_words(runs: Sequence[Measured], figure: str) -> str:
    """`late in 1 of 2,400 samples, the slowest 1.22 s`, of all samples of these runs."""
    role = role_of(figure)
    samples = [m.figures[f"{role}.samples"] for m in runs]
    late = sum(round(n * (1 - m.figures[figure])) for n, m in zip(samples, runs, strict=True))
    slowest = f"{role}.sample_s"
    # A guard that takes the time of a run's slowest sample away leaves none to say: any run may hold the slowest of all.
    worst = (
        "is INVALID"
        if any(m.broken(slowest) for m in runs)
        else show(max(m.figures[slowest] for m in runs), slowest)
    )
    return f"late in {late:,} of {sum(samples):,.0f} samples, the slowest {worst}"


def role_of(figure: str) -> str:
    return figure.rsplit(".", 1)[0]


#: Figure of roles with events: whether they keep up with what is due.
KEEPS_UP = ".keeps_up"


def sustained_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """The highest value that held in every counted run, below the first that did not; each value with its runs."""
    runs = tries(analysis, figure, along, of)
    points = {dict(p)[along]: p for p in of if along in dict(p)}
    stood = {value: standing(runs[value]) for value in sorted(runs)}
    each = []
    for value, trial in stood.items():
        held = sum(run.trial is Trial.HELD for run in runs[value])
        why = next((run.because for run in runs[value] if run.because), "")
        because = why if trial is Trial.UNDECIDED else ""
        word = "" if trial is None else STOOD[trial]
        each.append(Try(value, points[value], of[points[value]], word, None, because, held, len(runs[value])))
    failed = next((t.value for t in each if t.word == FAILS), None)
    best = [t.value for t in each if t.word == HOLDS and (failed is None or t.value < failed)][-1:]
    note = "nothing higher was tried" if failed is None else ""
    if best and failed is not None and figure.endswith(KEEPS_UP):
        after = plain(min(v for v in candidates(analysis, along) if v > best[0]))
        note = (
            f"the knee lies between {plain(best[0])} and {plain(failed)}, and a search that reports the step after the last that "
            f"held would say {after}"
        )
    return Part(group, tuple(each), best=tuple(best), note=note)


def candidates(analysis: Analysis, along: str) -> list[Any]:
    """Values of a factor that the study names, whether they ran or not, ascending."""
    named = {a.point[along] for a in analysis.record.absent if along in a.point}
    return sorted(named | {dict(m.point)[along] for m in analysis.runs if along in dict(m.point)})


def tries(analysis: Analysis, figure: str, along: str, of: Collection[Point]) -> dict[Any, list[Tried]]:
    """Value of `along` -> whether each counted run at it held."""
    at_least = float((analysis.study.get("search") or {}).get("at_least", 1.0))
    runs: dict[Any, list[Tried]] = {dict(p)[along]: [] for p in of if along in dict(p)}
    for m, on_time in zip(analysis.runs, analysis.on_time.runs, strict=True):
        if m.counts and m.point in of and along in dict(m.point):
            runs[dict(m.point)[along]].append(tried(m, on_time, figure, at_least))
    return runs


def levels_off_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """The smallest value from which doubling gains little, and what each step to the next value gains."""
    points = along_values(of, along)
    found = levels_off({value: of[p] for value, p in points.items()})
    gains = {
        s.small: f"{signed_percent(s.gain)} a doubling to {say_bytes(along, s.large)}, at most {signed_percent(s.at_most)}"
        for s in found.steps
    }
    tries = tuple(
        Try(value, p, of[p], LEVEL if value == found.chosen else "", None, gains.get(value, ""))
        for value, p in points.items()
    )
    chosen = found.chosen
    interval = own_interval(figure, of[points[chosen]]) if chosen is not None else None
    return Part(group, tries, interval, () if chosen is None else (chosen,), levels=found)
