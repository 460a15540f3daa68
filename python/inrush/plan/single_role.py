"""A role that does one thing: what loads, deletes and fills are planned as. Pure."""

from __future__ import annotations

from inrush.border import plan as border


def single_role(name: str, operation: str, work: border.Work, sessions: int = 1) -> border.RolePlan:
    """A role of one operation, as fast as it goes, to the end of its work."""
    return {
        "name": name,
        "operations": [{"operation": operation, "weight": 1}],
        "sessions": sessions,
        "depth": 1,
        "schedule": {"kind": "closed", "think_ns": 0},
        "work": work,
        "until": {"kind": "work"},
    }
