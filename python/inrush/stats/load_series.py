"""Loads of files as series: what each file took of the load's time, rates by interval, and what they cost a machine. Pure.

All of it comes from the table `files` and from resources. A file's rows and bytes are taken to come evenly from its
begin to its end. Seconds of a load that was killed and went on are those in which it was worked: gaps are in none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inrush.border.tables import FileRow
from inrush.stats.gaps import Window, gaps_of, worked, worked_ns
from inrush.stats.hosts import hosts_of
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.steps import bytes_of_tables, number
from inrush.stats.watched import by_device, cumulative, spent

#: Intervals of a series; of fewer files as many as there are.
MOST_INTERVALS = 120
#: Roles of the watch that only wait, or are the machine.
BESIDE = ("host", "inrush")
#: Where rows are stored: an engine in a client's process is among what follows.
ENGINE_ROLES = ("server", "shards", "load_server", "client")


@dataclass(frozen=True)
class FileLoad:
    """Files that one role, or one step, loaded, in the order in which they began. Arrays of one length."""

    role: str
    begin_ns: int
    end_ns: int
    #: From the begin of the load.
    start_s: FloatArray
    end_s: FloatArray
    bytes: FloatArray
    rows: FloatArray
    #: Of the key space, that a file touches; None where one is not known.
    places: FloatArray | None
    #: In which no client worked, on the run's clock.
    gaps: Sequence[Window] = ()

    @property
    def seconds(self) -> float:
        return self.worked_s(self.end_ns)

    def worked_s(self, t_ns: float) -> float:
        """From the begin of the load to a time of the run's clock."""
        return worked_ns(self.begin_ns, t_ns, self.gaps) / 1e9

    def at_ns(self, seconds: FloatArray) -> FloatArray:
        """On the run's clock; of a gap its end."""
        parts = worked((self.begin_ns, self.end_ns), self.gaps)
        t_ns = np.array(parts, np.float64).ravel()
        return np.asarray(np.interp(seconds, [self.worked_s(t) for t in t_ns], t_ns))

    @property
    def before(self) -> FloatArray:
        """Rows of this load in the table when a file is half in."""
        return np.asarray(np.cumsum(self.rows) - self.rows / 2)


def file_loads(run: RunRecord) -> dict[str, FileLoad]:
    """Role, which is the step of a load, -> its files; of repetitions the last."""
    found: dict[str, list[FileRow]] = {}
    for row in sorted(run.rows("files"), key=lambda r: (r["start_ns"], r["file"])):
        found.setdefault(row["role"], []).append(row)
    gaps = gaps_of(run)
    return {role: of_rows(role, rows, gaps) for role, rows in found.items()}


def of_rows(role: str, rows: list[FileRow], gaps: Sequence[Window] = ()) -> FileLoad:
    last = max((r["segment"], r["repetition"]) for r in rows)
    rows = [r for r in rows if (r["segment"], r["repetition"]) == last]
    begin_ns = min(r["due_ns"] for r in rows)
    places = np.array([r["runs"] for r in rows], np.float64)
    start_s, end_s = (
        np.array([worked_ns(begin_ns, r[of], gaps) / 1e9 for r in rows]) for of in ("start_ns", "end_ns")
    )
    return FileLoad(
        role, begin_ns, max(r["end_ns"] for r in rows), start_s, np.maximum(end_s, start_s + 1e-9),
        np.array([r["bytes"] for r in rows], np.float64),
        np.array([r["rows"] for r in rows], np.float64),
        places if len(places) and (places > 0).all() else None, gaps,
    )  # fmt: skip


def own_seconds(of: FileLoad) -> FloatArray:
    """What each file took of the load's time: files that are under way together share it evenly. They add up to the time in
    which any was."""
    t, active = under_way(of)
    per_s = np.divide(1.0, active, out=np.zeros_like(active), where=active > 0)
    shared = np.concatenate([[0.0], np.cumsum(np.diff(t) * per_s)])
    return np.asarray(np.interp(of.end_s, t, shared) - np.interp(of.start_s, t, shared))


def under_way(of: FileLoad) -> tuple[FloatArray, FloatArray]:
    """Moments at which a file begins or ends, and how many are under way from each to the next."""
    t = np.unique(np.concatenate([of.start_s, of.end_s]))
    begun = np.searchsorted(np.sort(of.start_s), t[:-1], side="right")
    ended = np.searchsorted(np.sort(of.end_s), t[:-1], side="right")
    return t, (begun - ended).astype(np.float64)


@dataclass(frozen=True)
class Intervals:
    """Of one length; edges has one value more than the others."""

    edges_s: FloatArray
    rows: FloatArray
    bytes: FloatArray
    files: FloatArray

    @property
    def length_s(self) -> FloatArray:
        return np.asarray(np.diff(self.edges_s))


def intervals(of: FileLoad, most: int = MOST_INTERVALS) -> Intervals:
    """From the begin of the load to its end."""
    edges = np.linspace(0.0, of.seconds, max(1, min(most, len(of.rows))) + 1)
    return Intervals(
        edges, came(of, of.rows, edges), came(of, of.bytes, edges), came(of, np.ones_like(of.rows), edges)
    )


def came(of: FileLoad, amount: FloatArray, edges: FloatArray) -> FloatArray:
    """Of each file's amount, what came between two edges."""
    per_s = amount / (of.end_s - of.start_s)
    t = np.concatenate([of.start_s, of.end_s])
    order = np.argsort(t, kind="stable")
    rate = np.cumsum(np.concatenate([per_s, -per_s])[order])
    so_far = np.concatenate([[0.0], np.cumsum(np.diff(t[order]) * rate[:-1])])
    # What rounding leaves over after so many sums is no part of the load.
    whole = amount.sum() / so_far[-1] if so_far[-1] > 0 else 1.0
    return np.asarray(np.diff(np.interp(edges, t[order], so_far)) * whole)


def cpu_series(run: RunRecord) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Role -> its CPU so far, s; roles that only wait are left out."""
    return {role: of for role, of in cumulative(run, "cpu_s").items() if role not in BESIDE}


def engine_role(run: RunRecord) -> str | None:
    """The watched role in which rows are stored."""
    watched = cpu_series(run)
    return next((role for role in ENGINE_ROLES if role in watched), None)


def device_series(run: RunRecord, metric: str) -> list[tuple[FloatArray, FloatArray]]:
    """Of every device of the machine; of several the one in which rows are stored, and none where that was not watched."""
    hosts, stored = hosts_of(run), engine_role(run)
    host = next((host for host in hosts if host.roles is None or stored in host.roles), None)
    if host is None:
        return []
    return [of[host.role] for of in by_device(run, metric).values() if host.role in of]


#: Figure -> (metric of `resources`, what one of its units is divided by, to be shown).
COSTS: Mapping[str, tuple[str, float]] = {
    "CPU, µs/row": ("cpu_s", 1e6),
    "read, B/row": ("dev_read_bytes", 1.0),
    "written, B/row": ("dev_write_bytes", 1.0),
}


def watched_for(run: RunRecord, metric: str) -> list[tuple[FloatArray, FloatArray]]:
    """CPU is that of the role in which rows are stored; devices are those of the machine."""
    if metric != "cpu_s":
        return device_series(run, metric)
    role = engine_role(run)
    return [cpu_series(run)[role]] if role else []


def cost_per_row(run: RunRecord, of: FileLoad) -> dict[str, float]:
    """Of the whole load; a figure that was not watched from its begin to its end is absent."""
    found = {}
    for figure, (metric, times) in COSTS.items():
        windows = worked((of.begin_ns, of.end_ns), of.gaps)
        each = [spent(series, windows) for series in watched_for(run, metric)]
        if each and None not in each and of.rows.sum() > 0:
            found[figure] = sum(e for e in each if e is not None) * times / float(of.rows.sum())
    return found


def costs_by_interval(run: RunRecord, of: FileLoad, by: Intervals) -> dict[str, FloatArray]:
    """A value for each interval; nan where no row came."""
    found = {}
    edges_ns = of.at_ns(by.edges_s)
    for figure, (metric, times) in COSTS.items():
        series = watched_for(run, metric)
        if not series or figure not in cost_per_row(run, of):
            continue
        used = np.sum([np.diff(np.interp(edges_ns, *each)) for each in series], axis=0)
        found[figure] = np.divide(used * times, by.rows, out=np.full_like(by.rows, np.nan), where=by.rows > 0)
    return found


def table_bytes(run: RunRecord, of: FileLoad) -> tuple[FloatArray, FloatArray]:
    """(s from the begin of the load, bytes of tables with indexes) each time that they were probed while it went on."""
    looks: dict[int, dict[str, float]] = {}
    for row in run.rows("sizes"):
        size = number(row["value"])
        if size is not None and of.begin_ns <= row["t_ns"] <= of.end_ns:
            looks.setdefault(row["t_ns"], {})[str(row["name"])] = size
    times = sorted(looks)
    return np.array([of.worked_s(t) for t in times]), np.array([bytes_of_tables(looks[t]) for t in times])
