"""The scheduler and the workers of a fleet come when a host, a queue or an image lets them: waited for, within a limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from inrush.errors import TargetError
from inrush.fleet.address import WAIT
from inrush.fleet.checks import workers_said
from inrush.fleet.link import CONNECT_S, Link, Lost, Unreached
from inrush.fleet.waiting import WaitingTime

#: A scheduler that is there takes some time to answer, s.
LEAST_S = 2.0
#: Between two looks at the workers that are there, s.
LOOK_EACH_S = 0.25


def connected(address: str, waiting: WaitingTime, note: Callable[[str], None]) -> Link:
    """Raises TargetError if no scheduler was there in time. One that is not there at first is said, and waited for."""
    with waiting.taken():
        wait_s = waiting.left_s
        soon_s = min(CONNECT_S, max(wait_s, LEAST_S))
        try:
            return Link(address, soon_s)
        except Unreached as e:
            if wait_s <= soon_s:
                raise
            note(f"{e}; waited for up to {wait_s:.3g} s")
        return Link(address, wait_s - soon_s)


def await_workers(
    link: Link,
    wanted: int,
    waiting: WaitingTime,
    note: Callable[[str], None],
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Until so many workers are there. Raises TargetError with those that came, if they are fewer when it is at its end."""
    with waiting.taken():
        until_there(link, wanted, waiting, note, pause)


def until_there(
    link: Link, wanted: int, waiting: WaitingTime, note: Callable[[str], None], pause: Callable[[float], None]
) -> None:
    wait_s, clock = waiting.left_s, waiting.clock
    end, said = clock() + wait_s, -1
    while True:
        try:
            there = link.workers()
        except Lost as e:
            raise TargetError(str(e)) from None
        if len(there) >= wanted:
            return
        if clock() >= end:
            raise TargetError(missing(link.address, there, wanted, waiting.limit_s))
        if len(there) != said:
            more = f"; those that are missing are waited for up to {wait_s:.3g} s" if said < 0 else ""
            note(f"fleet: {len(there)} of {wanted} workers {'is' if len(there) == 1 else 'are'} there{more}")
            said = len(there)
        pause(LOOK_EACH_S)


def missing(address: str, there: Mapping[str, Mapping[str, Any]], wanted: int, wait_s: float) -> str:
    """Workers that came, by name, so that those that did not are found."""
    came = workers_said(there)
    logs = "log of the one that is" if wanted - len(there) == 1 else "logs of those that are"
    fewer = f", or say `-P clients={len(there)}`" if there else ""
    return (
        f"{address}: {len(there)} of {wanted} workers came in {wait_s:g} s, one for each client process"
        f"{f' ({came})' if came else ''}; look at the {logs} missing, wait longer with {WAIT}{fewer}"
    )
