"""Where a study is, how fast the run in hand goes now, and how much time is left: from what the core says of it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Mapping
from typing import Any

from inrush.border.events import Event, Progress, RoleProgress
from inrush.plan.calibration import is_price
from inrush.stats.measures import call_gaps_s

#: Rates are over so long: samples that come every few seconds are in it as often as they come.
RECENT_NS = 10_000_000_000


#: A paced role is behind when so much of its schedule is due and not done; less is what is under way.
BEHIND_S = 1.0


class StudyClock:
    """Where a study is, from what the core says of the run in hand."""

    def __init__(self) -> None:
        self.n = self.of = 0
        self.point = ""
        self.block = 0
        self.last: Progress | None = None
        self.writers: Collection[str] = ()
        self.gaps_s: Mapping[str, float] = {}
        self.recent = Recent()
        self.run_began_s = time.monotonic()
        self.took_s: list[float] = []
        #: Without runs on the null engine, which are shorter than those of the study.
        self.points_s: list[float] = []
        #: What the schedules of the run in hand ask for; None where its work says when it ends.
        self.timed_s: float | None = None

    def begun(
        self,
        n: int,
        of: int,
        point: str,
        block: int,
        writers: Collection[str] = (),
        plan: Mapping[str, Any] | None = None,
    ) -> None:
        """writers: roles with rows that make the rate; without any, the rows of all do."""
        self.writers = writers
        self.gaps_s = call_gaps_s(plan or {})
        self.timed_s = timed_s(plan or {})
        self.n, self.of, self.point, self.block = n, of, point, block
        self.last = None
        self.recent = Recent(self.gaps_s)
        self.run_began_s = time.monotonic()

    def event(self, event: Event) -> None:
        if event["event"] == "progress":
            self.last = {**event, "roles": rows_of_writers(event.get("roles", {}), self.writers)}
            self.recent.add(self.last)
        elif event["event"] == "segment":
            # What was said of the segment before is not of now.
            self.last, self.recent = None, Recent(self.gaps_s)

    def ended(self) -> None:
        self.took_s.append(time.monotonic() - self.run_began_s)
        if not is_price(self.point):
            self.points_s.append(self.took_s[-1])

    def rates(self) -> Rates:
        """Role -> rows and calls a second, of the last moments."""
        return {} if self.last is None else self.recent.per_s() or self.recent.alone(self.last)

    def left_s(self) -> float | None:
        """Time left of the study: of this run as the core says, and runs to come as long as those before. Of the first one
        the schedules say how long a run is at least; nothing does where its work ends it and others follow."""
        ahead = self.of - self.n
        here = None if self.last is None else self.last.get("left_s")
        known = self.points_s or self.took_s
        mean = sum(known) / len(known) if known else self.timed_s
        if mean is None:
            return here if ahead == 0 else None
        # The core speaks of the segment in hand, behind which others may come.
        rest = max(here or 0.0, mean - (time.monotonic() - self.run_began_s))
        return max(0.0, rest) + ahead * mean


def timed_s(plan: Mapping[str, Any]) -> float | None:
    """Seconds that the schedules of a run take, its load aside; None where a measured segment is as long as its work."""
    total = 0.0
    for segment in plan.get("segments", ()):
        if segment["kind"] == "drive":
            untils = [role["until"] for role in segment["roles"]]
            times = [until["ns"] / 1e9 for until in untils if until["kind"] == "time"]
            if segment["phase"] == "measure" and not times:
                return None
            total += max(times, default=0.0)
    return total or None


def rows_of_writers(roles: Mapping[str, RoleProgress], writers: Collection[str]) -> dict[str, RoleProgress]:
    """Rows that were deleted or read are in no rate beside rows that were put in."""

    def without_rows(role: RoleProgress) -> RoleProgress:
        return {**role, "rows": 0, "rows_per_s": 0.0}

    return {
        name: role if not writers or name in writers else without_rows(role) for name, role in roles.items()
    }


#: Role -> rows and operations a second.
Rates = Mapping[str, tuple[float, float]]


#: Role -> rows, operations, and operations that are due and not done.
Counts = Mapping[str, tuple[int, int, int]]


class Recent:
    """What was done within the last moments of one repetition: of progress events; their counts begin again with each."""

    def __init__(self, gaps_s: Mapping[str, float] | None = None) -> None:
        self.gaps_s = gaps_s or {}
        self.seen: deque[tuple[int, Counts]] = deque()
        self.of: tuple[Any, ...] = ()

    def add(self, event: Progress) -> None:
        of = (event.get("segment"), event.get("repetition"))
        if of != self.of:
            self.seen.clear()
            self.of = of
        counts = {
            role: (r["rows"], r["ops"], r.get("backlog", 0)) for role, r in event.get("roles", {}).items()
        }
        began_ns = event.get("began_ns")
        if not self.seen and began_ns is not None and 0 < event["t_ns"] - began_ns < RECENT_NS:
            # Of a last word a moment after the first one there would be a rate of that moment.
            self.seen.append((began_ns, dict.fromkeys(counts, (0, 0, 0))))
        self.seen.append((event["t_ns"], counts))
        while len(self.seen) > 2 and event["t_ns"] - self.seen[1][0] >= RECENT_NS:
            self.seen.popleft()

    def per_s(self) -> Rates | None:
        """Rows and operations a second; None while there is one event alone."""
        if len(self.seen) < 2:
            return None
        (since_ns, before), (until_ns, now) = self.seen[0], self.seen[-1]
        took_s = (until_ns - since_ns) / 1e9
        if took_s <= 0:
            return None
        rates = {}
        for role in (r for r in now if r in before):
            (rows, ops, backlog), (more_rows, more_ops, _) = before[role], now[role]
            rates[role] = self.as_due(role, (more_rows - rows) / took_s, (more_ops - ops) / took_s, backlog)
        return rates

    def alone(self, event: Progress) -> Rates:
        """What one event says by itself: rows and operations a second since the one before it."""
        return {
            role: self.as_due(role, r["rows_per_s"], r["ops_per_s"], r.get("backlog", 0))
            for role, r in event.get("roles", {}).items()
        }

    def as_due(self, role: str, rows_per_s: float, ops_per_s: float, backlog: int) -> tuple[float, float]:
        """Of a paced role no more than its schedule: nine batches end within two seconds where four a second are due.

        backlog: when the moments began; a role that was behind then is as fast as it catches up.
        """
        gap_s = self.gaps_s.get(role, 0.0)
        if not gap_s or not ops_per_s or backlog * gap_s > BEHIND_S:
            return rows_per_s, ops_per_s
        share = min(1.0, 1 / gap_s / ops_per_s)
        return share * rows_per_s, share * ops_per_s
