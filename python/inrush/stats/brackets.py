"""What a figure would have been with a client that was never late, beside what was measured. Pure.

Had the client been on time, an answer would have come between `on time` (the engine would have taken as long) and
`measured` (it would have been as late). Both ends are read from merged histograms, or are bounds; quantiles are never
subtracted from each other.

Three sources, in this order:

recorded    figures `on_time_*`, `sample_on_time_*`, … that the core recorded call by call
bounded     from the histograms of the latency X and of a lateness L, whatever they have to do with each other: at most a
            share e of all L exceeds Q_L(1 - e), so the on-time quantile q is at least Q_X(q - e) - Q_L(1 - e); where there
            are k times as many L as X, those few may all be of X, and it is Q_X(q - k e) - Q_L(1 - e)
stalled     while the client's process stood still for T of M measured seconds, the calls of a paced role that were due in it
            were late, and those after it until the line was empty: a share T / M / (1 - u) at utilisation u. On any
            schedule each stall delays at most one call a session. At best all of them had been the fastest: so many are
            left out from above. Nor was a call made later by more than the stalls that it has room for (`Stood`).
starved     a closed role that did not run for a share s of its time (`starved.py`): without that its work had taken that
            much less time. Where it waited for processors, so had its calls
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from inrush.metrics import slowed_alike
from inrush.results.histogram import Histogram, rank
from inrush.stats.measures import QUANTILES, measured_windows, role_histograms, whole
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.samples import QUANTILES as SAMPLE_QUANTILES
from inrush.stats.samples import Sampled, role_samples
from inrush.stats.stalls import PERIOD_S
from inrush.stats.starved import Starved, longest_stall_s, stalled_s, stalls, starved_roles

#: A figure is invalid where its ends differ by more: what a comparison of five runs can resolve at best.
WIDEST = 1.05
#: Ends nearer than this are one bucket of the histograms: they cannot be distinguished from each other.
RESOLUTION = 1.01
#: Shares of the largest lateness that a bound may leave out.
LEFT_OUT = (0.0, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
#: Stalls in one call that a bound may allow.
DELAYED = (0, 1, 2, 3, 5, 8, 13)

Quantile = Callable[[float], float]


@dataclass(frozen=True)
class Lateness:
    """Of calls or samples, in the unit of what they made late."""

    quantile: Quantile
    #: How many there are for each of what they made late; at least 1.
    times: float = 1.0


@dataclass(frozen=True)
class Bracket:
    """Both ends of one figure, in its unit."""

    on_time: float
    measured: float
    #: Recorded call by call; a bound that is not says only what the on-time end is not below (of rates: not above).
    recorded: bool = True
    #: Of a stretch of a sample, the sample's own time: how far the ends differ is held against that.
    whole: float | None = None

    @property
    def ratio(self) -> float:
        """Larger over smaller, of a stretch 1 and the difference over its whole; 1 where both are the same, infinite
        where one is 0."""
        low, high = sorted((self.on_time, self.measured))
        if low == high:
            return 1.0
        if self.whole is not None:
            return 1 + (high - low) / self.whole if self.whole > 0 else float("inf")
        return high / low if low > 0 else float("inf")


def brackets(run: RunRecord, figures: Mapping[str, float], paced: Sequence[str]) -> dict[str, Bracket]:
    """Figure -> its bracket, of all figures that lateness of the client can move.

    paced: roles with calls that have a due time of their own.
    """
    starved, stood = starved_closed(run, paced), stood_still(run)
    held = role_histograms(run, measured_windows(run)) if paced or stood.total > 0 else {}
    found = recorded(figures) | bounded(run, figures, held)
    of_stalls = stall_brackets(run, figures, held, paced, stood)
    of_starved = [slowed(role, figures, of) for role, of in starved.items() if f"{role}.latency_n" in figures]
    for more in (of_stalls, *of_starved):
        for name, bracket in more.items():
            found[name] = farther(found[name], bracket) if name in found else bracket
    return found


def starved_closed(run: RunRecord, paced: Sequence[str]) -> dict[str, Starved]:
    """Closed roles of which it is known. Of a paced one each call has its own lateness, and so have queries of its pages."""
    return {
        role: of
        for role, of in starved_roles(run).items()
        if whole(role) not in paced
        and (of.stood or of.quota or of.queued is not None or of.others is not None)
    }


def farther(a: Bracket, b: Bracket) -> Bracket:
    """Of two brackets of one figure the one with its ends farther apart."""
    return a if a.ratio >= b.ratio else b


# --- recorded


def recorded(figures: Mapping[str, float]) -> dict[str, Bracket]:
    """Of figures with an on-time end that is a figure itself."""
    found = {}
    for name, value in figures.items():
        other = on_time_name(name)
        if other is not None and other in figures:
            found[name] = Bracket(figures[other], value, whole=whole_of_stretch(name, figures))
    return found


def whole_of_stretch(figure: str, figures: Mapping[str, float]) -> float | None:
    """A stretch says which part of a sample's time went where: the sample's time at the same percentile."""
    role, metric = figure.rsplit(".", 1)
    for stretch in ("queue", "insert"):
        if metric.startswith(f"{stretch}_"):
            return figures.get(f"{role}.sample_on_time_{metric.removeprefix(f'{stretch}_')}")
    return None


def on_time_name(figure: str) -> str | None:
    """`writers.latency_p99_s` -> `writers.on_time_p99_s`; None of a figure that has no such end."""
    role, metric = figure.rsplit(".", 1)
    if metric == "in_time_share":
        return f"{role}.in_time_on_time_share"
    if metric == "keeps_up":
        return f"{role}.keeps_up_on_time"
    for kind, other in (
        ("latency", "on_time"), ("sample", "sample_on_time"), ("queue", "queue_on_time"), ("insert", "insert_on_time"),
        ("event", "event_on_time"),
    ):  # fmt: skip
        rest = metric.removeprefix(f"{kind}_")
        if rest != metric and rest in ("s", *(f"{q}_s" for q in QUANTILES)):
            return f"{role}.{other}_{rest}"
    return None


# --- bounded


def bounded(
    run: RunRecord, figures: Mapping[str, float], histograms: Mapping[tuple[str, str], Histogram]
) -> dict[str, Bracket]:
    """Of freshness, which the core does not record on time."""
    by_role: dict[str, Bracket] = {}
    for (role, kind), histogram in histograms.items():
        if kind == "freshness" and (late := freshness_lateness(run, histograms, role)):
            by_role |= bounded_quantiles(f"{role}.freshness", figures, quantile_of(histogram), late)
    return by_role


def bounded_quantiles(
    name: str, figures: Mapping[str, float], of: Quantile, late: Sequence[Lateness]
) -> dict[str, Bracket]:
    return {
        f"{name}_{q}_s": Bracket(at_least(of, late, share), figures[f"{name}_{q}_s"], recorded=False)
        for q, share in QUANTILES.items()
        if f"{name}_{q}_s" in figures
    }


def at_least(of: Quantile, late: Sequence[Lateness], q: float) -> float:
    """The least that quantile q of X - L1 - L2 - … can be, whatever they have to do with each other; never negative.

    of: quantiles of X; late: each L, in the same unit.
    """
    times = sum(lateness.times for lateness in late)
    bounds = [
        of(q - times * e) - sum(lateness.quantile(1 - e) for lateness in late)
        for e in LEFT_OUT
        if q - times * e > 0
    ]
    return max(0.0, *(b for b in bounds if not np.isnan(b)), 0.0)


def freshness_lateness(
    run: RunRecord, histograms: Mapping[tuple[str, str], Histogram], reader: str
) -> list[Lateness]:
    """Lateness of what writers sent, by their samples, and of the reader's calls that saw it. Rows of a sample that was never
    stored were never seen."""
    seen, late = histograms[reader, "freshness"].n, []
    for sampled in every_sample(run):
        stored = np.isfinite(sampled.sample_s)
        late.append(sampled.sample_s[stored] - sampled.sample_on_time_s[stored])
    values = np.sort(np.concatenate(late)) if late else np.empty(0)
    found = [Lateness(sorted_quantile(values), times_as_many(len(values), seen))] if len(values) else []
    lag = lag_where_seen(run, reader)
    if len(lag):
        found.append(Lateness(sorted_quantile(lag)))
    return found


def lag_where_seen(run: RunRecord, reader: str) -> FloatArray:
    """For each row that a reader saw the largest lag of the calls of that interval, s, ascending.

    Few of a reader's calls see something new, and just those may be late, beside a writer that sends: how late most calls
    are says nothing of them.
    """
    windows, largest, seen = measured_windows(run), dict[Any, int](), dict[Any, int]()
    for row in run.rows("hist"):
        if row["segment"] in windows and mine(row["role"], reader):
            key = tuple(row[c] for c in ("segment", "repetition", "role", "op", "t_ns"))
            if row["kind"] == "lag":
                largest[key] = row["max_ns"]
            elif row["kind"] == "freshness":
                seen[key] = row["n"]
    held = [(largest[key], n) for key, n in seen.items() if key in largest]
    return np.sort(np.repeat([ns / 1e9 for ns, _ in held], [n for _, n in held])) if held else np.empty(0)


def times_as_many(late: int, seen: int) -> float:
    return max(1.0, late / seen) if seen else 1.0


def every_sample(run: RunRecord) -> list[Sampled]:
    return [of for role, of in role_samples(run, measured_windows(run)).items() if role == whole(role)]


def quantile_of(histogram: Histogram) -> Quantile:
    return lambda q: histogram.quantile_ns(q) / 1e9


def sorted_quantile(values: FloatArray) -> Quantile:
    return lambda q: float(values[rank(max(0.0, q), len(values)) - 1])


# --- stalled


@dataclass(frozen=True)
class Stood:
    """How long the client's process stood still, s."""

    total: float
    longest: float
    times: float
    measured: float

    def within(self, took: float, before: float = 0.0) -> float:
        """The most that all of it can be in something that took so long: one of the longest at each beat, and at both ends.

        before: for how long the longest still delays what comes after it.
        """
        share = max(self.longest / PERIOD_S, self.total / self.measured)
        return min(self.total, share * (took + before) + 2 * self.longest) if share < 1 else self.total

    def at_least(self, of: Quantile, p: float, share: float, before: float) -> float:
        """The least that quantile p of X can be without it. share: how many were delayed, each time counted, over all X.

        Those delayed more than k times are at most share / (k + 1), and may all be above the quantile; what is left was
        delayed k times at most. A call without an end is none that a stall shorter than a beat made.
        """
        took = of(p)
        bounds = [
            of(p - share / (k + 1)) - min(self.total, k * self.longest)
            for k in DELAYED
            if p > share / (k + 1)
        ]
        if took < inf or self.longest < PERIOD_S:
            bounds.append(took - self.within(took, before))
        return max(0.0, *bounds, 0.0)


def stood_still(run: RunRecord) -> Stood:
    (total, measured), longest = stalled_s(run), longest_stall_s(run)
    return Stood(total, longest or total, max(1.0, stalls(run)), measured)


def stall_brackets(
    run: RunRecord,
    figures: Mapping[str, float],
    histograms: Mapping[tuple[str, str], Histogram],
    paced: Sequence[str],
    of_stalls: Stood,
) -> dict[str, Bracket]:
    if of_stalls.total <= 0 or of_stalls.measured <= 0:
        return {}
    by_role: dict[str, Bracket] = {}
    for role in {role for role, _ in histograms}:
        calls = max((h.calls for (r, _), h in histograms.items() if r == role), default=0)
        share, before = of_stalls.times * figures.get(f"{role}.sessions", 1.0) / max(1, calls), 0.0
        if whole(role) in paced:
            idle = 1 - utilisation(run, role)
            share, before = share + of_stalls.total / of_stalls.measured / idle, of_stalls.longest / idle
        for kind in ("latency", "service", "freshness", "first_row"):
            histogram = histograms.get((role, kind))
            if histogram is not None:
                best = histograms.get((role, "on_time"), histogram) if kind == "latency" else histogram
                by_role |= without_stalls(
                    f"{role}.{kind}", figures, of_stalls, quantile_of(best), share, before, QUANTILES
                )
    for role, sampled in role_samples(run, measured_windows(run)).items():
        n, idle = len(sampled.sample_s), 1 - utilisation(run, role)
        share, before = (
            of_stalls.times / n + of_stalls.total / of_stalls.measured / idle,
            of_stalls.longest / idle,
        )
        times_s = sampled.sample_on_time_s
        of = sorted_quantile(np.sort(times_s))
        by_role |= without_stalls(f"{role}.sample", figures, of_stalls, of, share, before, SAMPLE_QUANTILES)
        in_time = figures[f"{role}.in_time_share"]
        # Late by more than all stalls in it: without them it had been late too.
        could = [s - of_stalls.within(s, before) <= sampled.every_s for s in times_s.tolist()]
        on_time = max(in_time, min(1.0, in_time + share, sum(could) / n))
        by_role[f"{role}.in_time_share"] = Bracket(on_time, in_time, recorded=False)
    return by_role


def slowed(role: str, figures: Mapping[str, float], of: Starved) -> dict[str, Bracket]:
    """Rates and times of a closed role that did not run for a share of its time: without that its work had taken that much
    less. Which calls were longer is not known: they are taken to be so alike. A stall is in few of them (`stall_brackets`)."""
    work, call = left(of.share), left(of.share - of.stood)
    better = {
        **dict.fromkeys(slowed_alike("work"), work),
        **dict.fromkeys(slowed_alike("calls"), call),
        **dict.fromkeys(slowed_alike("rate"), 1 / work if work else inf),
    }
    return {
        f"{role}.{metric}": Bracket(value * factor, value, recorded=False)
        for metric, factor in better.items()
        if (value := figures.get(f"{role}.{metric}")) is not None
    }


def left(share: float) -> float:
    """Of a time, without this share of it; all, where buckets of histograms would not show that it is missing."""
    return 1 - share if share > 1 - 1 / RESOLUTION else 1.0


def without_stalls(
    name: str,
    figures: Mapping[str, float],
    of_stalls: Stood,
    of: Quantile,
    share: float,
    before: float,
    quantiles: Mapping[str, float],
) -> dict[str, Bracket]:
    return {
        f"{name}_{q}_s": Bracket(
            of_stalls.at_least(of, p, share, before), figures[f"{name}_{q}_s"], recorded=False
        )
        for q, p in quantiles.items()
        if f"{name}_{q}_s" in figures
    }


def utilisation(run: RunRecord, role: str) -> float:
    """Share of its sessions' time in which a role waited for answers; at most 0.95, so that a line empties at all."""
    windows = measured_windows(run)
    busy = sum(
        s["busy_ns"] for s in run.rows("sessions") if s["segment"] in windows and mine(s["role"], role)
    )
    had = sum(
        s["sessions"] * (s["end_ns"] - s["start_ns"])
        for s in run.rows("repetitions")
        if s["segment"] in windows and mine(s["role"], role)
    )
    return min(0.95, busy / had) if had else 0.0


def mine(name: str, role: str) -> bool:
    return role in (name, whole(name))
