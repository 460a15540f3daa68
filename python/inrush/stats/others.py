"""What ran on the machines of a run that was none of its own, as CPU time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inrush.stats.gaps import Window, gaps_of, worked_in
from inrush.stats.hosts import WatchedHost
from inrush.stats.measures import measured_windows
from inrush.stats.record import RunRecord
from inrush.stats.watched import Looks, cumulative, spent_in, wholes


def worked_windows(run: RunRecord) -> list[Window]:
    """The measured segments without gaps, in which nothing of the run went on."""
    return worked_in(measured_windows(run).values(), gaps_of(run))


def others_share(run: RunRecord, host: WatchedHost, windows: Sequence[Window]) -> float | None:
    """Of all processors' time on a host, what other processes used; None where it is not known of some process of ours, or
    a server was not watched."""
    total_s, busy_s, steal_s = (
        host_s(run, host, f"cpu_{what}_s", windows) for what in ("total", "busy", "steal")
    )
    ours_s = ours_in(run, host, windows)
    if not total_s or busy_s is None or ours_s is None:
        return None
    return max(0.0, busy_s - ours_s - (steal_s or 0.0)) / total_s


def host_s(run: RunRecord, host: WatchedHost, metric: str, windows: Sequence[Window]) -> float | None:
    """By how much a cumulative metric of a host grew."""
    held = cumulative(run, metric).get(host.role)
    return None if held is None else spent_in(run, held, windows)


def ours_in(run: RunRecord, host: WatchedHost, windows: Sequence[Window]) -> float | None:
    """CPU time on this host of what was watched; None where it is not known of some, or a server was not watched."""
    if host.may_have_server:
        return None
    over = [spent_in(run, looks, windows) for looks in ours_on(cumulative(run, "cpu_s"), host)]
    return sum(s for s in over if s is not None) if over and None not in over else None


def ours_on(held: Mapping[str, Looks], host: WatchedHost) -> list[Looks]:
    if host.roles is None:
        return wholes(held)
    return [held[role] for role in host.roles] if set(host.roles) <= held.keys() else []


def took_most(run: RunRecord) -> str:
    """`rustc (process 4242) 1.2, python3 (process 17) 0.1 cores`: other processes, over the whole run; empty where none is known."""
    others = run.summary.get("others") or ()
    begun, ended = run.summary.get("begun_unix_ns"), run.summary.get("ended_unix_ns")
    if not others or not begun or not ended:
        return ""
    each = [
        f"{o['program']} (process {o['pid']}) {o['cpu_s'] / max((ended - begun) / 1e9, 1e-9):.2g}"
        for o in others
    ]
    return f"{', '.join(each)} cores"
