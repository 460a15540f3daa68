"""Charts over the time of a run: on the page of a result, on the live page, or on both. An entry of CHARTS is one. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from inrush.border.pipeline import each_role
from inrush.report.timeline import (
    MOST_POINTS,
    THROUGHPUT,
    Panel,
    Rows,
    Span,
    every_device,
    slopes,
    thinned,
    until_the_end,
    with_pauses,
)
from inrush.stats.measures import figure_windows, measured_windows, whole, writing_roles
from inrush.stats.pending import polls, sources
from inrush.stats.rates import role_rates, worked
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.role_series import Series
from inrush.stats.sends import calls_per_send

#: A step of a run that goes on: figures of its roles, and their busy cores.
Moment = Mapping[str, Any]
#: Line -> its value at that moment; of a chart for each role, role -> line -> value.
Values = Mapping[str, Any]


@dataclass(frozen=True)
class OverTime:
    #: For the live page: of its place, and its heading.
    name: str
    title: str
    #: On its axis; a panel of the result's page is called so.
    unit: str
    #: Of a sealed run, on the page of its result; None: it is not there.
    of_run: Callable[[RunRecord, Span], Rows] | None = None
    #: Of a step, on the live page; None: it is not there.
    of_moment: Callable[[Moment], Values] | None = None
    #: The live page has one for each role.
    each_role: bool = False
    #: A logarithmic axis, and lines in this order.
    log: bool = False
    order: tuple[str, ...] = ()


def panels(run: RunRecord) -> list[Panel]:
    """What each role did first, then resources, over the measured segments or all steps; nothing of a run without roles."""
    windows = [*figure_windows(run).values()]
    if not windows:
        return []
    span = (min(start for start, _ in windows) / 1e9, max(end for _, end in windows) / 1e9)
    drawn = {chart.unit: chart.of_run(run, span) for chart in CHARTS if chart.of_run is not None}
    found = [Panel(unit, rows) for unit, rows in drawn.items() if rows]
    return found if any(panel.title in THROUGHPUT for panel in found) else []


def of_roles(figure: str) -> Callable[[Moment], Values]:
    return lambda moment: {role: of[figure] for role, of in moment["roles"].items()}


def rates(writes: bool, amount: Callable[[Series], FloatArray]) -> Callable[[RunRecord, Span], Rows]:
    """A rate of the roles that put rows in, or of the others."""

    def of_run(run: RunRecord, span: Span) -> Rows:
        writers, spans = writing_roles(run.plan), worked(run)
        rows: Rows = []
        for role, s in role_rates(run, MOST_POINTS).items():
            if (role in writers) == writes:
                ends = until_the_end(s.t_s, s.t_s + s.dt_s, [end / 1e9 for _, end in spans[role].values()])
                rate = np.divide(amount(s), s.dt_s, out=np.zeros_like(s.dt_s), where=s.dt_s > 0)
                rows += thinned(*with_pauses(s.t_s - span[0], ends - s.t_s, rate), role)
        return rows

    return of_run


def failed(run: RunRecord, span: Span) -> Rows:
    """Calls that failed in each interval, of the roles that had any."""
    windows = measured_windows(run)
    lost: dict[str, Counter[tuple[int, int]]] = {}
    for i in run.rows("intervals"):
        if i["segment"] in windows:
            lost.setdefault(whole(i["role"]), Counter())[i["t_ns"], i["dt_ns"]] += i["errors"]
    rows: Rows = []
    for role, of in lost.items():
        if of.total():
            each = sorted(of.items())
            t_s = np.array([t_ns / 1e9 for (t_ns, _), _ in each])
            rate = np.array([1e9 * n / dt_ns if dt_ns else 0.0 for (_, dt_ns), n in each])
            rows += thinned(t_s - span[0], rate, role)
    return rows


def pending(run: RunRecord, span: Span) -> Rows:
    """The queue of each role that inserts at a rate: a queue that grows is seen here before any latency shows it."""
    windows = measured_windows(run)
    return [
        {"t": round(end / 1e9 - span[0], 4), "y": float(waiting), "series": of.role}
        for segment, of in sources(run.plan)
        for totals in run.rows("repetitions")
        if segment in windows and totals["segment"] == segment and totals["role"] == of.role
        for end, waiting in polls(run, totals, of)
    ]


def together(run: RunRecord, span: Span) -> Rows:
    """Calls that left in one send, of roles with several in flight."""
    deep = {r["name"] for _, r in each_role(run.plan) if int(r.get("depth") or 1) > 1}
    return [
        row
        for role, (t_s, calls) in calls_per_send(run, measured_windows(run)).items()
        if role in deep
        for row in thinned(t_s - span[0], calls, role)
    ]


def growth(metrics: Mapping[str, str], factor: float) -> Callable[[RunRecord, Span], Rows]:
    """A second, of counters of every watched role or device. metrics: name of one -> what stands before its lines."""

    def of_run(run: RunRecord, span: Span) -> Rows:
        cores = float(run.env.get("cpu_logical") or inf)
        return [
            row
            for metric, prefix in metrics.items()
            for series, (t_ns, value) in every_device(run, metric).items()
            for row in slopes(
                t_ns / 1e9, value * factor, prefix + series, *span, cores if metric == "cpu_s" else inf
            )
        ]

    return of_run


#: In the order in which they stand.
CHARTS = (
    OverTime("rows", "Rows a second", "rows/s", rates(True, lambda s: s.rows), of_roles("rows_per_s")),
    OverTime("calls", "Calls a second", "calls/s", rates(False, lambda s: s.ops), of_roles("ops_per_s")),
    OverTime("failed", "Failed calls a second", "failed calls/s", failed, of_roles("failed_per_s")),
    OverTime("pending", "Pending rows", "pending rows", pending),
    OverTime("together", "Calls per send", "calls per send", together),
    OverTime("cores", "Busy cores", "busy cores", growth({"cpu_s": ""}, 1.0), lambda moment: moment["cores"]),
    OverTime("disk", "Disk", "disk MB/s", growth({"dev_read_bytes": "read ", "dev_write_bytes": "write "}, 1e-6)),
    OverTime("network", "Network", "network MB/s", growth({"net_rx_bytes": "in ", "net_tx_bytes": "out "}, 1e-6)),
    OverTime(
        "times", "Latency", "ms", of_moment=of_roles("times_ms"), each_role=True, log=True,
        order=("p50", "p90", "p99", "p99.9"),
    ),
)  # fmt: skip
