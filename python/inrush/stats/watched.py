"""What was watched of processes and devices: cumulative series, and by how much they grew in windows of time. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from inrush.stats.gaps import Window
from inrush.stats.record import FloatArray, RunRecord

#: A look at a process this share of a step before or behind its begin or end is as good as one at it.
NEAR_SHARE = 0.1

#: (t_ns, value) in time order.
Looks = tuple[FloatArray, FloatArray]


def cumulative(run: RunRecord, metric: str, device: str = "") -> dict[str, Looks]:
    """Role -> (t_ns, value) of one metric of `resources`, in time order."""
    table = run.tables.get("resources")
    if table is None or table.num_rows == 0:
        return {}
    # Hours of samples are millions of rows: chosen by column before any of them becomes a Python value.
    return looks(table.filter(pc.and_(pc.equal(table["metric"], metric), pc.equal(table["device"], device))))


def by_device(run: RunRecord, metric: str) -> dict[str, dict[str, Looks]]:
    """Device -> role -> its looks, of one metric, in the order in which devices were seen."""
    table = run.tables.get("resources")
    if table is None:
        return {}
    devices = dict.fromkeys(table.filter(pc.equal(table["metric"], metric))["device"].to_pylist())
    return {device: cumulative(run, metric, device) for device in devices}


def watched(run: RunRecord, metrics: Collection[str]) -> dict[str, dict[str, Looks]]:
    """Metric -> role -> its looks, of the metrics that were watched and have no device; the table is gone through once."""
    table = run.tables.get("resources")
    if table is None or table.num_rows == 0:
        return {}
    wanted = pa.array(list(metrics), pa.string())
    held = table.filter(pc.and_(pc.is_in(table["metric"], value_set=wanted), pc.equal(table["device"], "")))
    each = {metric: looks(held.filter(pc.equal(held["metric"], metric))) for metric in metrics}
    return {metric: of for metric, of in each.items() if of}


def wholes(found: Mapping[str, Looks]) -> list[Looks]:
    """Those of roles that are no part of another: what is summed over roles counts each process once."""
    return [of for role, of in found.items() if "/" not in role]


def looks(held: pa.Table) -> dict[str, Looks]:
    """Role -> its looks. held: rows of one metric and device."""
    roles = held.column("role").combine_chunks().dictionary_encode()
    t_ns = held.column("t_ns").to_numpy().astype(np.float64)
    value = held.column("value").to_numpy()
    of_row = roles.indices.to_numpy()
    order = np.lexsort((t_ns, of_row))
    firsts = np.searchsorted(of_row[order], np.arange(len(roles.dictionary) + 1))
    series = {}
    for n, role in enumerate(roles.dictionary.to_pylist()):
        mine = order[firsts[n] : firsts[n + 1]]
        series[role] = (t_ns[mine], value[mine])
    return series


def spent_in(run: RunRecord, series: Looks, windows: Iterable[Window]) -> float | None:
    """`spent` of a run with steps. Of one measurement, which is planned to last, what was not looked at is interpolated."""
    if any(s.get("step") for s in run.rows("segments")):
        return spent(series, windows)
    return sum(grown(*series, *window) for window in windows)


def spent(series: Looks, windows: Iterable[Window]) -> float | None:
    """By how much a cumulative series grew in all windows; None where one was not looked at when it began and ended.

    Between two looks only their difference is known: what lies there of a window has no figure of its own, and what a
    neighbour did is none of its. Up to a tenth at each end is taken to go on as what was looked at.
    """
    total = 0.0
    for start_ns, end_ns in windows:
        near_ns = NEAR_SHARE * (end_ns - start_ns)
        t_ns, value = series
        near = (t_ns >= start_ns - near_ns) & (t_ns <= end_ns + near_ns)
        t_ns, value = t_ns[near], value[near]
        if len(t_ns) < 2 or t_ns[0] > start_ns + near_ns or t_ns[-1] < end_ns - near_ns:
            return None
        seen_ns = min(end_ns, t_ns[-1]) - max(start_ns, t_ns[0])
        if seen_ns > 0:
            total += grown(t_ns, value, start_ns, end_ns) * (end_ns - start_ns) / float(seen_ns)
    return total


def grown(t_ns: FloatArray, value: FloatArray, start_ns: float, end_ns: float) -> float:
    """By how much a cumulative series grew between two times, linear between samples; 0 outside of them."""
    if len(t_ns) < 2:
        return 0.0
    return float(np.interp(end_ns, t_ns, value) - np.interp(start_ns, t_ns, value))
