"""The parts of an answer, a kind of question each: a sentence for one group of points, and what stands behind it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from inrush.analysis.deciding import tried, undecided_by
from inrush.analysis.points import Analysis, Measured, Point, say, say_value
from inrush.analysis.settled import Values, at_edge, beside, best_of_each, like_the_best, run_once, settled
from inrush.analysis.verdicts import worst_said
from inrush.analysis.wording import (
    change_said,
    ends,
    few,
    head,
    interval_of,
    name,
    ordered,
    plain,
    ratio_of,
    say_bytes,
    shown,
    times,
    together_said,
)
from inrush.metrics import lower_is_better
from inrush.stats import shape, stats
from inrush.stats.levels import CONFIDENCE, LEAST_GAIN, levels_off
from inrush.stats.quantity import says_nothing, show
from inrush.stats.trials import Trial, Tried, standing
from inrush.text import percent, signed_percent

#: Makespans of weak scaling do n times the work; a base within this factor of equal work is strong scaling.
WEAK_FROM = 1.5


@dataclass(frozen=True)
class Part:
    """The answer for one group (`per` of the study): a sentence and what stands behind it."""

    group: Point
    sentence: str
    #: The interval that the sentence names; None where there is too little to say.
    interval: stats.Interval | None
    #: Values of `along` that cannot be distinguished from the best, the best first; empty for other kinds.
    best: tuple[Any, ...] = ()
    #: What it speaks of.
    points: tuple[Point, ...] = ()
    #: Why the figures behind it are invalid, and where; empty where they stand. The sentence then states none of them.
    invalid: str = ""

    @property
    def said(self) -> str:
        return f"INVALID: {self.sentence}" if self.invalid else self.sentence


def level_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """What one engine was measured to be, held against nothing."""
    if len(of) == 1:
        (values,) = of.values()
        return Part(
            group,
            f"{head(analysis, group)}{name(figure)} is {shown(analysis, values, figure)}",
            interval_of(values),
        )
    each = "; ".join(f"{shown(analysis, values, figure)} at {say(point)}" for point, values in of.items())
    return Part(group, f"{head(analysis, group)}{name(figure)} is {each}", None)


def best_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """The best value. Where fresh repeats were made they settle it, and say what it is: of many that are nearly equal,
    the one that looks best in the search was also lucky, and its own runs flatter it."""
    fresh = {p: v for p, v in analysis.fresh(figure).items() if p in of}
    found = settled(of, fresh, figure)
    best = found.best

    def named(points: Sequence[Point]) -> str:
        each = {p: dict(p)[along] for p in points}
        if all(isinstance(v, int | float) for v in each.values()):
            points = sorted(points, key=lambda p: each[p])
        return ", ".join(dict.fromkeys(plain(each[p]) + beside(analysis, p, group, along) for p in points))

    link = ", " if beside(analysis, best, group, along) else " with "
    sentence = f"{head(analysis, group)}best {along} is {named([best])}{at_edge(analysis, figure, along, group, best, of)}{link}{name(figure)} "
    if best in fresh:
        n = len(fresh[best])
        sentence += f"{shown(analysis, fresh[best], figure)} in {n} fresh repeat{'s' * (n != 1)} ({shown(analysis, of[best], figure)} in the search)"
    else:
        sentence += shown(analysis, of[best], figure)
    if len(of) == 1:
        sentence += "; nothing else was measured"
    elif found.together and run_once([best, *found.together], of, fresh):
        sentence += (
            f"; one run of each: it is not known whether another value differs ({named(found.together)})"
        )
    elif found.together:
        sentence += f"; {together_said(of, fresh, best, found.together, figure, named)}"
    else:
        sentence += "; every other value is worse"
    worse = [p for p in found.settled if p != found.looked_best]
    if worse:
        each = ", ".join(f"{named([p])} with {shown(analysis, fresh[p], figure)}" for p in worse)
        sentence += f"; shown worse by the fresh repeats alone: {each}"
    if found.looked_best != best:
        sentence += (
            f". Not confirmed: the best of the search, {named([found.looked_best])}, has "
            f"{shown(analysis, fresh[found.looked_best], figure)} in the fresh repeats"
        )
    values = dict.fromkeys(dict(p)[along] for p in (best, *found.together))
    return Part(group, sentence, interval_of(fresh.get(best, of[best])), tuple(values))


def curve_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """From the first to the last value of `along`, as a paired ratio."""
    by_value = {dict(p)[along]: v for p, v in of.items() if along in dict(p)}
    first, last = ends(by_value)
    if first == last:
        return Part(group, f"{head(analysis, group)}{name(figure)} is {shown(analysis, by_value[first], figure)} at {say_value(along, first)}",
                    interval_of(by_value[first]))  # fmt: skip
    ratio = ratio_of(by_value[last], by_value[first])
    sentence = (
        f"{head(analysis, group)}{name(figure)} goes from {shown(analysis, by_value[first], figure)} at {say_value(along, first)} "
        f"to {shown(analysis, by_value[last], figure)} at {plain(last)}"
    )
    if ratio is not None:
        sentence += f": {times(ratio)}" + (
            "" if not ratio.holds(1.0) else f", {change_said(by_value[last], by_value[first])}"
        )
    sentence += shape_of(figure, by_value)
    return Part(group, sentence, ratio or interval_of(by_value[last]))


def shape_of(figure: str, by_value: Mapping[Any, Mapping[int, float]]) -> str:
    """Whether time grows in a line, in a bend or in steps; nothing for other figures or too few volumes."""
    numbers = all(isinstance(v, int | float) for v in by_value)
    if not numbers or not figure.endswith("makespan_s"):
        return ""
    found = shape.steps({v: list(of.values()) for v, of in by_value.items()})
    return f"; {found.word} (a straight line: p = {found.p:.2g})" if found else ""


def spread_part(found: Mapping[Point, Values], figure: str) -> list[Part]:
    """Which engine varies more from run to run, where several were measured."""
    points: dict[str, list[list[float]]] = {}
    for of in found.values():
        for point, values in of.items():
            if all(isfinite(v) for v in values.values()):
                points.setdefault(str(dict(point)["engine"]), []).append(list(values.values()))
    spread = shape.spreads(points) if len(points) > 1 else None
    if spread is None:
        return []
    each = ", ".join(f"{engine} {percent(sd, 1)}" for engine, sd in spread.sd.items())
    word = "differs" if spread.differ else "cannot be distinguished"
    said = f"Spread from run to run {word} (p = {spread.p:.2g}): {each}"
    return [Part((), said, None, points=tuple(p for of in found.values() for p in of))]


def scaling_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """Speed-up and efficiency from the smallest to the largest value of `along`."""
    by_value = {dict(p)[along]: v for p, v in of.items() if along in dict(p)}
    first, last = ends(by_value)
    n = float(last) / float(first) if first else 1.0
    ratio = (
        ratio_of(by_value[first], by_value[last])
        if lower_is_better(figure)
        else ratio_of(by_value[last], by_value[first])
    )
    if first == last or ratio is None:
        return Part(group, f"{head(analysis, group)}{name(figure)} is {shown(analysis, by_value[last], figure)} at {say_value(along, last)}; "
                    "too few runs for a speed-up", None)  # fmt: skip
    weak = lower_is_better(figure) and work_grows(analysis, figure, along, of)
    kept = ratio if weak else ratio.scaled(1 / n)
    sentence = (
        f"{head(analysis, group)}{along} {plain(first)} to {plain(last)}: "
        + (
            f"{n:g} times the work takes {1 / ratio.value:.2f} times as long"
            if weak
            else f"speed-up {times(ratio)}"
        )
        + f", efficiency {percent(kept.value)}"
        + ("" if says_nothing(kept) else f" [{percent(kept.low)}, {percent(kept.high)}]")
    )
    return Part(group, sentence, ratio)


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


def comparison_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """Each value of `along` against the best, paired by block; what varies besides competes, and each has its best of it."""
    points = best_of_each(of, along, figure)
    by_value = {value: of[point] for value, point in points.items()}
    best, *others = points

    def named(value: Any) -> str:
        return plain(value) + beside(analysis, points[value], group, along)

    sentence = f"{head(analysis, group)}{named(best)} has the {'lowest' if lower_is_better(figure) else 'highest'} {name(figure)}, {shown(analysis, by_value[best], figure)}"
    interval = interval_of(by_value[best])
    ratios = {k: r for k in others if (r := ratio_of(by_value[k], by_value[best])) is not None}
    alike = like_the_best({p: of[p] for p in points.values()}, figure)
    together = [k for k in ratios if points[k] in alike]

    def against_best(value: Any) -> str:
        if value not in together:
            return f"{named(value)} {times(ratios[value])}"
        if not few(by_value[value], by_value[best]):
            return f"{named(value)} is not distinguishable"
        return together_said(of, {}, points[best], [points[value]], figure, lambda _: named(value))

    for k in others[:3]:
        if k not in ratios:
            # Nothing is so many times a 0 or a failed percentile: its own figure says it.
            sentence += f"; {named(k)} {shown(analysis, by_value[k], figure)}"
            continue
        interval = ratios[k] if k == others[0] else interval
        sentence += f"; {against_best(k)}"
    if len(others) > 3:
        sentence += f"; and {len(others) - 3} more"
    return Part(group, sentence, interval, (best, *together))


def keeps_up_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """Which values of `along` kept up: every sample of every run stored before the next was due.

    A late sample is not yet a writer that falls behind: where everything was stored and the last samples were in time
    again, the answer says how many were late, and by how much.
    """
    points = {dict(p).get(along): p for p in of}
    kept: list[Any] = []
    up, late, down, open_ = [], [], [], []
    for value in ordered(points):
        runs = of[points[value]].values()
        at = [m for m in analysis.runs if m.counts and m.point == points[value]]
        missed = [m for m in at if is_late(m, figure)]
        behind = sum(not caught_up(m, figure) for m in missed)
        broken = [m for m in at if m.broken(figure)]
        kept += [] if missed or broken else [value]
        if broken:
            why = undecided_by(missed, figure) or worst_said(v for m in broken for v in m.broken(figure))
            open_.append(f"{plain(value)} is not decided: {why} (in {len(broken)} of {len(runs)} runs)")
        elif not missed:
            up.append(f"{plain(value)} (in {len(runs)} of {len(runs)} runs)")
        elif behind:
            down.append(f"{plain(value)} (in {behind} of {len(runs)} runs)")
        else:
            late.append(f"{plain(value)} {late_words(missed, figure)} (in {len(missed)} of {len(runs)} runs)")
    said = (
        ([f"keeps up at {along} {', '.join(up)}"] if up else [])
        + [f"at {along} {each}" for each in (*late, *open_)]
        + ([f"falls behind at {along} {', '.join(down)}"] if down else [])
    )
    if along == "engine":
        said = [text.replace(" at engine ", ": ").removeprefix("at engine ") for text in said]
    return Part(group, f"{head(analysis, group)}{'; '.join(said)}", None, tuple(kept))


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
    """The highest value that held in every counted run, what is undecided above it, and the lowest that did not hold."""
    runs = tries(analysis, figure, along, of)
    stood = {value: standing(runs[value]) for value in sorted(runs)}
    failed = next((value for value, trial in stood.items() if trial is Trial.FAILED), None)
    below = [value for value in stood if failed is None or value < failed]
    held = next((value for value in reversed(below) if stood[value] is Trial.HELD), None)

    def sentence(value: Any) -> str:
        n = sum(run.trial is Trial.HELD for run in runs[value])
        return f"{along} {plain(value)} ({n} of {len(runs[value])} runs held)"

    undecided = [v for v in below if stood[v] is Trial.UNDECIDED and (held is None or v > held)]
    above = "".join(
        f"; {sentence(v)} is undecided: {next(r.because for r in runs[v] if r.because)}" for v in undecided
    )
    above += f"; {sentence(failed)} does not hold" if failed is not None else "; nothing higher was tried"
    if figure.endswith(KEEPS_UP) and held is not None and failed is not None:
        above += (
            f"; the knee lies between {plain(held)} and {plain(failed)}, and a search that reports the step after the "
            f"last that held would say {plain(min(v for v in candidates(analysis, along) if v > held))}"
        )
    if held is None:
        nothing = "nothing that was tried holds"
        return Part(
            group, f"{head(analysis, group)}{nothing}{above if undecided or failed is not None else ''}", None
        )
    return Part(group, f"{head(analysis, group)}holds {sentence(held)}{above}", None, (held,))


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
    by_value = {dict(p)[along]: v for p, v in of.items() if along in dict(p)}
    found = levels_off(by_value)
    rule = f"doubling gains less than {percent(LEAST_GAIN)} ({percent(CONFIDENCE)} confidence)"
    if found.chosen is None:
        largest = ends(by_value)[1]
        sentence = f"no {along} up to {say_bytes(along, largest)} from which {rule}"
    else:
        sentence = f"from {along} {say_bytes(along, found.chosen)} on {rule}, at {shown(analysis, by_value[found.chosen], figure)}"
    steps = "; ".join(
        f"{say_bytes(along, s.small)} to {say_bytes(along, s.large)} {signed_percent(s.gain)} a doubling, at most {signed_percent(s.at_most)}"
        for s in found.steps
    )
    interval = interval_of(by_value[found.chosen]) if found.chosen is not None else None
    best = () if found.chosen is None else (found.chosen,)
    return Part(group, f"{head(analysis, group)}{sentence}" + (f". {steps}" if steps else ""), interval, best)
