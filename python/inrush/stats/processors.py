"""Where the processors' time went, and what the kernel kept of files meanwhile. Pure.

Of every watched role, and of the host, over the windows that are measured:
    <role>.user_cores, <role>.system_cores      what it computed outside and inside of the kernel; together its busy cores
    host.user_cores, host.system_cores, host.irq_cores      what ran on the machine; interrupts, those of software among them
    host.softirq_cores                          the part of them that software asked for: packets, timers, finished I/O
    host.interrupts_per_s, host.context_switches_per_s      of all processors
    host.loopback_packets_per_s     within the machine by its loopback interface, each once
    host.packets_per_s              by its other interfaces, both ways; one that passes a bridge and its ports counts at each
    host.iowait_cores, host.steal_cores         idle while a device was waited for; taken away by the machine's own host
    host.page_cache_bytes, host.dirty_bytes     the most that was seen in a window; dirty: still to be written, or being written

Where processes were on several hosts, those of each are `host/1.…`, `host/3.…` by its first process, and `host.…` is their
sum, of each kernel once: of no host's alone, and absent where one was not watched. Packets and bytes have no sum: a packet
between two of the hosts would count at both, and the most of each was at another moment.

Results of an inrush that did not watch them have none of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from inrush.stats.gaps import Window
from inrush.stats.hosts import HOST, WatchedHost, each_kernel, host_roles, hosts_of, unwatched
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.thread_types import thread_figures
from inrush.stats.watched import Looks, by_device, spent_in, watched

#: Figure of the host -> its metric.
STATES = {
    "user_cores": "cpu_user_s",
    "system_cores": "cpu_system_s",
    "irq_cores": "cpu_irq_s",
    "softirq_cores": "cpu_softirq_s",
    "iowait_cores": "cpu_iowait_s",
    "steal_cores": "cpu_steal_s",
}
COUNTS = {"interrupts_per_s": "interrupts", "context_switches_per_s": "context_switches"}
LOOPBACK = "lo"
CACHE, DIRTY = "page_cache_bytes", ("dirty_bytes", "writeback_bytes")


def processor_figures(run: RunRecord, windows: Iterable[Window]) -> dict[str, float]:
    windows = list(windows)
    span_s = sum(end - start for start, end in windows) / 1e9
    found = watched(run, {"cpu_s", *STATES.values(), CACHE, *DIRTY})
    if span_s <= 0 or "cpu_user_s" not in found:
        return {}
    spent_s = {
        (role, figure): used
        for figure, metric in STATES.items()
        for role, looks in found.get(metric, {}).items()
        if (used := spent_in(run, looks, windows)) is not None
    }
    for role, looks in found.get("cpu_s", {}).items():
        used, system = spent_in(run, looks, windows), spent_s.get((role, "system_cores"))
        if used is not None and system is not None:
            spent_s[role, "user_cores"] = max(0.0, used - system)
    hosts = hosts_of(run)
    label = {host.role: host.label for host in hosts}
    # Of the same machine's other watch, where inrush itself was beside an end of a pipeline.
    again = {*host_roles(run)} - label.keys()
    figures = {
        f"{label.get(role, role)}.{figure}": s / span_s
        for (role, figure), s in spent_s.items()
        if role not in again
    }
    counted = watched(run, COUNTS.values())
    for host in hosts:
        for figure, metric in COUNTS.items():
            if (
                host.role in counted.get(metric, {})
                and (n := spent_in(run, counted[metric][host.role], windows)) is not None
                and n >= 0  # the kernel's counts of single processors wrap
            ):
                figures[f"{host.label}.{figure}"] = n / span_s
        seen = packets(run, host.role, windows)
        figures |= {f"{host.label}.{figure}": n / span_s for figure, n in seen.items()}
        kept = {CACHE: found.get(CACHE, {}).get(host.role), DIRTY[0]: still_to_be_written(found, host.role)}
        for name, level in kept.items():
            if level is not None and (most := most_in(level, windows)) is not None:
                figures[f"{host.label}.{name}"] = most
    if len(hosts) > 1 and not unwatched(run):
        figures |= of_all(figures, hosts)
    return figures | thread_figures(run, windows)


def of_all(figures: Mapping[str, float], hosts: Sequence[WatchedHost]) -> dict[str, float]:
    """`host.METRIC` of several hosts: their sum. What is of a kernel counts once, however many containers it has."""
    found = {}
    for metric in (*STATES, *COUNTS):
        known = [figures.get(f"{host.label}.{metric}") for host in each_kernel(hosts)]
        if None not in known:
            found[f"{HOST}.{metric}"] = sum(value for value in known if value is not None)
    return found


def packets(run: RunRecord, role: str, windows: list[Window]) -> dict[str, float]:
    """Of a host. Those of the loopback interface are seen twice, as they leave and as they come."""
    found: dict[str, float] = {}
    for metric in ("net_tx_packets", "net_rx_packets"):
        for device, of in by_device(run, metric).items():
            looks = of.get(role)
            if looks is None or (device == LOOPBACK and metric == "net_rx_packets"):
                continue
            if (n := spent_in(run, looks, windows)) is not None:
                figure = "loopback_packets_per_s" if device == LOOPBACK else "packets_per_s"
                found[figure] = found.get(figure, 0.0) + n
    return found


def still_to_be_written(found: dict[str, dict[str, Looks]], role: str) -> Looks | None:
    """Both are read at one look."""
    waiting, writing = (found.get(metric, {}).get(role) for metric in DIRTY)
    if waiting is None or writing is None or len(waiting[0]) != len(writing[0]):
        return waiting
    return waiting[0], waiting[1] + writing[1]


def most_in(level: Looks, windows: Iterable[Window]) -> float | None:
    t_ns, value = level
    inside: FloatArray = np.concatenate([value[(t_ns >= a) & (t_ns <= b)] for a, b in windows])
    return float(inside.max()) if len(inside) else None
