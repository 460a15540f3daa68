"""Hosts that processes of a run were on, each by itself: what it had left, and what was taken from it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from inrush.analysis.points import Analysis, Measured
from inrush.guards.quiet import noise
from inrush.report.html import Cells, number, table
from inrush.stats.gaps import Window
from inrush.stats.headroom import idle_share_of
from inrush.stats.hosts import WatchedHost, hosts_of, unwatched
from inrush.stats.others import worked_windows
from inrush.stats.processors import LOOPBACK
from inrush.stats.quantity import show
from inrush.stats.record import RunRecord
from inrush.stats.watched import by_device, cumulative, spent_in
from inrush.text import percent

#: Column -> how a share is called in `guards.quiet`.
NOISE = {
    "steal": "steal", "CPU pressure": "CPU pressure", "memory pressure": "memory pressure",
    "other processes": "other processes", "TCP sent again": "TCP segments sent again",
}  # fmt: skip
NETWORK = {"received": "net_rx_bytes", "sent": "net_tx_bytes"}


def client_hosts_table(analysis: Analysis) -> str:
    """A row for each host of runs whose processes were on several; nothing where none were."""
    held: dict[str, list[tuple[Measured, WatchedHost]]] = {}
    blind: set[str] = set()
    for m in analysis.runs:
        if m.counts:
            blind.update(unwatched(m.run))
            for host in hosts_of(m.run):
                if host.name:
                    held.setdefault(host.name, []).append((m, host))
    if not held:
        return ""
    lacks = f" Not watched: {escape(', '.join(sorted(blind - held.keys())))}." if blind - held.keys() else ""
    caption = (
        "Each host by itself, over the measured time of all runs: of idle processors and free memory the least, of all else the most "
        f"of any run. Containers of one machine see its processors and memory, and interfaces of their own.{lacks}"
    )
    header = ["host", "watched there", "#busy with it, cores", "#idle", *(f"#{name}" for name in NOISE), "#memory free",
              *(f"#{name}, a second" for name in NETWORK)]  # fmt: skip
    rows = [row_of(name, of) for name, of in held.items()]
    return f'<p class="expected">{caption}</p>' + table(header, rows)


def row_of(name: str, of: Sequence[tuple[Measured, WatchedHost]]) -> Cells:
    noises = [noise(m.run, host, worked_windows(m.run)) for m, host in of]
    shares = [max((n[what] for n in noises if what in n), default=None) for what in NOISE.values()]
    idle = least(idle_share_of(m.run, host) for m, host in of)
    busy = most(busy_cores(m.figures, host) for m, host in of)
    free = least(memory_free(m.run, host) for m, host in of)
    rates = [most(bytes_per_s(m.run, host, metric) for m, host in of) for metric in NETWORK.values()]
    roles = dict.fromkeys(role for _, host in of for role in host.roles or ())
    return [
        escape(name),
        escape(", ".join(roles)),
        shown(busy, "x.busy_cores"),
        share_shown(idle),
        *map(share_shown, shares),
        shown(free, "x.rss_bytes"),
        *(shown(rate, "x.bytes_per_s") for rate in rates),
    ]


def shown(value: float | None, figure: str) -> str:
    return number("–" if value is None else show(value, figure))


def share_shown(share: float | None) -> str:
    return number("–" if share is None else percent(share, 1))


def busy_cores(figures: Mapping[str, float], host: WatchedHost) -> float | None:
    each = [figures.get(f"{role}.busy_cores") for role in host.roles or ()]
    return sum(cores for cores in each if cores is not None) if each and None not in each else None


def memory_free(run: RunRecord, host: WatchedHost) -> float | None:
    looks = cumulative(run, "mem_available_bytes").get(host.role)
    if looks is None:
        return None
    t_ns, value = looks
    return least(
        float(value[inside].min())
        for begin, end in worked_windows(run)
        if (inside := (t_ns >= begin) & (t_ns <= end)).any()
    )


def bytes_per_s(run: RunRecord, host: WatchedHost, metric: str) -> float | None:
    """By all interfaces but the loopback one; what passes a bridge and its ports counts at each."""
    windows = worked_windows(run)
    span_s = seconds(windows)
    if span_s <= 0:
        return None
    each = [of.get(host.role) for device, of in by_device(run, metric).items() if device != LOOPBACK]
    spent = [spent_in(run, looks, windows) for looks in each if looks is not None]
    return sum(s for s in spent if s is not None) / span_s if spent and None not in spent else None


def seconds(windows: Sequence[Window]) -> float:
    return sum(end - begin for begin, end in windows) / 1e9


def least(values: Iterable[float | None]) -> float | None:
    return min((v for v in values if v is not None), default=None)


def most(values: Iterable[float | None]) -> float | None:
    return max((v for v in values if v is not None), default=None)
