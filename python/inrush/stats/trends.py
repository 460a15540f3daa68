"""Does a call take longer at the end of a run than at its beginning? A test for each role's service time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from inrush.results.histogram import bucket_upper
from inrush.stats import tails
from inrush.stats.measures import counts_in, measured_windows, scheduled_operations, whole, writing_roles
from inrush.stats.record import FloatArray, RunRecord

#: Fewer intervals are no series; of more, neighbours are taken together, so that what lasts over some is one value.
LEAST, MOST = 6, 10
#: A change of less, end over beginning, is not reported; from there on it is, below this p.
MATERIAL, ALPHA = 1.10, 0.002
#: What is so many times larger is reported of few values too: noise that wanders seldom goes so far.
LARGE, ALPHA_OF_LARGE = 2.0, 0.01
#: More cannot be distinguished from a series that wanders off for good.
MOST_RHO = 0.95


@dataclass(frozen=True)
class Trend:
    #: Service time at the end over that at the beginning, along a line through its logs.
    times: float
    p: float
    seconds: float

    @property
    def found(self) -> bool:
        times = max(self.times, 1 / self.times)
        return times >= MATERIAL and self.p < (ALPHA_OF_LARGE if times >= LARGE else ALPHA)


def service_trends(run: RunRecord) -> dict[str, Trend]:
    """Role (the whole) -> the trend of its service time within a repetition, of the repetition with the strongest.

    The level of an interval is the geometric mean of its calls that were answered. A role without LEAST intervals in
    any repetition has none. Of n repetitions one shows a p of 1/n without any trend: p counts all of them (Bonferroni).
    """
    trends: dict[str, list[Trend]] = {}
    for (role, _, _), (t_s, level, calls) in levels(run).items():
        if len(t_s) >= LEAST:
            trends.setdefault(role, []).append(trend(t_s, level, calls))
    return {role: strongest(each) for role, each in trends.items()}


def strongest(trends: Sequence[Trend]) -> Trend:
    """One that is to be reported before one that is sure and small."""
    of_all = [replace(t, p=min(1.0, t.p * len(trends))) for t in trends]
    return min(of_all, key=lambda t: (not t.found, t.p))


TrendLevels = tuple[FloatArray, FloatArray, FloatArray]


def levels(run: RunRecord) -> dict[tuple[str, int, int], TrendLevels]:
    """(role, segment, repetition) -> middles of its intervals, s; mean log of service times, ns; calls. In time order.

    An interval that the end cut to less than half is left out: it is of a few calls.
    """
    table = run.tables.get("hist")
    if table is None or table.num_rows == 0:
        return {}
    windows, scheduled = measured_windows(run), scheduled_operations(run.plan)
    wanted = [
        kind == "service" and segment in windows and op in scheduled.get(role, {op})
        for kind, segment, role, op in zip(
            *(table.column(c).to_pylist() for c in ("kind", "segment", "role", "op")), strict=True
        )
    ]
    mine = table.filter(pa.array(wanted, pa.bool_()))
    own = set(mine.column("role").to_pylist())
    logs = sums_of_logs(mine)
    cells: dict[tuple[str, int, int], dict[int, list[float]]] = {}
    columns = (mine.column(c).to_pylist() for c in ("role", "segment", "repetition", "t_ns", "dt_ns", "n"))
    for (role, segment, repetition, t_ns, dt_ns, n), log in zip(
        zip(*columns, strict=True), logs, strict=True
    ):
        if n and (name := counts_in(role, own)[-1]) == whole(role):
            cell = cells.setdefault((name, segment, repetition), {}).setdefault(t_ns, [0.0, 0.0, 0.0])
            cell[0], cell[1], cell[2] = max(cell[0], dt_ns / 1e9), cell[1] + log, cell[2] + n
    found = {}
    for key, by_time in cells.items():
        t = np.array(sorted(by_time)) / 1e9
        dt, log, n = np.array([by_time[k] for k in sorted(by_time)]).T
        kept = dt >= 0.5 * np.median(dt)
        found[key] = ((t + dt / 2)[kept], (log / n)[kept], n[kept])
    return found


def sums_of_logs(table: pa.Table) -> FloatArray:
    """Of each row of `hist` the sum of the logs of its values, each as large as its bucket's upper end."""
    lists = table.column("bucket").combine_chunks()
    powers = table.column("grouping_power").to_numpy()
    if table.num_rows == 0:
        return np.empty(0)
    bucket = lists.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    count = table.column("count").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    owner = np.repeat(np.arange(table.num_rows), np.diff(lists.offsets.to_numpy()))
    distinct, place = np.unique(bucket, return_inverse=True)
    upper = np.array([max(1, bucket_upper(int(b), int(powers[0]))) for b in distinct], np.float64)
    sums = np.zeros(table.num_rows)
    np.add.at(sums, owner, np.log(upper)[place] * count)
    return sums


def trend(t_s: FloatArray, level: FloatArray, calls: FloatArray) -> Trend:
    """The slope of mean logs over time in a parabola, its error widened by what neighbours have in common.

    A parabola, because what rises in proportion to a table rises fast at first: its bend is no noise. Neighbouring
    intervals are alike without any trend: the autocorrelation rho of the residuals, corrected for its bias in few values,
    makes n of them worth n (1 - rho) / (1 + rho). Stationary series of rho 0.5, and of 0.8 from 60 intervals on, are
    called a trend in fewer than 5 of 100 (`test_trends.py`).
    Source of the correction: Kendall, Note on bias in the estimation of autocorrelation, Biometrika 1954.
    """
    groups = np.array_split(np.arange(len(t_s)), min(MOST, len(t_s)))
    y = np.array([np.average(level[g], weights=calls[g]) for g in groups])
    x = np.array([t_s[g].mean() for g in groups])
    n, x = len(x), x - x.mean()
    slope = float(x @ y / (x @ x))
    residual = y - np.polyval(np.polyfit(x, y, 2), x)
    power, seconds = float(residual @ residual), float(t_s[-1] - t_s[0])
    times = float(np.exp(slope * seconds))
    if power <= 1e-20 * max(1.0, float(y @ y)):  # simulated times without any noise
        return Trend(times, 0.0 if abs(slope * seconds) > 1e-9 else 1.0, seconds)
    rho = float(residual[1:] @ residual[:-1] / power)
    rho = min(max(rho + (3.5 + 4 * rho) / n, 0.0), MOST_RHO)
    error = float(np.sqrt(power / (n - 3) / (x @ x) * (1 + rho) / (1 - rho)))
    return Trend(times, 2 * tails.t_above(abs(slope) / error, n - 3), seconds)


def rows_written(run: RunRecord) -> int:
    windows, writers = measured_windows(run), {whole(role) for role in writing_roles(run.plan)}
    return sum(
        s["rows"] for s in run.rows("repetitions") if s["segment"] in windows and whole(s["role"]) in writers
    )
