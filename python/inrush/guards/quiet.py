"""Whether the machines of a run did something else meanwhile, each host by itself; the worst one is named. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inrush.analysis.run_facts import is_embedded
from inrush.analysis.verdicts import Figures, Verdict, not_checked, noted, passed
from inrush.guards.guard import About, Guard
from inrush.stats.gaps import Window
from inrush.stats.hosts import WatchedHost, hosts_of, on, unwatched
from inrush.stats.others import host_s, others_share, worked_windows
from inrush.stats.record import RunRecord
from inrush.stats.steal_free import STEAL_SHARE
from inrush.text import percent

NAME = "quiet machine"
OTHERS = "other processes"
#: Of each: the processors' time, or the time, or what TCP sent. Other processes: of all cores, those that are not ours.
LIMITS: Mapping[str, float] = {
    "steal": STEAL_SHARE,
    "CPU pressure": 0.05,
    "memory pressure": 0.01,
    OTHERS: 0.03,
    "TCP segments sent again": 0.01,
}
#: What a machine that nothing else runs on has of the run's own client and server.
OWN = ("CPU pressure", "memory pressure")
#: Of fewer segments a share says nothing of a way.
LEAST_SEGMENTS = 500

#: What it is -> its share.
Noise = Mapping[str, float]


def quiet_machine(run: RunRecord, _: Figures) -> Verdict | None:
    """Steal, pressure, other processes' CPU and segments that were lost, in the measured segments. Never more than a note.

    Where other processes use next to nothing, pressure is that of the run's own client and server.
    """
    each = noise_by_host(run)
    if not any(shares for _, shares in each):
        return None
    loud = [said_loud(what, each) for what in LIMITS if any(is_loud(what, shares) for _, shares in each)]
    if loud:
        most = max(
            share / LIMITS[what]
            for _, shares in each
            for what, share in shares.items()
            if is_loud(what, shares)
        )
        said = f"{', '.join(loud)}: expect wider intervals; repeat on a quiet machine to publish"
        return noted(NAME, said, size=most)
    watched = ", ".join(said for what in LIMITS if (said := said_watched(what, each)))
    if lacks := unwatched(run):
        return not_checked(NAME, f"Not watched: {', '.join(lacks)}. Of {each[0][0].name}: {watched}")
    return passed(
        NAME, f"As far as the host{'s report, at most' if len(each) > 1 else ' reports'}: {watched}"
    )


def is_loud(what: str, shares: Noise) -> bool:
    return shares.get(what, 0.0) > LIMITS[what] and not is_own(what, shares)


def is_own(what: str, shares: Noise) -> bool:
    return what in OWN and shares.get(OTHERS, 1.0) <= LIMITS[OTHERS]


def said_loud(what: str, each: Sequence[tuple[WatchedHost, Noise]]) -> str:
    found = sorted(
        ((host, shares[what]) for host, shares in each if is_loud(what, shares)), key=lambda one: -one[1]
    )
    more = f", beyond it on {len(found)} of {len(each)} hosts" if len(found) > 1 else ""
    host, share = found[0]
    return f"{what} {percent(share, 1)}{on(host)} (limit {percent(LIMITS[what])}{more})"


def said_watched(what: str, each: Sequence[tuple[WatchedHost, Noise]]) -> str:
    """Of several hosts the worst one."""
    known = [(host, shares) for host, shares in each if what in shares]
    if not known:
        return ""
    host, shares = max(known, key=lambda one: one[1][what])
    limit = "of the run itself" if shares[what] > LIMITS[what] else f"limit {percent(LIMITS[what])}"
    return f"{what} {percent(shares[what], 1)}{on(host)} ({limit})"


def worst(run: RunRecord, what: str) -> tuple[float, WatchedHost] | None:
    """The largest share of one of these, and its host; None where no host says it."""
    known = [(shares[what], host) for host, shares in noise_by_host(run) if what in shares]
    return max(known, key=lambda one: one[0], default=None)


def noise_by_host(run: RunRecord) -> list[tuple[WatchedHost, Noise]]:
    windows = worked_windows(run)
    return [(host, noise(run, host, windows)) for host in hosts_of(run)]


def noise(run: RunRecord, host: WatchedHost, windows: Sequence[Window]) -> Noise:
    def over_windows(metric: str) -> float | None:
        return host_s(run, host, metric, windows)

    wall_s = sum(end - start for start, end in windows) / 1e9
    total_s, steal_s = (over_windows(f"cpu_{what}_s") for what in ("total", "steal"))
    shares = {}
    if total_s and steal_s is not None:
        shares["steal"] = steal_s / total_s
    if (others := others_share(run, host, windows)) is not None:
        shares[OTHERS] = others
    # Whether pressure is the run's own is known by what else its processors did.
    judged = wall_s > 0 and not host.may_have_server
    if judged and (pressure_s := over_windows("psi_cpu_some_s")) is not None:
        shares["CPU pressure"] = pressure_s / wall_s
    # Of one host it may be what the study asks for: a server that is held to too little memory.
    if host.name and judged and (pressure_s := over_windows("psi_memory_some_s")) is not None:
        shares["memory pressure"] = pressure_s / wall_s
    sent, again = over_windows("tcp_segments"), over_windows("tcp_segments_again")
    if sent is not None and again is not None and sent + again >= LEAST_SEGMENTS and not is_embedded(run):
        shares["TCP segments sent again"] = again / (sent + again)
    return shares


GUARDS = (Guard(About.MACHINE, NAME, quiet_machine, "The host was not watched", of_conditions=True),)
