"""How far a run is, of all its processes together. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from inrush.border.events import Latencies, Progress, RoleProgress, Usage

#: The processes of this role each sample themselves.
CLIENT = "client"


def together(each: Sequence[Progress]) -> Progress:
    """each: the last of every process, the first process's first. Counts are added up; percentiles cannot be: the slowest
    process's is shown."""
    first = each[0]
    mine = [one for one in each if one["segment"] == first["segment"]]
    cpu = [one["client_cpu"] for one in mine]
    return {
        **first,
        "share": least([one["share"] for one in mine]),
        "left_s": most([one["left_s"] for one in mine]),
        "client_cpu": None if None in cpu else sum(c for c in cpu if c is not None),
        "roles": {name: of_role([one["roles"][name] for one in mine]) for name in first["roles"]},
        "resources": used_by_all(mine),
    }


def of_role(each: Sequence[RoleProgress]) -> RoleProgress:
    return {
        "rows": sum(one["rows"] for one in each),
        "ops": sum(one["ops"] for one in each),
        "rows_per_s": sum(one["rows_per_s"] for one in each),
        "ops_per_s": sum(one["ops_per_s"] for one in each),
        "p99_ms": most([one["p99_ms"] for one in each]),
        "errors": sum(one["errors"] for one in each),
        "due": None if each[0]["due"] is None else sum(one["due"] or 0 for one in each),
        "backlog": sum(one["backlog"] for one in each),
        "lag_p99_ms": most([one["lag_p99_ms"] for one in each]),
        "late": sum(one["late"] for one in each),
        "failed": dict(sum((Counter(one["failed"]) for one in each), Counter[str]())),
        "latency": merged([one["latency"] for one in each]),
    }


def merged(each: Sequence[Latencies]) -> Latencies:
    """One histogram of all calls."""
    counts = Counter[int]()
    for one in each:
        for bucket, count in zip(one["bucket"], one["count"], strict=True):
            counts[bucket] += count
    buckets = sorted(counts)
    return {
        "bucket": buckets,
        "count": [counts[bucket] for bucket in buckets],
        "n": sum(one["n"] for one in each),
        "min": min((one["min"] for one in each if one["n"]), default=0),
        "max": max((one["max"] for one in each), default=0),
        "sum": sum(one["sum"] for one in each),
    }


def used_by_all(each: Sequence[Progress]) -> list[Usage]:
    """The first process samples machine and servers, each its own: what they used as the role `client` is added up."""
    first, *others = each
    own: dict[str, float] = {}
    for usage in (usage for one in others for usage in one["resources"]):
        own[usage["metric"]] = own.get(usage["metric"], 0.0) + usage["value"]

    def added(usage: Usage) -> Usage:
        return {**usage, "value": usage["value"] + own.get(usage["metric"], 0.0)}

    return [added(usage) if usage["role"] == CLIENT else usage for usage in first["resources"]]


class Together:
    """The last progress of every process. Of latencies each event has what is new: what other processes have said since the
    first one spoke waits for its next word."""

    def __init__(self) -> None:
        self.latest: dict[int, Progress] = {}
        self.waiting: dict[str, list[Latencies]] = {}

    def heard(self, process: int, event: Progress) -> Progress | None:
        """The progress of all where the first process has spoken: its events keep the time. Else None."""
        self.latest[process] = event
        for role, of in event["roles"].items():
            self.waiting.setdefault(role, []).append(of["latency"])
        if process != 0:
            return None
        shown = together([self.latest[one] for one in sorted(self.latest)])
        roles: dict[str, RoleProgress] = {
            role: {**of, "latency": merged(self.waiting.get(role, ()))} for role, of in shown["roles"].items()
        }
        self.waiting.clear()
        return {**shown, "roles": roles}


def least(values: Sequence[float | None]) -> float | None:
    return min((v for v in values if v is not None), default=None)


def most(values: Sequence[float | None]) -> float | None:
    return max((v for v in values if v is not None), default=None)
