"""What a server lacked that other processes took, and by which figures its roles did not keep up. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from inrush.analysis.run_facts import is_embedded
from inrush.analysis.verdicts import Figures
from inrush.stats.brackets import WIDEST
from inrush.stats.headroom import idle_share_of
from inrush.stats.hosts import WatchedHost, has_server, hosts_of
from inrush.stats.others import others_share, took_most, worked_windows
from inrush.stats.paced import paced_roles, slower_than_due
from inrush.stats.record import RunRecord, once
from inrush.text import percent

#: With more of all processors idle it could have had those.
IDLE_SHARE = 0.1


#: What says of every call whether it was in time; where a role has neither, its rate tells.
IN_TIME = ("in_time_share", "keeps_up")
#: What says whether a role kept up: below 1 it did not.
KEPT_UP = (*IN_TIME, "achieved_share", "attempted_share")


@dataclass(frozen=True)
class Lack:
    """Of processors that a server would have had without other processes."""

    others: float
    idle: float
    #: The processes that took them; empty where they are not known.
    takers: str

    @property
    def words(self) -> str:
        named = f" ({self.takers})" if self.takers else ""
        return f"other processes took {percent(self.others)} of the processors{named} and left {percent(self.idle)} idle"


@once
def lack_of(run: RunRecord) -> Lack | None:
    """None where no server was watched, and where others took no more than 5 % of its machine, which is what a figure may be
    off by, or left some of it idle."""
    windows = worked_windows(run)
    for host in hosts_of_server(run):
        others, idle = others_share(run, host, windows), idle_share_of(run, host)
        if others is not None and idle is not None and others > 1 - 1 / WIDEST and idle < IDLE_SHARE:
            return Lack(others, idle, took_most(run))
    return None


def hosts_of_server(run: RunRecord) -> list[WatchedHost]:
    """Those that were watched, with a server that was or an engine in the client's process."""
    return [host for host in hosts_of(run) if is_embedded(run) or has_server(run, host)]


def lacked(run: RunRecord, figures: Figures, figure: str) -> Lack | None:
    """What leaves a decision against the server by this figure open. A wrong answer is wrong beside whatever ran."""
    role, metric = figure.rsplit(".", 1)
    return None if metric == "wrong" or fell_by_failures(figures, role, metric) else lack_of(run)


def behind(run: RunRecord, figures: Figures) -> list[str]:
    """Figures by which a paced role did not keep up."""
    by_share = {
        role: [
            f"{role}.{metric}"
            for metric in KEPT_UP
            if figures.get(f"{role}.{metric}", 1.0) < 1 and not fell_by_failures(figures, role, metric)
        ]
        for role in paced_roles(run)
    }
    slower = [
        role
        for role in slower_than_due(run, figures)
        if not by_share[role] and not any(f"{role}.{metric}" in figures for metric in IN_TIME)
    ]
    return [*chain.from_iterable(by_share.values()), *(f"{role}.attempts_per_s" for role in slower)]


def fell_by_failures(figures: Figures, role: str, metric: str) -> bool:
    """All was sent, and what failed or was refused is missing: processors would have changed nothing."""
    if metric not in KEPT_UP or figures.get(f"{role}.attempted_share", 1.0) < 1:
        return False
    return metric == "achieved_share" or figures.get(f"{role}.refused", 0.0) > 0
