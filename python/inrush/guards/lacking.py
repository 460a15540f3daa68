"""Was it the server that could do no more, or did it lack what other processes took? Pure.

A server that keeps up beside other work keeps up. One that does not, where others took what it lacked, has shown nothing:
without them the same machine does more.
"""

from __future__ import annotations

from collections.abc import Sequence

from inrush.analysis.lack import behind, hosts_of_server, lack_of
from inrush.analysis.run_facts import is_embedded
from inrush.analysis.verdicts import Figures, Verdict, invalid, not_checked, passed
from inrush.guards.guard import About, Guard
from inrush.metrics import slowed_alike
from inrush.stats.measures import whole
from inrush.stats.others import others_share, worked_windows
from inrush.stats.paced import paced_roles
from inrush.stats.record import RunRecord

NAME = "server had its processors"
RATES = slowed_alike("rate", "work")


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
            figures=list(dict.fromkeys((*late, *rates_of(late, figures)))),
            size=lack.others,
        )
    if all(others_share(run, host, worked_windows(run)) is None for host in hosts_of_server(run)):
        return not_checked(
            NAME, "What other processes took is not known: the server, or its machine, was not watched"
        )
    return passed(NAME, "Others took little of the processors, or left some of them idle")


def rates_of(late: Sequence[str], figures: Figures) -> list[str]:
    """Rates and makespans of roles that did not keep up: what was left to the server, and not what it can do."""
    parts = [name.rsplit(".", 1)[0] for name in late]
    roles = dict.fromkeys(role for part in parts for role in (part, whole(part)))
    return [name for role in roles for rate in RATES if (name := f"{role}.{rate}") in figures]


def said(figures: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(name.rsplit(".", 1)[0] for name in figures))


GUARDS = (Guard(About.SERVER, NAME, server_had_its_processors, "No role was paced"),)
