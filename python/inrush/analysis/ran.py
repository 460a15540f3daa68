"""What a run did by its plan: the rate that was due, its sessions, its rows. Not what the study's file asks at full size. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inrush.stats.measures import RunRecord, whole


@dataclass(frozen=True)
class Due:
    """What was due of a writing role, all its tables together."""

    rows_per_s: float
    #: Between two samples; None where every call is due by itself.
    every_s: float | None


def due(run: RunRecord, role: str) -> Due | None:
    """None for a closed role, and for one that writes no rows."""
    rates: list[float] = []
    every: set[float | None] = set()
    for part in measured_roles(run, role):
        how, work = part["schedule"], part.get("work", {})
        batch_rows = work.get("batch_rows")
        if how["kind"] == "closed" or not batch_rows:
            return None
        if how["kind"] == "samples":
            rates.append(batch_rows * how["parts"] / (how["every_ns"] / 1e9))
            every.add(how["every_ns"] / 1e9)
        else:
            rates.append(batch_rows * how["rate_per_s"])
            every.add(None)
    return Due(sum(rates), every.pop() if len(every) == 1 else None) if rates else None


def sessions(run: RunRecord, roles: Collection[str]) -> dict[str, int]:
    """Closed role of these -> its sessions, those of all its parts."""
    found: dict[str, int] = {}
    for part in measured_roles(run):
        if part["name"] in roles and part["schedule"]["kind"] == "closed":
            found[whole(part["name"])] = found.get(whole(part["name"]), 0) + part["sessions"]
    return found


def measured_roles(run: RunRecord, role: str | None = None) -> Iterator[Mapping[str, Any]]:
    """Roles of the measured segments, as planned: all, or those that are this role or a part of it."""
    for segment in run.plan.get("segments", ()):
        for part in segment.get("roles", ()) if segment.get("phase") == "measure" else ():
            if role is None or role in (part["name"], whole(part["name"])):
                yield part
