"""What others published, held against what was measured here: confirmed, contradicted or not testable here. Pure.

A claim stands in a study file with its rule; so does what the study expects (`expected`). Each rule says which of our
figures is asked, and how near is near:

speed_up   how many times better the figure is at `to` than at `from`: within a quarter of the claim's value
cost       the figure at `to` over that at `from`, less 1, in %: from half to twice the value; a saving is below 0
best       in every group that was measured only the value, or what lies within a factor of two of it, cannot be distinguished
           from the best; where it can, it is contradicted
at_most    the figure is not above the value
keeps_up   every sample of every run was stored before the next was due
sustains   the highest value of `along` that a search found to hold is not below the value
wave       throughput of the figure's role swings with the value as its period in seconds, by the cause that the rule names,
           in two of three runs; of 0: there is no wave

Without `from` and `to` an effect is that from the smallest to the largest value of the study. It is confirmed where it
lies within these limits and its interval excludes that there is none; contradicted where the whole interval lies outside
of them. What is between is too wide to decide, which is not testable: noise confirms nothing. With `bound` the limit has
one side, and the whole interval must lie on it.

A machine with fewer cores than the claim's (`cores`) can confirm it and cannot contradict it. Nor can a point that
did not run. `all` in place of an engine speaks of every engine measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import inf, isfinite, log
from typing import Any

from inrush.analysis.answer import groups
from inrush.analysis.parts import best_part, tries
from inrush.analysis.points import Analysis, Point, say
from inrush.analysis.run_facts import is_instrument
from inrush.analysis.waves import AGREEING, PointWave, point_wave, said
from inrush.analysis.wording import interval_of, ordered, ratio_of, say_bytes, shown
from inrush.metrics import counts_faults, lower_is_better
from inrush.stats import stats
from inrush.stats.quantity import digits, says_nothing, show_bounds
from inrush.stats.series import LEAST_VALUES, SAME_PERIOD
from inrush.stats.trials import Trial, standing
from inrush.stats.waves import RoleWave
from inrush.text import counted, number

#: How far a speed-up, and a cost, may lie from the claim's and still be called the same.
SPEED_UP_WITHIN, COST_WITHIN = 1.25, 2.0
#: How far other values that are as good may lie from one that is called the best.
BEST_WITHIN = 2.0
Values = dict[Any, dict[int, float]]


class Status(Enum):
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_TESTABLE = "not testable here"


@dataclass(frozen=True)
class Judged:
    """One claim about one engine."""

    claim: str
    engine: str
    value: float
    unit: str
    status: Status
    #: What was measured, or why nothing was.
    because: str
    source: str


@dataclass(frozen=True)
class Finding:
    """What one group of points says: None if it cannot decide."""

    holds: bool | None
    because: str


def judged_claims(analysis: Analysis) -> list[Judged]:
    """Every published figure that has a rule, engine by engine, in the order of the file."""
    return [
        judge(analysis, published, str(engine), float(value))
        for published in analysis.study.get("published") or ()
        if published.get("rule")
        for engine, value in dict(published["values"]).items()
    ]


def judge(analysis: Analysis, published: Mapping[str, Any], engine: str, value: float) -> Judged:
    rule: Mapping[str, Any] = published["rule"]
    asked = engines_asked(analysis, engine)
    found = findings(analysis, rule, engine, value)
    status, because = verdict(found, cores_missing(analysis, rule))
    if broken := invalid_under(analysis, rule, engine, found):
        status, because = Status.NOT_TESTABLE, broken
    if not asked:
        because = f"{engine} was not measured"
    return Judged(
        str(published["claim"]),
        engine,
        value,
        str(published["unit"]),
        status,
        because,
        str(published["source"]),
    )


def engines_asked(analysis: Analysis, engine: str) -> list[str]:
    """The engines that were measured of those that a claim speaks of."""
    measured = [str(e) for e in analysis.factors.get("engine", ()) if not is_instrument(str(e))]
    return measured if engine == "all" else [e for e in measured if e == engine]


def findings(analysis: Analysis, rule: Mapping[str, Any], engine: str, value: float) -> list[Finding]:
    """What each group of points says of a rule."""
    return [f for e in engines_asked(analysis, engine) for f in RULES[rule["kind"]](analysis, rule, e, value)]


def verdict(found: Sequence[Finding], missing: str) -> tuple[Status, str]:
    """missing: why this machine is too small to contradict; empty if it is not."""
    decisive = [f for f in found if f.holds is not None]
    because = "; ".join(f.because for f in (decisive or found)) or "no point measured it"
    if not decisive:
        return Status.NOT_TESTABLE, because
    if all(f.holds for f in decisive):
        return Status.CONFIRMED, because
    if missing:
        return Status.NOT_TESTABLE, f"{because}; {missing}"
    return Status.CONTRADICTED, because


def cores_missing(analysis: Analysis, rule: Mapping[str, Any]) -> str:
    env = analysis.runs[0].run.env if analysis.runs else {}
    cores, needed = int(env.get("cpu_logical") or 0), int(rule.get("cores", 0))
    return f"{cores} cores here, {needed} there: fewer cannot contradict" if cores < needed else ""


def invalid_under(analysis: Analysis, rule: Mapping[str, Any], engine: str, found: Sequence[Finding]) -> str:
    """`writers.rows_per_s is INVALID at duckdb (client on time)`, of what a rule rests on; empty where it stands.

    A search is decided though some of its runs are INVALID: they count as undecided, and valid ones are enough. What the
    whole study is INVALID for is in none of its runs, and spares none of them.
    """
    figure = str(rule["of"])
    broken = {p: each for p in points_of(analysis, rule, engine) if (each := analysis.broken(figure, p))}
    of_runs = all(run for each in broken.values() for run, _ in each)
    if not broken or (
        rule["kind"] == "sustains" and of_runs and found and all(f.holds is not None for f in found)
    ):
        return ""
    point, ((_, first), *_) = next(iter(broken.items()))
    return f"{figure} is INVALID at {say(point)} ({first.guard})"


def points_of(analysis: Analysis, rule: Mapping[str, Any], engine: str) -> list[Point]:
    """What the rule reads: of an effect the points at its two ends alone."""
    asked = dict(rule.get("where") or {})
    if engine != "all":
        asked["engine"] = engine
    found = [
        p for p in analysis.values(str(rule["of"])) if all(dict(p).get(k) == v for k, v in asked.items())
    ]
    if rule["kind"] in ("speed_up", "cost"):
        along, ends = str(rule["along"]), ends_of(analysis, rule)
        found = [p for p in found if dict(p).get(along) in ends]
    return found


# --- rules: what each group of points of one engine says


def by_group(analysis: Analysis, rule: Mapping[str, Any], engine: str, along: str) -> dict[str, Values]:
    """Group, as people read it -> value of `along` -> block -> figure; only points that agree with `where`."""
    where = {**dict(rule.get("where") or {}), "engine": engine}
    measured_values: dict[str, Values] = {}
    for group, of in groups(analysis, str(rule["of"]), along, ()).items():
        for point, values in of.items():
            held = dict(point)
            if all(held.get(k) == v for k, v in where.items()):
                measured_values.setdefault(say(group), {})[held.get(along)] = values
    return measured_values


def ends_of(analysis: Analysis, rule: Mapping[str, Any]) -> tuple[Any, Any]:
    """`from` and `to` of an effect; without them the smallest and the largest value that the study was to run."""
    values = ordered(analysis.factors.get(str(rule["along"]), ())) or [None]
    return rule.get("from", values[0]), rule.get("to", values[-1])


def ratios(analysis: Analysis, rule: Mapping[str, Any], engine: str) -> dict[str, stats.Interval | None]:
    """Group -> figure at `to` over figure at `from`, paired by block; None where one of them did not run."""
    first, last = ends_of(analysis, rule)
    return {
        group: ratio_of(of[last], of[first]) if first != last and first in of and last in of else None
        for group, of in by_group(analysis, rule, engine, str(rule["along"])).items()
    }


def speed_up(analysis: Analysis, rule: Mapping[str, Any], engine: str, value: float) -> list[Finding]:
    found = []
    least, most = within(rule, value, value / SPEED_UP_WITHIN, value * SPEED_UP_WITHIN)
    for group, ratio in ratios(analysis, rule, engine).items():
        if ratio is None:
            found.append(missing_ends(analysis, group, rule))
            continue
        if lower_is_better(str(rule["of"])):
            ratio = replace(ratio, value=1 / ratio.value, low=1 / ratio.high, high=1 / ratio.low)
        because = f"{group}: {digits(ratio.value)}× {show_bounds(ratio)}"
        found.append(effect(ratio, least, most, because, "bound" in rule))
    return found


def cost(analysis: Analysis, rule: Mapping[str, Any], engine: str, value: float) -> list[Finding]:
    found = []
    least, most = within(rule, value, value / COST_WITHIN, value * COST_WITHIN)
    for group, ratio in ratios(analysis, rule, engine).items():
        if ratio is None:
            found.append(missing_ends(analysis, group, rule))
            continue
        percent, low, high = (100 * (r - 1) for r in (ratio.value, ratio.low, ratio.high))
        bounds = show_bounds(ratio) if says_nothing(ratio) else f"[{low:+.1f}, {high:+.1f}]"
        because = f"{group}: {percent:+.1f} % {bounds}"
        found.append(effect(ratio, 1 + least / 100, 1 + most / 100, because, "bound" in rule))
    return found


def within(rule: Mapping[str, Any], value: float, least: float, most: float) -> tuple[float, float]:
    """Limits of an effect: one side of the value where the rule has a bound, else what is near it.

    least, most: of a value above 0. Below it, twice a saving is less than half of it.
    """
    near = (min(least, most), max(least, most))
    return {"at_least": (value, inf), "at_most": (-inf, value)}.get(str(rule.get("bound")), near)


def effect(ratio: stats.Interval, least: float, most: float, because: str, bound: bool = False) -> Finding:
    """Of a ratio that is claimed to lie from `least` to `most`; 1 is no effect. bound: the limit has one side."""
    if ratio.high < least or ratio.low > most:
        return Finding(False, because)
    whole = least <= ratio.low and ratio.high <= most
    near = not bound and least <= ratio.value <= most and not ratio.low <= 1 <= ratio.high
    if near or (bound and whole):
        return Finding(True, because)
    return Finding(None, f"{because}: too wide to decide")


def missing_ends(analysis: Analysis, group: str, rule: Mapping[str, Any]) -> Finding:
    first, last = ends_of(analysis, rule)
    if first is None or first == last:
        return Finding(None, f"{group}: {rule['along']} has one value here, so nothing can be compared")
    each = " and ".join(say_bytes(str(rule["along"]), v) for v in (first, last))
    return Finding(None, f"{group}: {rule['along']} {each} were not each measured at least twice")


def best(analysis: Analysis, rule: Mapping[str, Any], engine: str, value: float) -> list[Finding]:
    along, figure = str(rule["along"]), str(rule["of"])
    where = {**dict(rule.get("where") or {}), "engine": engine}
    found = []
    for group, of in groups(analysis, figure, along, ()).items():
        mine = {p: v for p, v in of.items() if all(dict(p).get(k) == w for k, w in where.items())}
        if not mine:
            continue
        part = best_part(analysis, figure, along, group, mine)
        measured = {dict(p).get(along) for p in mine}
        shown_best = ", ".join(f"{b:,}" for b in sorted(part.best))
        if value not in measured:
            found.append(Finding(None, f"{say(group)}: {along} {number(value)} was not measured"))
        elif measured <= set(part.best):
            found.append(
                Finding(None, f"{say(group)}: none of {shown_best} can be distinguished from another")
            )
        elif value in part.best and not all(near(value, float(b)) for b in part.best):
            found.append(
                Finding(None, f"{say(group)}: {shown_best} cannot be distinguished from one another")
            )
        else:
            found.append(Finding(value in part.best, f"{say(group)}: best {shown_best}"))
    return found


def near(value: float, other: float) -> bool:
    """Whether two sizes are the same for a claim about the best of them."""
    return value / BEST_WITHIN <= other <= value * BEST_WITHIN


def at_most(analysis: Analysis, rule: Mapping[str, Any], engine: str, value: float) -> list[Finding]:
    figure, found = str(rule["of"]), []
    for group, of in by_group(analysis, rule, engine, "engine").items():
        for values in of.values():
            interval = interval_of(values)
            # One run with a wrong answer is one too many.
            alone = (max if counts_faults(figure) else min)(values.values())
            middle, lowest = (
                (interval.value, interval.low) if interval and not counts_faults(figure) else (alone, alone)
            )
            because = f"{of_engine(engine, group)}: {shown(analysis, values, figure)}"
            if any(not isfinite(v) for v in values.values()):
                middle = lowest = inf
            if lowest <= value < middle:
                found.append(Finding(None, f"{because}: too wide to decide"))
            else:
                found.append(Finding(middle <= value, because))
    return found


def keeps_up(analysis: Analysis, rule: Mapping[str, Any], engine: str, value: float) -> list[Finding]:
    found = []
    for group, of in by_group(analysis, rule, engine, "engine").items():
        for values in of.values():
            held = sum(v >= 1 for v in values.values())
            found.append(
                Finding(
                    held == len(values),
                    f"{of_engine(engine, group)}: every sample in time in {held} of {len(values)} runs",
                )
            )
    return found


def sustains(analysis: Analysis, rule: Mapping[str, Any], engine: str, value: float) -> list[Finding]:
    along, figure = str(rule["along"]), str(rule["of"])
    where = {**dict(rule.get("where") or {}), "engine": engine}
    found = []
    for group, of in groups(analysis, figure, along, ()).items():
        mine = [p for p in of if all(dict(p).get(k) == w for k, w in where.items())]
        if not mine:
            continue
        stood = {v: standing(runs) for v, runs in sorted(tries(analysis, figure, along, mine).items())}
        failed = next((v for v, trial in stood.items() if trial is Trial.FAILED), None)
        held = [v for v, trial in stood.items() if trial is Trial.HELD and (failed is None or v < failed)]
        said = [f"holds {number(held[-1])}"] if held else []
        said += [f"{number(failed)} does not hold"] if failed is not None else ["nothing higher was tried"]
        because = f"{say(group)}: {', '.join(said)}"
        if held and held[-1] >= value:
            found.append(Finding(True, because))
        else:
            found.append(Finding(False if failed is not None and failed <= value else None, because))
    return found


def wave(analysis: Analysis, rule: Mapping[str, Any], engine: str, value: float) -> list[Finding]:
    """value: the period in seconds; 0: there is none."""
    where = {**dict(rule.get("where") or {}), "engine": engine}
    role, found = str(rule["of"]).rsplit(".", 1)[0], []
    for point in analysis.points:
        if any(dict(point).get(k) != v for k, v in where.items()):
            continue
        runs = analysis.waves.get(point, {}).get(role, ())
        if len(runs) < AGREEING:
            because = f"{say(point)}: {counted(len(runs), 'run')} of {LEAST_VALUES} intervals or more; {AGREEING} are needed"
            found.append(Finding(None, because))
            continue
        seen = point_wave(point, role, runs)
        found.append(wave_finding(seen, runs, say(point), value, str(rule.get("cause", ""))))
    return found


def wave_finding(
    seen: PointWave | None, runs: Sequence[RoleWave], point: str, period_s: float, cause: str
) -> Finding:
    if seen is None:
        alone = sum(w.likely for w in runs)
        because = f"{point}: no wave that {AGREEING} of 3 runs agree on" + (
            f" ({alone} of {len(runs)} swing)" if alone else f" in {len(runs)} runs"
        )
        return Finding(period_s == 0, because)
    because = f"{point}: {said(seen)}"
    same = period_s > 0 and abs(log(seen.period_s / period_s)) <= log(1 + SAME_PERIOD)
    return Finding(same and cause in seen.cause[0], because)


def of_engine(engine: str, group: str) -> str:
    """A group of points that differ in their engine alone, of this one."""
    return f"{engine}, {group}" if group else engine


RULES: Mapping[str, Callable[[Analysis, Mapping[str, Any], str, float], list[Finding]]] = {
    "speed_up": speed_up,
    "cost": cost,
    "best": best,
    "at_most": at_most,
    "keeps_up": keeps_up,
    "sustains": sustains,
    "wave": wave,
}

#: Column -> what stands in it, of the exported table.
COLUMNS = ("claim", "engine", "value", "unit", "status", "because", "source")


def claim_rows(judged: Sequence[Judged]) -> list[tuple[str, ...]]:
    return [(j.claim, j.engine, f"{j.value:g}", j.unit, j.status.value, j.because, j.source) for j in judged]
