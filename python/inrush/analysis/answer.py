"""The answer to a study's question, with its interval; decided from the points alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from statistics import median
from typing import Any

from inrush.analysis.comparability import default_along, refused
from inrush.analysis.deciding import tried
from inrush.analysis.moved import moved_sentence
from inrush.analysis.points import Analysis, Point, lower_is_better, say, say_value
from inrush.analysis.settled import Values, apart, beside, ranked, settled
from inrush.analysis.study_guards import headline
from inrush.stats import shape, stats
from inrush.stats.levels import CONFIDENCE, LEAST_GAIN, levels_off
from inrush.stats.quantity import show, show_interval
from inrush.stats.trials import Trial, Tried, standing

#: Makespans of weak scaling do n times the work; a base within this factor of equal work is strong scaling.
WEAK_FROM = 1.5
#: The best and its nearest contenders, that are made again with fresh rows.
MOST_CONFIRMED = 3
#: Kinds in which points of one group compete; in the others every point of a group has a value of its own.
COMPETING = ("best", "comparison")
#: Groups that the terminal's line names one by one.
PARTS_IN_LINE = 2


@dataclass(frozen=True)
class Part:
    """The answer for one group (`per` of the study): a sentence and what stands behind it."""

    group: Point
    sentence: str
    #: The interval that the sentence names; None where there is too little to say.
    interval: stats.Interval | None
    #: Values of `along` that cannot be told from the best; empty for other kinds.
    best: tuple[Any, ...] = ()
    #: What it speaks of.
    points: tuple[Point, ...] = ()
    #: Why the figures behind it are invalid, and where; empty where they stand.
    invalid: str = ""

    @property
    def said(self) -> str:
        return f"INVALID: {self.sentence}" if self.invalid else self.sentence


@dataclass(frozen=True)
class Answer:
    kind: str
    figure: str
    along: str | None
    parts: Sequence[Part]

    @property
    def line(self) -> str:
        """Every part where they fit a line that people read, else the first and how many more there are."""
        if not self.parts:
            return "No answer: no counted run measured it"
        if len(self.parts) <= PARTS_IN_LINE:
            return " · ".join(p.said for p in self.parts)
        return f"{self.parts[0].said} (and {len(self.parts) - 1} more in the report)"


def answer(analysis: Analysis) -> Answer | None:
    """What was decided, and which parts of it are invalid; None when nothing was asked and nothing measured."""
    found = decided(analysis)
    if found is None:
        return None
    return replace(found, parts=[judged(analysis, found.figure, part) for part in found.parts])


def decided(analysis: Analysis) -> Answer | None:
    """The answer by its figures alone, whatever the guards say of them."""
    figure = headline(analysis)
    if figure is None:
        return None
    asked: Mapping[str, Any] = analysis.study.get("answer") or {}
    along = asked.get("along") or default_along(analysis.factors)
    kind = str(asked.get("kind") or ("curve" if along else "comparison"))
    if along is None:
        along, kind = "engine", "comparison"
    per = tuple(asked.get("per") or ())
    decide = {
        "best": best_part,
        "curve": curve_part,
        "scaling": scaling_part,
        "comparison": comparison_part,
        "keeps_up": keeps_up_part,
        "sustained": sustained_part,
        "levels_off": levels_off_part,
    }[kind]
    found = groups(analysis, figure, along, per)
    if kind not in COMPETING:
        found = apart(analysis, found, along)
    trend = moved_sentence(analysis, figure)
    moved = [Part((), trend, None)] if trend else []
    why = refused(analysis)
    if why is None or not any(len(engines_of(of)) > 1 for of in found.values()):
        parts = [
            replace(decide(analysis, figure, along, group, of), points=tuple(of))
            for group, of in found.items()
        ]
        parts += spread_part(found, figure) if kind == "curve" else []
        return Answer(kind, figure, along, [*parts, *moved])
    parts = [
        Part(
            (), f"No engine is held against another: acknowledged rows survive different things ({why})", None
        )
    ]
    for group, of in each_engine(found).items():
        part = level_part if along == "engine" else decide
        parts.append(replace(part(analysis, figure, along, group, of), points=tuple(of)))
    return Answer(kind, figure, along, [*parts, *moved])


def judged(analysis: Analysis, figure: str, part: Part) -> Part:
    """The part, with what makes its figure invalid at the points that it speaks of: other parts stand."""
    where = analysis.broken_points(figure, part.points)
    if not where:
        return part
    _, verdict = analysis.broken(figure, where[0])[0]
    spread = f"at {say(where[0])}" + (
        f" and {len(where) - 1} more of {len(part.points)} points" if len(where) > 1 else ""
    )
    return replace(part, invalid=f"{name(figure)} {spread}: {verdict.guard}: {verdict.sentence}")


def contenders(analysis: Analysis) -> list[Point]:
    """What fresh repeats confirm: of every group its best point, and the nearest that cannot be told from it."""
    asked: Mapping[str, Any] = analysis.study.get("answer") or {}
    figure, along = headline(analysis), asked.get("along")
    if figure is None or along is None or asked.get("kind") != "best":
        return []
    found = groups(analysis, figure, along, tuple(asked.get("per") or ()))
    if refused(analysis) is not None:
        found = each_engine(found)
    return [
        point
        for of in found.values()
        for point in [p for p, in_set in ranked(of, figure) if in_set][:MOST_CONFIRMED]
    ]


def groups(analysis: Analysis, figure: str, along: str, per: Sequence[str]) -> dict[Point, Values]:
    """Group -> its points. Without `per` everything that varies but `along` makes a group, so that a group
    has one point for each value of `along`; with it, what is in neither competes."""
    names = [n for n in per or analysis.factors if n != along]
    found: dict[Point, Values] = {}
    for point, of in analysis.values(figure).items():
        held = dict(point)
        group = tuple((n, held[n]) for n in names if n in held)
        found.setdefault(group, {})[point] = {
            b: v for b, v in of.items() if v > 0 or figure.endswith("in_time_share")
        }
    return {g: {p: of for p, of in v.items() if of} for g, v in found.items() if any(v.values())}


def each_engine(found: Mapping[Point, Values]) -> dict[Point, Values]:
    """The groups again, with one engine in each."""
    return {
        (("engine", engine), *(kv for kv in group if kv[0] != "engine")): {
            p: v for p, v in of.items() if dict(p)["engine"] == engine
        }
        for group, of in found.items()
        for engine in engines_of(of)
    }


def engines_of(of: Values) -> list[Any]:
    return list(dict.fromkeys(dict(p)["engine"] for p in of))


def level_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """What one engine was measured to be, held against nothing."""
    if len(of) == 1:
        (values,) = of.values()
        return Part(
            group, f"{head(analysis, group)}{name(figure)} is {shown(values, figure)}", interval_of(values)
        )
    each = "; ".join(f"{shown(values, figure)} at {say(point)}" for point, values in of.items())
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
    told = f"{head(analysis, group)}best {along} is {named([best])}{link}{name(figure)} "
    if best in fresh:
        n = len(fresh[best])
        told += f"{shown(fresh[best], figure)} in {n} fresh repeat{'s' * (n != 1)} ({shown(of[best], figure)} in the search)"
    else:
        told += shown(of[best], figure)
    if len(of) == 1:
        told += "; nothing else was measured"
    elif found.together:
        told += f"; not distinguishable from it: {named(found.together)}"
    else:
        told += "; every other value is worse"
    worse = [p for p in found.settled if p != found.looked_best]
    if worse:
        each = ", ".join(f"{named([p])} with {shown(fresh[p], figure)}" for p in worse)
        told += f"; shown worse by the fresh repeats alone: {each}"
    if found.looked_best != best:
        told += (
            f". Not confirmed: the best of the search, {named([found.looked_best])}, has "
            f"{shown(fresh[found.looked_best], figure)} in the fresh repeats"
        )
    values = dict.fromkeys(dict(p)[along] for p in (best, *found.together))
    return Part(group, told, interval_of(fresh.get(best, of[best])), tuple(values))


def curve_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """From the first to the last value of `along`, as a paired ratio."""
    by_value = {dict(p)[along]: v for p, v in of.items() if along in dict(p)}
    first, last = ends(by_value)
    if first == last:
        return Part(group, f"{head(analysis, group)}{name(figure)} is {shown(by_value[first], figure)} at {say_value(along, first)}",
                    interval_of(by_value[first]))  # fmt: skip
    ratio = ratio_of(by_value[last], by_value[first])
    told = (
        f"{head(analysis, group)}{name(figure)} goes from {shown(by_value[first], figure)} at {say_value(along, first)} "
        f"to {shown(by_value[last], figure)} at {plain(last)}"
    )
    if ratio is not None:
        told += f": {times(ratio)}" + ("" if not ratio.holds(1.0) else ", not distinguishable from no change")
    told += shape_of(figure, by_value)
    return Part(group, told, ratio or interval_of(by_value[last]))


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
    each = ", ".join(f"{engine} {sd:.1%}" for engine, sd in spread.sd.items())
    word = "differs" if spread.differ else "cannot be told apart"
    return [Part((), f"Spread from run to run {word} (p = {spread.p:.2g}): {each}", None)]


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
        return Part(group, f"{head(analysis, group)}{name(figure)} is {shown(by_value[last], figure)} at {say_value(along, last)}; "
                    "too few runs for a speed-up", None)  # fmt: skip
    weak = lower_is_better(figure) and work_grows(analysis, figure, along, of)
    kept = ratio if weak else ratio.scaled(1 / n)
    told = (
        f"{head(analysis, group)}{along} {plain(first)} to {plain(last)}: "
        + (
            f"{n:g} times the work takes {1 / ratio.value:.2f} times as long"
            if weak
            else f"speed-up {times(ratio)}"
        )
        + f", efficiency {kept.value:.0%} [{kept.low:.0%}, {kept.high:.0%}]"
    )
    return Part(group, told, ratio)


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
    sign = 1 if lower_is_better(figure) else -1
    level = {p: sign * sum(v.values()) / len(v) for p, v in of.items()}
    points: dict[Any, Point] = {}
    for point in sorted(of, key=lambda p: level[p]):
        points.setdefault(dict(point).get(along), point)
    by_value = {value: of[point] for value, point in points.items()}
    means = {value: level[point] for value, point in points.items()}
    best, *others = sorted(means, key=lambda k: means[k])

    def named(value: Any) -> str:
        return plain(value) + beside(analysis, points[value], group, along)

    told = f"{head(analysis, group)}{named(best)} has the {'lowest' if sign > 0 else 'highest'} {name(figure)}, {shown(by_value[best], figure)}"
    interval = interval_of(by_value[best])
    for k in others[:3]:
        ratio = ratio_of(by_value[k], by_value[best])
        if ratio is None:
            continue
        interval = ratio if k == others[0] else interval
        told += f"; {named(k)} {'is not distinguishable' if ratio.holds(1.0) else times(ratio)}"
    return Part(group, told, interval, (best,))


def keeps_up_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """Which values of `along` kept up: every sample of every run stored before the next was due."""
    by_value = {dict(p).get(along): v for p, v in of.items()}
    told, kept = [], []
    for value in ordered(by_value):
        runs = by_value[value].values()
        held = sum(v >= 1 for v in runs)
        kept += [value] if held == len(runs) else []
        told.append((plain(value), held, len(runs)))
    up = [value for value, held, n in told if held == n]
    down = [f"{value} (in {n - held} of {n} runs)" for value, held, n in told if held < n]
    said = ([f"keeps up at {along} {', '.join(up)}"] if up else []) + (
        [f"falls behind at {along} {', '.join(down)}"] if down else []
    )
    if along == "engine":
        said = [text.replace(" at engine ", ": ") for text in said]
    return Part(group, f"{head(analysis, group)}{'; '.join(said)}", None, tuple(kept))


def sustained_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """The highest value that held in every counted run, what is undecided above it, and the lowest that did not hold."""
    at_least = float((analysis.study.get("search") or {}).get("at_least", 1.0))
    runs: dict[Any, list[Tried]] = {dict(p)[along]: [] for p in of if along in dict(p)}
    for m, on_time in zip(analysis.runs, analysis.on_time.runs, strict=True):
        if m.counts and m.point in of and along in dict(m.point):
            runs[dict(m.point)[along]].append(tried(m, on_time, figure, at_least))
    stood = {value: standing(runs[value]) for value in sorted(runs)}
    failed = next((value for value, trial in stood.items() if trial is Trial.FAILED), None)
    below = [value for value in stood if failed is None or value < failed]
    held = next((value for value in reversed(below) if stood[value] is Trial.HELD), None)

    def told(value: Any) -> str:
        n = sum(run.trial is Trial.HELD for run in runs[value])
        return f"{along} {plain(value)} ({n} of {len(runs[value])} runs held)"

    undecided = [v for v in below if stood[v] is Trial.UNDECIDED and (held is None or v > held)]
    above = "".join(
        f"; {told(v)} is undecided: {next(r.because for r in runs[v] if r.because)}" for v in undecided
    )
    above += f"; {told(failed)} does not hold" if failed is not None else "; nothing higher was tried"
    if held is None:
        nothing = "nothing that was tried holds"
        return Part(
            group, f"{head(analysis, group)}{nothing}{above if undecided or failed is not None else ''}", None
        )
    return Part(group, f"{head(analysis, group)}holds {told(held)}{above}", None, (held,))


def levels_off_part(analysis: Analysis, figure: str, along: str, group: Point, of: Values) -> Part:
    """The smallest value from which doubling gains little, and what each step to the next value gains."""
    by_value = {dict(p)[along]: v for p, v in of.items() if along in dict(p)}
    found = levels_off(by_value)
    rule = f"doubling gains less than {LEAST_GAIN:.0%} ({CONFIDENCE:.0%} confidence)"
    if found.chosen is None:
        largest = ends(by_value)[1]
        told = f"no {along} up to {say_bytes(along, largest)} from which {rule}"
    else:
        told = f"from {along} {say_bytes(along, found.chosen)} on {rule}, at {shown(by_value[found.chosen], figure)}"
    steps = "; ".join(
        f"{say_bytes(along, s.small)} to {say_bytes(along, s.large)} {s.gain:+.0%} a doubling, at most {s.at_most:+.0%}"
        for s in found.steps
    )
    interval = interval_of(by_value[found.chosen]) if found.chosen is not None else None
    best = () if found.chosen is None else (found.chosen,)
    return Part(group, f"{head(analysis, group)}{told}" + (f". {steps}" if steps else ""), interval, best)


def say_bytes(along: str, value: Any) -> str:
    return show(float(value), "x.bytes") if along.endswith("_bytes") else plain(value)


def ends(by_value: Mapping[Any, Any]) -> tuple[Any, Any]:
    found = ordered(by_value)
    return found[0], found[-1]


def ordered(values: Any) -> list[Any]:
    found = list(values)
    return sorted(found) if all(isinstance(v, int | float) for v in found) else found


def ratio_of(a: Mapping[int, float], b: Mapping[int, float]) -> stats.Interval | None:
    """Paired by block; None for fewer than two shared blocks, and where a figure is 0: nothing is so many times that."""
    shared = sorted(set(a) & set(b))
    if len(shared) < 2 or not all(
        a[k] > 0 and b[k] > 0 and isfinite(a[k]) and isfinite(b[k]) for k in shared
    ):
        return None
    return stats.paired_ratio([a[k] for k in shared], [b[k] for k in shared])


def interval_of(of: Mapping[int, float]) -> stats.Interval | None:
    """None for one run, and where a run's figure is 0 (a share of samples in time) or failed: a geometric mean has no place
    for either."""
    whole = len(of) > 1 and all(v > 0 and isfinite(v) for v in of.values())
    return stats.log_t(list(of.values())) if whole else None


def shown(of: Mapping[int, float], figure: str) -> str:
    interval = interval_of(of)
    if interval is not None:
        return show_interval(interval, figure)
    if len(of) == 1:
        return show(next(iter(of.values())), figure) + " (one run)"
    if failed := sum(not isfinite(v) for v in of.values()):
        return f"failed in {failed} of {len(of)} runs"
    low, high = show(min(of.values()), figure), show(max(of.values()), figure)
    return f"{show(median(of.values()), figure)} (median of {len(of)} runs, {low} to {high})"


def times(ratio: stats.Interval) -> str:
    value, low, high = (f"{v:.2f}" if v < 100 else f"{v:,.0f}" for v in (ratio.value, ratio.low, ratio.high))
    return f"{value}× [{low}, {high}]"


def head(analysis: Analysis, group: Point) -> str:
    """`duckdb, readers 1: ` – what varies and the engine; what every point shares is said elsewhere."""
    told = say(tuple((k, v) for k, v in group if k in analysis.factors))
    return f"{told}: " if told else ""


def name(figure: str) -> str:
    """`writers.makespan_s` -> `makespan of writers`; percentiles keep their name."""
    role, metric = figure.rsplit(".", 1)
    words = {
        "makespan_s": "makespan", "rows_per_s": "rate", "bytes_per_s": "byte rate", "ops_per_s": "call rate",
        "keys_per_s": "key rate",
        "latency_s": "worst latency", "cpu_us_per_row": "CPU per row", "client_cpu_us_per_row": "client CPU per row",
        "file_bytes_per_s": "byte rate of a file", "busy_cores": "busy cores", "achieved_share": "share of due calls that succeeded",
        "attempted_share": "share of calls sent", "attempts_per_s": "rate of attempts", "failed_share": "share of calls that failed",
    }  # fmt: skip
    return f"{words.get(metric) or metric.removesuffix('_s').replace('_', ' ')} of {role}"


def plain(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
