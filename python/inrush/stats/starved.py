"""For which share of its time a role did not run although it should have, and what kept it. Pure.

stood    its process stood still: stopped, frozen, or with the whole machine (`stalls.py`)
queued   its sessions were ready to run and waited for a processor, by the kernel's account of each thread. They also wait
         for each other and for the run's own server: that is the load, and no fault of the client. So of that time counts
         no more than what others can have caused:
others   of the processors that the client may use, what other processes used. Without them the same work had
         taken that much less time, at most
quota    the share of the time in which a control group of the client was held back: no more than the share of its
         periods, nor than what all processors together were held back for
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from inrush.stats.headroom import allowed_cores
from inrush.stats.hosts import CLIENT, WatchedHost, each_kernel, hosts_of, workers_of
from inrush.stats.measures import measured_windows, whole
from inrush.stats.others import host_s, others_share, worked_windows
from inrush.stats.record import RunRecord, once
from inrush.stats.session_time import SessionTime, pages_of, session_time
from inrush.stats.stalls import LONGEST_WAIT_S, Stalls, stalls_of
from inrush.stats.watched import Looks, cumulative, spent_in


@dataclass(frozen=True)
class Starved:
    """Of one role, or of one client. Shares of its time; None: not known."""

    stood: float = 0.0
    queued: float | None = None
    others: float | None = None
    quota: float = 0.0
    #: Where others ran is not known: so much of the client's processors they used at most.
    others_most: float | None = None
    #: It stood still or waited for a processor, which a kernel that does not count cannot tell apart.
    late: float = 0.0

    @property
    def share(self) -> float:
        """What is known of it."""
        return min(1.0, self.stood + min(self.queued or 0.0, (self.others or 0.0) + self.quota))

    @property
    def most(self) -> float:
        """What it may have been where one of the two is not known."""
        bounds = [
            b
            for b in (
                self.queued,
                None if self.others is None else (self.others_most or self.others) + self.quota,
            )
            if b is not None
        ]
        return min(1.0, max(self.stood, self.late) + min(bounds, default=self.quota))


@dataclass(frozen=True)
class HeldBack:
    """By a quota of CPU."""

    share: float = 0.0
    throttled: int = 0
    periods: int = 0


@once
def starved_roles(run: RunRecord) -> dict[str, Starved]:
    """Role, and whole of roles -> what is known of it; of roles with sessions. A page is as slow as its slowest query."""
    found, times = dict[str, Starved](), session_time(run)
    least, most = others_of_client(run) or (None, None)
    quota = held_back(run).share
    stood_s, measured_s = stalled_s(run)
    stood, late = (s / measured_s if measured_s > 0 else 0.0 for s in (stood_s, told_stalls(run).total_s))
    for role in {**times, **{whole(part): None for part in times}}:
        mine = [of for name, of in times.items() if role in (name, whole(name))]
        parts = mine if role in pages_of(run) else [sum(mine, SessionTime())]
        queued = [None if of.queued is None else min(1.0, of.queued / of.had) for of in parts]
        known = [share for share in queued if share is not None]
        waited = max(known) if len(known) == len(queued) else None
        found[role] = Starved(stood, waited, least, quota, most, late)
    return found


def others_of_client(run: RunRecord) -> tuple[float, float] | None:
    """Of the processors that the client may use, what other processes used, where it was most: at least and at most. None
    where one host is not known."""
    clients = {of.kernel for of in workers_of(run) if of.role.partition("/")[0] == CLIENT}
    hosts = [
        host
        for host in each_kernel(hosts_of(run))
        if not clients or host.kernel in clients or not host.kernel
    ]
    shares = [others_over_allowed(run, host) for host in hosts]
    known = [share for share in shares if share is not None]
    if not known or len(known) < len(shares):
        return None
    return max(least for least, _ in known), max(most for _, most in known)


def others_over_allowed(run: RunRecord, host: WatchedHost) -> tuple[float, float] | None:
    """Where a client may use some of the processors, nothing says on which others ran: as far as they can, on the rest."""
    windows = worked_windows(run)
    share, total_s = others_share(run, host, windows), host_s(run, host, "cpu_total_s", windows)
    wall_s = sum(end - begin for begin, end in windows) / 1e9
    if share is None or not total_s or wall_s <= 0:
        return None
    cores = total_s / wall_s
    allowed = min(cores, allowed_cores(run, host.kernel) or inf)
    # Ticks of the kernel do not add up to whole processors.
    rest = cores - allowed if cores - allowed > 0.5 else 0.0
    took = share * cores
    return min(1.0, max(0.0, took - rest) / allowed), min(1.0, took / allowed)


@once
def held_back(run: RunRecord) -> HeldBack:
    """By the quotas of its groups; of several client processes, which may share a group, that of the worst one."""
    windows = worked_windows(run)
    wall_s = sum(end - begin for begin, end in windows) / 1e9
    found = [HeldBack()]
    grown = {
        metric: of_clients(cumulative(run, metric))
        for metric in ("quota_throttled_s", "quota_throttled", "quota_periods")
    }
    for role in grown["quota_throttled_s"]:
        over = [spent_in(run, held[role], windows) or 0.0 for held in grown.values() if role in held]
        if wall_s > 0 and len(over) == len(grown):
            throttled_s, throttled, periods = over
            share = min(throttled_s / wall_s, throttled / periods) if periods else 0.0
            found.append(HeldBack(min(1.0, share), round(throttled), round(periods)))
    return max(found, key=lambda of: of.share)


def of_clients(held: Mapping[str, Looks]) -> dict[str, Looks]:
    """Parts, where there are any: their sum counts a group that they share once for each."""
    parts = {role: of for role, of in held.items() if role.startswith(f"{CLIENT}/")}
    return parts or {role: of for role, of in held.items() if role == CLIENT}


def stalled_s(run: RunRecord) -> tuple[float, float]:
    """Seconds in which the client's process stood still, and all seconds, of the measured repetitions."""
    repetitions: dict[tuple[int, int], float] = {}
    windows = measured_windows(run)
    for totals in run.rows("repetitions"):
        if totals["segment"] in windows:
            key = (totals["segment"], totals["repetition"])
            repetitions[key] = max(repetitions.get(key, 0.0), (totals["end_ns"] - totals["start_ns"]) / 1e9)
    return known_stalls(run).total_s, sum(repetitions.values())


def stalls(run: RunRecord) -> float:
    """How often it stood still."""
    return known_stalls(run).times


def known_stalls(run: RunRecord) -> Stalls:
    """Where the kernel does not count how long a thread waits for a processor, only the longest are no such wait."""
    windows = measured_windows(run)
    if all(r["queued_ns"] is not None for r in run.rows("repetitions") if r["segment"] in windows):
        return told_stalls(run)
    longest = [s for s in each_end(run, "stall_longest_s") if s >= LONGEST_WAIT_S]
    return Stalls(len(longest), sum(longest))


def told_stalls(run: RunRecord) -> Stalls:
    return stalls_of(at_ends(run, "stalls"), at_ends(run, "stall_total_s"))


def longest_stall_s(run: RunRecord) -> float:
    return max(each_end(run, "stall_longest_s"), default=0.0)


def at_ends(run: RunRecord, metric: str) -> float:
    return float(sum(each_end(run, metric)))


def each_end(run: RunRecord, metric: str) -> list[float]:
    """Of the client, said once at the end of each repetition: of those that were measured."""
    t_ns, each = cumulative(run, metric).get(CLIENT, ((), ()))
    windows = measured_windows(run).values()
    return [v for t, v in zip(t_ns, each, strict=True) if any(begin <= t <= end for begin, end in windows)]
