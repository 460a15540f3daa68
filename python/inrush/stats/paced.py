"""Which roles have calls that are due by a schedule. Pure."""

from __future__ import annotations

from inrush.border.pipeline import phase_of, roles_of
from inrush.stats.measures import whole
from inrush.stats.record import RunRecord


def paced_roles(run: RunRecord) -> list[str]:
    """Roles, and wholes of roles, with calls that have a due time of their own."""
    names: dict[str, None] = {}
    for segment in run.plan.get("segments", ()):
        if phase_of(segment) == "measure":
            for role in roles_of(segment):
                if role["schedule"]["kind"] != "closed":
                    names |= dict.fromkeys((role["name"], whole(role["name"])))
    return list(names)
