"""Which roles have calls that are due by a schedule, how often, and which made them more slowly than that. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, sqrt

from inrush.border.pipeline import phase_of, roles_of
from inrush.stats.measures import whole
from inrush.stats.record import RunRecord

#: Of the rate that was due, the least at which a role kept up with it.
IN_TIME = 0.95
#: Fewer calls than these have no 99th percentile beside their slowest one.
FEW = 100
#: Standard deviations of the time that so many random gaps take, beyond which chance is no reason.
SURE = 3.0


def paced_roles(run: RunRecord) -> list[str]:
    """Roles, and wholes of roles, with calls that have a due time of their own."""
    return list(mean_gaps_s(run))


def mean_gaps_s(run: RunRecord) -> dict[str, float]:
    """Role with a schedule -> seconds between two of its arrivals, on average."""
    return {role: 1 / per_s for role, (per_s, _) in due_per_s(run).items()}


def due_per_s(run: RunRecord) -> dict[str, tuple[float, bool]]:
    """Role with a schedule -> arrivals a second, those of all its parts together, and whether their gaps are random. A sample is
    one arrival, whatever it is written by."""
    found: dict[str, tuple[float, bool]] = {}
    for segment in run.plan.get("segments", ()):
        if phase_of(segment) != "measure":
            continue
        rates: dict[str, tuple[float, bool]] = {}
        for role in roles_of(segment):
            schedule = role["schedule"]
            if schedule["kind"] == "closed":
                continue
            per_s = (
                1e9 / schedule["every_ns"] if schedule["kind"] == "samples" else float(schedule["rate_per_s"])
            )
            for name in dict.fromkeys((role["name"], whole(role["name"]))):
                before, random = rates.get(name, (0.0, False))
                rates[name] = before + per_s, random or schedule["kind"] == "poisson"
        found |= rates
    return {role: of for role, of in found.items() if of[0] > 0}


def slower_than_due(run: RunRecord, figures: Mapping[str, float]) -> list[str]:
    """Roles with a schedule whose calls took longer, from the first due to the last done, than they were due for. Of a role in
    parts, those of its parts: each ends when its own work does.

    A role that ends when its work is done makes all its calls, however late: no share of them tells that it fell behind.
    """
    late, rates = [], due_per_s(run)
    in_parts = {whole(role) for role in rates if whole(role) != role}
    for role, (due, random) in rates.items():
        if role in in_parts:
            continue
        of = {
            name: figures.get(f"{role}.{name}", 0.0)
            for name in ("ops", "attempts_per_s", "repetitions", "service_p50_s", "service_p99_s")
        }
        if not of["ops"] or not of["attempts_per_s"]:
            continue
        # Behind the last due of each repetition one call is still under way: of few calls that may be the slowest one.
        under_way_s = of["service_p99_s"] if of["ops"] < FEW else of["service_p50_s"]
        if not isfinite(under_way_s):
            under_way_s = of["service_p50_s"] if isfinite(of["service_p50_s"]) else 0.0
        took_s = of["ops"] / of["attempts_per_s"] - of["repetitions"] * under_way_s
        by_chance = SURE / sqrt(of["ops"]) if random else 0.0
        if took_s > of["ops"] / due * (1 + by_chance) / IN_TIME:
            late.append(role)
    return late
