"""What swings with a wave of throughput: other roles, counters, devices, processors, packets, the client. Pure.

Throughput moves much by itself: CPU, bytes and packets of the work rise and fall with it. So a cause is high while
throughput is low. The exceptions are how many calls leave together, which does not follow from how many there are, and
counters, which tick when something ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from inrush.stats.coherence import Coherence, coherence
from inrush.stats.hosts import hosts_of, on
from inrush.stats.measures import measured_windows, whole
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.role_series import role_series
from inrush.stats.steps import number

#: Chance that any of all series that are tried is called a cause and has nothing to do with the wave.
FALSE_CAUSES = 0.01
#: Series whose coherence differs by less say the same, and the kind that comes first names the cause.
NEAR = 0.05
#: From here on calls of another role are the cause, also where what they press on follows throughput more closely: a few
#: calls, each counted when it ends, are a coarse series.
CALLED = 0.6
#: Kinds of series, from what names a cause to what shows only where it presses.
LATENESS = "lateness of the client"
KINDS = ("counter", "calls", LATENESS, "calls per send", "device", "memory", "processor", "pressure")
#: Kinds that are a cause whichever way they swing.
EITHER_WAY = ("counter", "calls per send", LATENESS)
#: Metric of `resources` -> kind, and how it is said; `{role}` and `{device}` stand for its own.
CUMULATIVE = {
    "cpu_s": ("processor", "CPU of {role}{device}"),
    "write_bytes": ("device", "bytes that {role} wrote"),
    "read_bytes": ("device", "bytes that {role} read"),
    "dev_busy_s": ("device", "the time in which {device} was busy"),
    "dev_write_bytes": ("device", "bytes written to {device}"),
    "dev_read_bytes": ("device", "bytes read from {device}"),
    "cpu_steal_s": ("processor", "steal"),
    "cpu_softirq_s": ("processor", "CPU of software interrupts"),
    "psi_io_some_s": ("pressure", "pressure on I/O"),
    "psi_cpu_some_s": ("pressure", "pressure on CPU"),
    "psi_memory_some_s": ("pressure", "pressure on memory"),
}
LEVELS = {
    "dirty_bytes": ("memory", "bytes that wait to be written"),
    "writeback_bytes": ("memory", "bytes being written back"),
}


@dataclass(frozen=True)
class WaveCause:
    kind: str
    #: As people read it: `calls of checkpoints`.
    name: str
    #: Squared coherence with throughput at the wave's period.
    share: float
    #: Corrected for all series that were tried.
    p: float
    opposed: bool


@dataclass(frozen=True)
class Companion:
    kind: str
    name: str
    #: One value a step of the throughput.
    values: FloatArray


def causes(
    run: RunRecord, role: str, t_s: FloatArray, dt_s: float, rate: FloatArray, period: float
) -> tuple[tuple[WaveCause, ...], int]:
    """(what swings with the wave, the likeliest first; how many series were tried). period: in steps.

    t_s: begins of the steps.
    """
    edges = np.append(t_s, t_s[-1] + dt_s)
    return swinging(rate, companions(run, role, edges, period * dt_s), period)


def swinging(
    rate: FloatArray, beside: Iterable[Companion], period: float
) -> tuple[tuple[WaveCause, ...], int]:
    """The same of any series of throughput and those beside it."""
    tried, found = 0, []
    for companion in beside:
        seen = coherence(rate, companion.values, len(rate) / period)
        if seen is None:
            continue
        tried += 1
        if seen.opposed or companion.kind in EITHER_WAY:
            found.append((companion, seen))
    held = [cause(*of, tried) for of in found if of[1].p * tried < FALSE_CAUSES]
    return tuple(likeliest_first(held)), tried


def cause(companion: Companion, seen: Coherence, tried: int) -> WaveCause:
    return WaveCause(companion.kind, companion.name, seen.share, min(1.0, seen.p * tried), seen.opposed)


def likeliest_first(held: list[WaveCause]) -> list[WaveCause]:
    near = max((c.share for c in held), default=0.0) - NEAR

    def first(c: WaveCause) -> bool:
        return c.share >= near or (c.kind == "calls" and c.share >= CALLED)

    return sorted(held, key=lambda c: (KINDS.index(c.kind) if first(c) else len(KINDS), -c.share))


def companions(run: RunRecord, role: str, edges: FloatArray, period_s: float) -> Iterator[Companion]:
    """Series that are looked at at least twice a period."""
    yield from other_roles(run, role, edges)
    yield from counters(run, edges, period_s)
    yield from lateness(run, role, edges)
    yield from packets(run, role, edges)
    yield from resources(run, edges, period_s)


def other_roles(run: RunRecord, role: str, edges: FloatArray) -> Iterator[Companion]:
    for name, of in role_series(run).items():
        if name != role and of.ops.any():
            yield Companion("calls", f"calls of {name}", grown(edges, of.t_s + of.dt_s, np.cumsum(of.ops)))


def counters(run: RunRecord, edges: FloatArray, period_s: float) -> Iterator[Companion]:
    """Of the engine, where they are sampled while it works (`record.sizes_s`)."""
    looks: dict[str, list[tuple[float, float]]] = {}
    windows = measured_windows(run)
    for row in run.rows("counters"):
        if row["segment"] in windows and (value := number(row["value"])) is not None:
            looks.setdefault(row["name"], []).append((row["t_ns"] / 1e9, value))
    for name, of in looks.items():
        t, value = np.array(sorted(of)).T
        if often_enough(t, period_s):
            yield Companion("counter", name, grown(edges, t, value))


def lateness(run: RunRecord, role: str, edges: FloatArray) -> Iterator[Companion]:
    """The instrument's own delay of each call, of paced roles."""
    table = run.tables.get("hist")
    if table is None or table.num_rows == 0:
        return
    windows = measured_windows(run)
    columns = table.select(["segment", "role", "kind", "t_ns", "dt_ns", "sum_ns"]).to_pydict()
    held: dict[float, float] = {}
    for segment, of, kind, t_ns, dt_ns, sum_ns in zip(*columns.values(), strict=True):
        if kind == "lag" and segment in windows and whole(of) == role:
            end_s = (t_ns + dt_ns) / 1e9
            held[end_s] = held.get(end_s, 0.0) + sum_ns
    if len(held) > 1:
        t = np.array(sorted(held))
        yield Companion(LATENESS, LATENESS, grown(edges, t, np.cumsum([held[end] for end in t.tolist()])))


def packets(run: RunRecord, role: str, edges: FloatArray) -> Iterator[Companion]:
    windows, sums = measured_windows(run), dict[float, list[float]]()
    for row in run.rows("sends"):
        if row["segment"] in windows and whole(row["role"]) == role:
            cell = sums.setdefault((row["t_ns"] + row["dt_ns"]) / 1e9, [0.0, 0.0])
            cell[0] += row["ops"]
            cell[1] += row["sends"]
    if len(sums) < 2:
        return
    t = np.array(sorted(sums))
    calls, sends = np.cumsum(np.array([sums[end] for end in t.tolist()]), axis=0).T
    in_step, sent = grown(edges, t, calls), grown(edges, t, sends)
    mean = float(calls[-1] / max(1.0, sends[-1]))
    together = np.divide(in_step, sent, out=np.full(len(sent), mean), where=sent > 0)
    yield Companion("calls per send", f"calls per send of {role}", together)


def resources(run: RunRecord, edges: FloatArray, period_s: float) -> Iterator[Companion]:
    table = run.tables.get("resources")
    if table is None or table.num_rows == 0:
        return
    where = {host.role: on(host) for host in hosts_of(run)}
    for (role, metric, device), (t, value) in by_series(table).items():
        if not often_enough(t, period_s):
            continue
        if metric in CUMULATIVE:
            kind, said = CUMULATIVE[metric]
            values = grown(edges, t, value)
        elif metric in LEVELS:
            kind, said = LEVELS[metric]
            values = np.interp((edges[1:] + edges[:-1]) / 2, t, value)
        else:
            continue
        thread = f", thread {device}" if metric == "cpu_s" and device else device
        yield Companion(kind, said.format(role=role, device=thread) + where.get(role, ""), values)


def by_series(table: pa.Table) -> dict[tuple[str, str, str], tuple[FloatArray, FloatArray]]:
    """(role, metric, device) -> looks in time order, s."""
    names = [table.column(c).combine_chunks().dictionary_encode() for c in ("role", "metric", "device")]
    codes = np.column_stack([n.indices.to_numpy(zero_copy_only=False) for n in names])
    t = table.column("t_ns").to_numpy().astype(np.float64) / 1e9
    value = table.column("value").to_numpy()
    kinds, of = np.unique(codes, axis=0, return_inverse=True)
    order = np.lexsort((t, of.ravel()))
    starts = np.searchsorted(of.ravel()[order], np.arange(len(kinds) + 1))
    words = [n.dictionary.to_pylist() for n in names]
    return {
        (words[0][a], words[1][b], words[2][c]): (t[order[i:j]], value[order[i:j]])
        for (a, b, c), i, j in zip(kinds.tolist(), starts[:-1], starts[1:], strict=True)
    }


def often_enough(t: FloatArray, period_s: float) -> bool:
    return len(t) > 1 and float(np.median(np.diff(t))) <= period_s / 2


def grown(edges: FloatArray, t: FloatArray, total: FloatArray) -> FloatArray:
    """By how much a cumulative figure grew in each step, linear between looks."""
    found: FloatArray = np.diff(np.interp(edges, t, total))
    return found
