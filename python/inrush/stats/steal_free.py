"""Steal-free windows of a run: figures without the time in which the host took processors, beside those with it. Pure.

A host of virtual machines takes processors away (steal); what falls due meanwhile is late by no fault of the engine or
of the client. Nothing is deleted for that: figures and verdicts are of the whole run. The steal-free part shows whether the
lateness was the host's. It is no fair sample of the work: steal falls on machines that are busy, so that busy moments are rarer in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from inrush.stats.hosts import hosts_of, unwatched
from inrush.stats.measures import histogram_figures, measured_windows, role_histograms, whole
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.samples import role_samples, sample_figures
from inrush.stats.watched import cumulative

#: Up to this share of the processors' time a host counts as having left us alone: two ticks of a second on two cores.
STEAL_SHARE = 0.01

#: (begin_ns, end_ns), arrays of one length -> share of the processors' time that the host took in each.
StealIn = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class StealFree:
    """What a run did in the intervals in which its host took at most STEAL_SHARE."""

    #: Seconds of such intervals, and of all intervals that were measured.
    seconds: float
    of_s: float
    #: Named as `measures.figures_of_run` names them: of histograms (by the interval in which a call ended) and samples.
    figures: Mapping[str, float]


def steal_free_part(run: RunRecord) -> StealFree | None:
    """None where the host does not report what it takes, or no interval was measured."""
    steal_in, windows = steal_share_of(run), measured_windows(run)
    held = run.tables.get("hist")
    if steal_in is None or held is None:
        return None
    measured = held.filter(pa.array(np.isin(held.column("segment").to_numpy(), list(windows))))
    if measured.num_rows == 0:
        return None
    begin_ns, dt_ns = (measured.column(c).to_numpy().astype(np.float64) for c in ("t_ns", "dt_ns"))
    left_alone = steal_in(begin_ns, begin_ns + dt_ns) <= STEAL_SHARE
    # Only what is asked below: a table of a run is read when it is first touched.
    tables = {
        "hist": measured.filter(pa.array(left_alone)),
        "samples": steal_free_samples(run, steal_in),
        "intervals": steal_free_intervals(run, steal_in),
    }
    part = replace(run, tables={name: t for name, t in tables.items() if t is not None}, _rows={})
    figures: dict[str, float] = {}
    for (role, kind), histogram in role_histograms(part, windows).items():
        figures |= {f"{role}.{kind}_{name}": value for name, value in histogram_figures(histogram).items()}
    for role, sampled in role_samples(part, windows).items():
        figures |= {f"{role}.{name}": value for name, value in sample_figures(sampled).items()}
    return StealFree(covered_s(begin_ns[left_alone], dt_ns[left_alone]), covered_s(begin_ns, dt_ns), figures)


def steal_share_of(run: RunRecord) -> StealIn | None:
    """Steal: processor time that the host took is counted several times a second: a stretch is asked with one count more at each end.

    Of several hosts that of the one which lost most; None where one does not say.
    """
    each = [of_host for host in hosts_of(run) if (of_host := steal_share_of_host(run, host.role)) is not None]
    if not each or len(each) < len(hosts_of(run)) or unwatched(run):
        return None

    def worst(begin_ns: FloatArray, end_ns: FloatArray) -> FloatArray:
        found: FloatArray = np.maximum.reduce([of_host(begin_ns, end_ns) for of_host in each])
        return found

    return worst


def steal_share_of_host(run: RunRecord, role: str) -> StealIn | None:
    steal, total = (cumulative(run, metric).get(role) for metric in ("cpu_steal_s", "cpu_total_s"))
    if steal is None or total is None or len(steal[0]) < 2:
        return None
    margin_ns = float(np.median(np.diff(steal[0])))

    def share(begin_ns: FloatArray, end_ns: FloatArray) -> FloatArray:
        took_s, had_s = (
            np.interp(end_ns + margin_ns, *series) - np.interp(begin_ns - margin_ns, *series)
            for series in (steal, total)
        )
        found: FloatArray = np.divide(took_s, had_s, out=np.zeros_like(took_s), where=had_s > 0)
        return found

    return share


def steal_free_samples(run: RunRecord, steal_in: StealIn) -> pa.Table | None:
    """Parts of the samples that the host left alone from their due until the last of their parts was stored."""
    held = run.tables.get("samples")
    if held is None or held.num_rows == 0:
        return held
    keys = list(
        zip(
            *(held.column(c).to_pylist() for c in ("segment", "repetition", "sample")),
            map(whole, held.column("role").to_pylist()),
            strict=True,
        )
    )
    number = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    of_row = np.array([number[key] for key in keys], np.int64)
    due_ns, done_ns = (held.column(c).to_numpy().astype(np.float64) for c in ("due_ns", "done_ns"))
    begin_ns, end_ns = np.full(len(number), np.inf), np.zeros(len(number))
    np.minimum.at(begin_ns, of_row, due_ns)
    np.maximum.at(end_ns, of_row, np.maximum(due_ns, done_ns))
    left_alone: NDArray[np.bool_] = steal_in(begin_ns, end_ns) <= STEAL_SHARE
    return held.filter(pa.array(left_alone[of_row]))


def steal_free_intervals(run: RunRecord, steal_in: StealIn) -> pa.Table | None:
    held = run.tables.get("intervals")
    if held is None or held.num_rows == 0:
        return held
    begin_ns, dt_ns = (held.column(c).to_numpy().astype(np.float64) for c in ("t_ns", "dt_ns"))
    return held.filter(pa.array(steal_in(begin_ns, begin_ns + dt_ns) <= STEAL_SHARE))


def covered_s(begin_ns: FloatArray, dt_ns: FloatArray) -> float:
    """Seconds that intervals cover together: those of several roles lie over one another."""
    if not len(begin_ns):
        return 0.0
    order = np.argsort(begin_ns, kind="stable")
    begins = begin_ns[order]
    ends = np.maximum.accumulate(begins + dt_ns[order])
    before = np.append(begins[:1], ends[:-1])
    return float(np.maximum(0.0, ends - np.maximum(begins, before)).sum()) / 1e9
