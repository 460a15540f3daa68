"""What each part of a pipeline spends while it loads: active threads, disk, network, memory. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from inrush.stats.gaps import Window, gaps_of, worked_in
from inrush.stats.measures import measured_windows
from inrush.stats.record import RunRecord
from inrush.stats.watched import by_device, cumulative, grown

#: Device of what the load servers received of their clients.
RECEIVED = "clients"
#: Figure -> metric of `resources`, device, and what one of its units is divided by.
GROWING: Mapping[str, tuple[str, str, float]] = {
    "active threads": ("cpu_s", "", 1.0),
    "in the kernel": ("cpu_system_s", "", 1.0),
    "disk read, MB/s": ("read_bytes", "", 1e6),
    "disk written, MB/s": ("write_bytes", "", 1e6),
    "received, MB/s": ("net_rx_bytes", RECEIVED, 1e6),
}
MEMORY, DISK = "memory, MB", "disk busy, %"
#: Of results that have no disk by role.
DATA_DISK = "disk of the data"
ROLES = ("client", "load_server", "shards")
#: Threads of the load server that hold a shard: of an embedded engine the shard itself.
SHARD_THREADS = "shard"


def footprint(run: RunRecord) -> dict[str, dict[str, float]]:
    """Figure -> role -> mean over the measured time; of memory the most that was seen."""
    windows = worked_in(measured_windows(run).values(), gaps_of(run))
    span_s = sum(end - start for start, end in windows) / 1e9
    if span_s <= 0:
        return {}
    bytes_by_role: dict[str, dict[str, float]] = {}
    for figure, (metric, device, unit) in GROWING.items():
        held = {role: of for role, of in cumulative(run, metric, device).items() if role in ROLES}
        bytes_by_role[figure] = {
            role: sum(grown(*of, *w) for w in windows) / span_s / unit for role, of in held.items()
        }
    bytes_by_role[DISK] = {role: 100 * busy_s / span_s for role, busy_s in disk_busy_s(run, windows).items()}
    rss = cumulative(run, "rss_bytes")
    inside = {
        role: [v for t, v in zip(*of, strict=True) if any(start <= t <= end for start, end in windows)]
        for role, of in rss.items()
        if role in ROLES
    }
    bytes_by_role[MEMORY] = {role: float(np.max(v)) / 1e6 for role, v in inside.items() if v}
    return {figure: of for figure, of in bytes_by_role.items() if of}


def disk_busy_s(run: RunRecord, windows: Sequence[Window]) -> dict[str, float]:
    """Role -> time in which the disk below its files was busy, the busiest of several. Roles on the same disks are one."""
    busy: dict[str, dict[str, float]] = {}
    for device, looks in by_device(run, "dev_busy_s").items():
        for role, of in looks.items():
            whole = role.partition("/")[0]
            if whole != role and whole not in ROLES:
                continue
            mine = busy.setdefault(whole, {})
            mine[device] = max(mine.get(device, 0.0), sum(grown(*of, *w) for w in windows))
    roles: dict[tuple[str, ...], list[str]] = {}
    for role in (r for r in ROLES if r in busy):
        roles.setdefault(tuple(sorted(busy[role])), []).append(role)
    if not roles and "host" in busy:
        return {DATA_DISK: max(busy["host"].values())}
    return {" and ".join(of): max(busy[of[0]].values()) for of in roles.values()}


def embedded_shard_threads(run: RunRecord) -> float | None:
    """Active threads of the load server that are its embedded shards' sessions; None where shards are servers."""
    table = run.tables.get("resources")
    if table is None or "shards" in cumulative(run, "cpu_s"):
        return None
    names = {
        d
        for r, d, m in zip(*(table.column(c).to_pylist() for c in ("role", "device", "metric")), strict=True)
        if r == "load_server" and m == "cpu_s" and d.startswith(SHARD_THREADS)
    }
    windows = worked_in(measured_windows(run).values(), gaps_of(run))
    span_s = sum(end - start for start, end in windows) / 1e9
    used = sum(
        grown(*of["load_server"], *w)
        for name in names
        if "load_server" in (of := cumulative(run, "cpu_s", name))
        for w in windows
    )
    return used / span_s if names and span_s > 0 else None
