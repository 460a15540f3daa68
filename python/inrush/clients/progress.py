"""How far a run is, of all its processes together. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from inrush.border.events import Progress, RoleProgress

N = TypeVar("N", int, float)


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
    }


def of_role(each: Sequence[RoleProgress]) -> RoleProgress:
    return {
        "rows": sum(one["rows"] for one in each),
        "ops": sum(one["ops"] for one in each),
        "rows_per_s": sum(one["rows_per_s"] for one in each),
        "ops_per_s": sum(one["ops_per_s"] for one in each),
        "p99_ms": most([one["p99_ms"] for one in each]),
        "errors": sum(one["errors"] for one in each),
        "backlog": sum(one["backlog"] for one in each),
    }


def least(values: Sequence[float | None]) -> float | None:
    return min((v for v in values if v is not None), default=None)


def most(values: Sequence[float | None]) -> float | None:
    return max((v for v in values if v is not None), default=None)


def known(latest: Mapping[int, Progress]) -> list[Progress]:
    return [latest[process] for process in sorted(latest)]
