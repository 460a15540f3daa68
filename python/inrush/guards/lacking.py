"""Was it the server that could do no more, or did it lack what other processes took? Pure.

A server that keeps up beside other work keeps up. One that does not, where others took what it lacked, has shown nothing:
without them the same machine does more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inrush.guards.guard import Guard
from inrush.guards.verdicts import Figures, Verdict, invalid, is_embedded, not_checked, paced_roles, passed
from inrush.stats.brackets import WIDEST
from inrush.stats.headroom import idle_share_of
from inrush.stats.hosts import WatchedHost, has_server, hosts_of
from inrush.stats.others import others_share, took_most, worked_windows
from inrush.stats.record import RunRecord, once
from inrush.text import percent

NAME = "server had its processors"
#: With more of all processors idle it could have had those.
IDLE_SHARE = 0.1
#: What says whether a role kept up: below 1 it did not.
KEPT_UP = ("in_time_share", "keeps_up", "achieved_share", "attempted_share")


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
    return [
        f"{role}.{metric}"
        for role in paced_roles(run)
        for metric in KEPT_UP
        if figures.get(f"{role}.{metric}", 1.0) < 1 and not fell_by_failures(figures, role, metric)
    ]


def fell_by_failures(figures: Figures, role: str, metric: str) -> bool:
    """All was sent, and what failed or was refused is missing: processors would have changed nothing."""
    if metric not in KEPT_UP or figures.get(f"{role}.attempted_share", 1.0) < 1:
        return False
    return metric == "achieved_share" or figures.get(f"{role}.refused", 0.0) > 0


def server_had_its_processors(run: RunRecord, figures: Figures) -> Verdict | None:
    late = behind(run, figures)
    if not late:
        return passed(NAME, "Every paced role kept up, whatever else ran") if paced_roles(run) else None
    lack = lack_of(run)
    if lack is not None:
        what = "engine" if is_embedded(run) else "server"
        return invalid(
            NAME,
            f"{said(late)} did not keep up, and {lack.words}: other programs used the CPU that the {what} needed, so this run "
            "cannot show whether it keeps up. Repeat without them",
            figures=late,
            size=lack.others,
        )
    if all(others_share(run, host, worked_windows(run)) is None for host in hosts_of_server(run)):
        return not_checked(
            NAME, "What other processes took is not known: the server, or its machine, was not watched"
        )
    return passed(NAME, "Others took little of the processors, or left some of them idle")


def said(figures: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(name.rsplit(".", 1)[0] for name in figures))


GUARDS = (Guard(NAME, server_had_its_processors, "No role was paced"),)
