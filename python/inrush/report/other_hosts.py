"""Two results of different hosts: what differs between these, and figures per core and per GHz. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from inrush.analysis.hosts import (
    HostClock,
    HostDifference,
    clock_of,
    host_differences,
    on_other_hosts,
)
from inrush.analysis.per_core import Cycles, PerCore, compared_rate, cycles, per_core
from inrush.analysis.points import Analysis, say
from inrush.analysis.wording import TOO_FEW, name
from inrush.stats.quantity import LEAST_RUNS, digits, says_nothing, show, show_bounds
from inrush.stats.stats import Interval
from inrush.text import columns


@dataclass(frozen=True)
class HostComparison:
    differences: list[HostDifference]
    clocks: tuple[HostClock, HostClock]
    #: None where the figure that is compared belongs to no rate.
    rate: str | None
    per_core: list[PerCore]
    cycles: list[Cycles]


def host_comparison(
    a: Analysis, b: Analysis, asked: str, ghz: tuple[float, float] | None
) -> HostComparison | None:
    """None where both were made on one host, unless its clock is stated: that one was changed."""
    if ghz is None and not on_other_hosts(a, b):
        return None
    stated = ghz or (None, None)
    clocks = (clock_of(a, stated[0]), clock_of(b, stated[1]))
    rate = compared_rate(a, b, asked)
    return HostComparison(
        host_differences(a, b, clocks),
        clocks,
        rate,
        list(per_core(a, b, rate, clocks)) if rate else [],
        list(cycles(a, b, rate, clocks)) if rate else [],
    )


def host_lines(names: tuple[str, str], of: HostComparison) -> list[str]:
    rows = [[d.fact, d.a, d.b] for d in of.differences]
    lines = ["", "what differs", *columns(rows, ("", *names))] if rows else []
    if of.rate is None:
        return [*lines, "", "no figure per core or per GHz: no rate of the same role was measured in both"]
    if of.per_core:
        table = columns(
            [per_core_row(p) for p in of.per_core], ("point", "ratio", "per core", "per core and GHz", "")
        )
        lines += ["", f"{name(of.rate)}, {names[1]} / {names[0]}", *table]
        lines += [f"per core: {said}" for said in dict.fromkeys(p.base for p in of.per_core if p.per_core)]
    else:
        lines += ["", f"no figure per core of {name(of.rate)}: no point has two runs in both, of rows alike"]
    if of.cycles:
        header = ("CPU time", "point", *names, "ratio", "cycles", "", "ratio of cycles", "")
        lines += ["", *columns([cycles_row(c) for c in of.cycles], header)]
    return [*lines, *(f"! {sentence}" for sentence in clock_sentences(names, of))]


def clock_sentences(names: tuple[str, str], of: HostComparison) -> list[str]:
    unknown = [
        f"{result}: {clock.said}" for result, clock in zip(names, of.clocks, strict=True) if clock.hz is None
    ]
    if not unknown:
        return []
    return [
        f"no ratio per GHz, and none of cycles: a clock is not known ({'; '.join(unknown)}); "
        "`--ghz A,B` states it where you have fixed it"
    ]


def per_core_row(p: PerCore) -> list[str]:
    return [
        say(p.point),
        ratio_cell(p.ratio, ""),
        ratio_cell(p.per_core, p.base),
        ratio_cell(p.per_core_ghz, "clock not known" if p.per_core else "none"),
        f"INVALID: {p.broken}" if p.broken else "",
    ]


def cycles_row(c: Cycles) -> list[str]:
    return [
        name(c.figure),
        say(c.point),
        *(show(us, c.figure) for us in c.cost_us),
        ratio_cell(c.ratio, ""),
        *("not known" if n is None else digits(n) for n in c.cycles),
        ratio_cell(c.cycles_ratio, "clock not known"),
        f"INVALID: {c.broken}" if c.broken else "",
    ]


def ratio_cell(found: Interval | None, otherwise: str) -> str:
    return f"{show_ratio(found)} {comparison_word(found)}" if found else otherwise


def show_ratio(ratio: Interval) -> str:
    return f"{ratio.value:.3g} {show_bounds(ratio)}"


def comparison_word(ratio: Interval) -> str:
    if ratio.holds(1.0) and says_nothing(ratio):
        return f"{TOO_FEW} ({ratio.n} of {LEAST_RUNS})"
    return "not distinguishable" if ratio.holds(1.0) else "more" if ratio.value > 1 else "less"


def host_document(of: HostComparison) -> dict[str, Any]:
    """For programs: ratios are b / a; null where there is none."""
    return {
        "differs": [asdict(d) for d in of.differences],
        "clocks": {side: asdict(clock) for side, clock in zip("ab", of.clocks, strict=True)},
        "rate": of.rate,
        "per_core": [
            {
                "point": dict(p.point),
                "base": p.base,
                "ratio": interval_document(p.ratio),
                "per_core": interval_document(p.per_core),
                "per_core_ghz": interval_document(p.per_core_ghz),
                "invalid": p.broken or None,
            }
            for p in of.per_core
        ],
        "costs": [
            {
                "figure": c.figure,
                "point": dict(c.point),
                "us": dict(zip("ab", c.cost_us, strict=True)),
                "ratio": interval_document(c.ratio),
                "cycles": dict(zip("ab", c.cycles, strict=True)),
                "cycles_ratio": interval_document(c.cycles_ratio),
                "invalid": c.broken or None,
            }
            for c in of.cycles
        ],
    }


def interval_document(found: Interval | None) -> dict[str, Any] | None:
    """No bounds of so few runs that they say nothing."""
    if found is None:
        return None
    bounds = {} if says_nothing(found) else {"low": found.low, "high": found.high}
    return {"value": found.value, **bounds, "n": found.n}
