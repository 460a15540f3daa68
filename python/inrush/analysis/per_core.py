"""A rate of two results per core and per GHz, and costs in cycles: ratios b / a with the interval carried through. Pure.

Cores of a host and clocks are constants: they move an interval and leave its width. A rate per core used is the rows or
calls of a second of CPU time: busy cores are of whole segments, in which a volume that is repeated has pauses that its
rate does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from inrush.analysis.hosts import HostClock, fleet_workers
from inrush.analysis.points import Analysis, Measured, Point
from inrush.analysis.run_facts import beside_a_server, is_embedded
from inrush.analysis.same_work import work
from inrush.analysis.wording import name
from inrush.stats.measures import writing_roles
from inrush.stats.paced import paced_roles
from inrush.stats.stats import Interval, log_t, welch_ratio

#: What does the work of an engine that is not in the client's process, as it is watched.
ENGINE_ROLES = ("server", "shards")
COST = "cpu_us_per_"


@dataclass(frozen=True)
class CoreBase:
    """What a rate is divided by at a point."""

    said: str
    #: CPU time that the work took in each run; None: divided by the cores of the host.
    figure: str | None = None
    cores: tuple[float, float] | None = None


@dataclass(frozen=True)
class PerCore:
    """One figure at one point, b / a."""

    point: Point
    figure: str
    ratio: Interval
    #: What the rate was divided by; why it was not, where `per_core` is None.
    base: str
    per_core: Interval | None
    #: None where a clock is not known.
    per_core_ghz: Interval | None
    #: Guard that makes one of the figures invalid.
    broken: str


@dataclass(frozen=True)
class Cycles:
    """CPU time of a call or a row at one point."""

    point: Point
    figure: str
    #: Microseconds of a and b.
    cost_us: tuple[float, float]
    ratio: Interval
    #: Cycles of a and b; None where that clock is not known.
    cycles: tuple[float | None, float | None]
    cycles_ratio: Interval | None
    broken: str


def compared_rate(a: Analysis, b: Analysis, asked: str) -> str | None:
    """Rows or calls a second of the role that is asked for, where both measured them."""
    role = asked.rsplit(".", 1)[0]
    measured = names(a) & names(b)
    writes = any(role in writing_roles(m.run.plan) for z in (a, b) for m in z.runs)
    by = (
        f"{role}.{name}" for name in (("rows_per_s", "ops_per_s") if writes else ("ops_per_s", "rows_per_s"))
    )
    return (
        asked if asked.endswith(("rows_per_s", "ops_per_s")) else next((f for f in by if f in measured), None)
    )


def names(analysis: Analysis) -> set[str]:
    return {name for m in analysis.runs for name in m.figures}


def per_core(a: Analysis, b: Analysis, rate: str, clocks: tuple[HostClock, HostClock]) -> Iterator[PerCore]:
    """At every point that both measured with two runs or more, and with rows alike."""
    for point in shared_points(a, b, rate):
        if (plain := ratio_of(a, b, rate, point)) is None:
            continue
        base = core_base(a, b, rate, point)
        cores = divided(a, b, rate, point, base)
        yield PerCore(
            point, rate, plain, base.said, cores, scaled_by_clocks(cores, clocks, of_a=True),
            first_broken(a, b, point, [rate, *([base.figure] if base.figure else [])]) or turned_on_time(a, b, rate, point, base, cores),
        )  # fmt: skip


def shared_points(a: Analysis, b: Analysis, figure: str) -> list[Point]:
    """Rows of other sizes are another unit: those points have no ratio at all."""
    role = figure.rsplit(".", 1)[0]
    there = b.values(figure)
    return [
        p
        for p in a.values(figure)
        if p in there and not ((x := work(a, p, role)) and (y := work(b, p, role)) and not x.has_rows_like(y))
    ]


def core_base(a: Analysis, b: Analysis, rate: str, point: Point) -> CoreBase:
    """The cores that the engine used, where both watched them; else those of the host that it ran on."""
    runs = [[m for m in z.runs if m.counts and m.point == point] for z in (a, b)]
    role = rate.rsplit(".", 1)[0]
    embedded = all(is_embedded(m.run) for of in runs for m in of)
    for figure in engine_costs(role, unit_of(rate), embedded):
        if all(of and all(m.figures.get(figure, 0.0) > 0 for m in of) for of in runs):
            return CoreBase(f"cores used ({name(figure)})", figure)
    if any(fleet_workers(m.run) or not runs_here(m) for of in runs for m in of):
        return CoreBase("no figure per core: the processors of the engine were not watched")
    if any(role in paced_roles(m.run) for of in runs for m in of):
        return CoreBase("no figure per core: the rate was set, and the cores that it took were not watched")
    cores = [{host_cores(m) for m in of} for of in runs]
    if any(len(each) != 1 or None in each for each in cores):
        return CoreBase("no figure per core: the cores of the host are not recorded, or changed between runs")
    x, y = (float(next(iter(each)) or 0) for each in cores)
    return CoreBase(f"cores of the host ({x:g} and {y:g})", None, (x, y))


def engine_costs(role: str, unit: str, embedded: bool) -> list[str]:
    """CPU time of the engine per row or call, as steps and whole phases name it; in the client's process without the
    client's own where that is priced."""
    ways = {"client": "client_process_"}
    return [
        f"{name}{COST}{unit}"
        for w in (("engine", "client") if embedded else ENGINE_ROLES)
        for name in (f"{role}.{ways.get(w, f'{w}_')}", f"{w}.")
    ]


def unit_of(rate: str) -> str:
    return "row" if rate.endswith("rows_per_s") else "op"


def runs_here(m: Measured) -> bool:
    return is_embedded(m.run) or beside_a_server(m.run)


def host_cores(m: Measured) -> float | None:
    """Those that its processes may use."""
    env = m.run.env
    found = [float(env[k]) for k in ("cgroup_cpu_cores", "cpu_logical") if env.get(k)]
    return min(found, default=None)


def divided(a: Analysis, b: Analysis, rate: str, point: Point, base: CoreBase) -> Interval | None:
    if base.figure is not None:
        return welch(per_cpu_second(b, base.figure, point), per_cpu_second(a, base.figure, point))
    found = ratio_of(a, b, rate, point)
    return found.scaled(base.cores[0] / base.cores[1]) if found and base.cores else None


def per_cpu_second(analysis: Analysis, cost: str, point: Point) -> list[float]:
    """Rows or calls of a second of CPU time, in each run that counts."""
    return [1e6 / us if us else 0.0 for us in analysis.values(cost).get(point, {}).values()]


def ratio_of(a: Analysis, b: Analysis, figure: str, point: Point) -> Interval | None:
    x, y = (list(z.values(figure).get(point, {}).values()) for z in (a, b))
    return welch(y, x)


def welch(of_b: list[float], of_a: list[float]) -> Interval | None:
    """None for fewer than two runs, and where a call failed or nothing was done in one."""
    if min(len(of_a), len(of_b)) < 2 or not all(isfinite(v) and v > 0 for v in (*of_a, *of_b)):
        return None
    return welch_ratio(of_b, of_a)


def scaled_by_clocks(
    found: Interval | None, clocks: tuple[HostClock, HostClock], of_a: bool
) -> Interval | None:
    """of_a: divided by the clocks, as a rate is per GHz; else multiplied, as a time becomes cycles."""
    x, y = clocks[0].hz, clocks[1].hz
    if found is None or x is None or y is None:
        return None
    return found.scaled(x / y if of_a else y / x)


def first_broken(a: Analysis, b: Analysis, point: Point, figures: list[str]) -> str:
    found = [v.guard for z in (a, b) for f in figures for _, v in z.broken(f, point)]
    return found[0] if found else ""


def side(found: Interval | None) -> int | None:
    """Which side of equal an interval lies on: 0 where it holds 1."""
    return None if found is None else 0 if found.holds(1.0) else 1 if found.value > 1 else -1


def turned_on_time(
    a: Analysis, b: Analysis, rate: str, point: Point, base: CoreBase, found: Interval | None
) -> str:
    """A client that was late decides nothing: with the other end of both figures the answer must be the same."""
    x, y = a.on_time, b.on_time
    pairs = (
        (ratio_of(a, b, rate, point), ratio_of(x, y, rate, point)),
        (found, divided(x, y, rate, point, base)),
    )
    turned = any(other is not None and side(other) != side(one) for one, other in pairs)
    return "other with clients on time" if turned else ""


def cycles(a: Analysis, b: Analysis, rate: str, clocks: tuple[HostClock, HostClock]) -> Iterator[Cycles]:
    """CPU time per row where the rate is of rows, else per call, of every process that was watched, in cycles."""
    for figure in costs(a, b, rate):
        for point in shared_points(a, b, rate):
            x, y = (list(z.values(figure).get(point, {}).values()) for z in (a, b))
            if (ratio := welch(y, x)) is None:
                continue
            cost_us = (log_t(x).value, log_t(y).value)
            yield Cycles(
                point, figure, cost_us, ratio,
                (in_cycles(cost_us[0], clocks[0]), in_cycles(cost_us[1], clocks[1])),
                scaled_by_clocks(ratio, clocks, of_a=False), first_broken(a, b, point, [figure]),
            )  # fmt: skip


def in_cycles(cost_us: float, clock: HostClock) -> float | None:
    return None if clock.hz is None else cost_us * 1e-6 * clock.hz


def costs(a: Analysis, b: Analysis, rate: str) -> list[str]:
    """Of wholes: parts of a server, and threads of the client's roles, are in them. Of a step its own."""
    unit = unit_of(rate)
    both = names(a) & names(b)
    role = rate.rsplit(".", 1)[0]
    watched = {f.removesuffix("busy_cores") for f in both if f.endswith("busy_cores") and "/" not in f}
    own = {w for w in watched if w.startswith(f"{role}.")}
    found = [f"{w}{middle}{COST}{unit}" for w in sorted(own or watched) for middle in ("", "process_")]
    return [f for f in found if f in both]
