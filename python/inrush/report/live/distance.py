"""How far the run in hand is from what ends or judges it: stop rules, accepted limits, a search, its time. Pure.

Figures have the names of the report (`stats/measures.py`), of the measured phase so far. One that is only known at the
end of a run has no value here: it is shown as such, and no other is put in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inrush.report.live.calls import QUANTILES, quantile_s
from inrush.report.live.seen import RoleSeen, StudySeen
from inrush.stats.measures import whole

Figures = Mapping[str, float]


@dataclass(frozen=True)
class Distance:
    #: What the limit is for: `stops`, `accepted`, `search`, `time`.
    what: str
    figure: str
    limit: float
    #: None: not known while the run goes on.
    now: float | None
    #: Where the limit is a least value, as of a search.
    least: bool = False

    @property
    def share(self) -> float | None:
        """Of the limit that is used up; above 1 it is crossed. Of a least value, the other way round."""
        if self.now is None:
            return None
        if self.least:
            return self.limit / self.now if self.now > 0 else None
        return self.now / self.limit if self.limit > 0 else (0.0 if self.now <= 0 else None)


def figures_so_far(seen: StudySeen) -> dict[str, float]:
    """`role.metric` -> value, in the measured phase of the run in hand."""
    found: dict[str, float] = {}
    for name, role in seen.roles.items():
        found |= {f"{name}.{metric}": value for metric, value in of_role(role).items()}
    for name, parts in split_roles(seen).items():
        for metric in ("rows", "ops", "errors", "rows_per_s", "ops_per_s", "attempts_per_s"):
            each = [found[f"{part}.{metric}"] for part in parts if f"{part}.{metric}" in found]
            if each:
                found[f"{name}.{metric}"] = sum(each)
    return found


def of_role(role: RoleSeen) -> dict[str, float]:
    calls, seconds = role.measured.histogram(), role.measured_s
    ended = role.measured_ops
    found: dict[str, float] = {
        "errors": float(role.measured.failed),
        "late": float(role.measured_late),
        "wrong": float(sum(role.measured_outcomes[outcome] for outcome in ("wrong", "missing"))),
    }
    if seconds > 0:
        ok = max(0, ended - role.measured.failed)
        found |= {"rows_per_s": role.measured_rows / seconds, "ops_per_s": ok / seconds}
        found |= {"attempts_per_s": ended / seconds}
        found |= {"rows": float(role.measured_rows), "ops": float(ended)}
    if ended:
        found["failed_share"] = role.measured.failed / ended
    for short, q in QUANTILES.items():
        if (value := quantile_s(calls, q)) is not None:
            found[f"latency_{short}_s"] = value
    if calls is not None and not role.measured.failed:
        found["latency_s"] = role.measured.max_ns / 1e9
    return found


def split_roles(seen: StudySeen) -> dict[str, list[str]]:
    """A role that is split over tables -> its parts."""
    found: dict[str, list[str]] = {}
    for name in seen.roles:
        if whole(name) != name:
            found.setdefault(whole(name), []).append(name)
    return found


def distances(seen: StudySeen, now_s: float) -> list[Distance]:
    figures = {**figures_so_far(seen), **makespans(seen)}
    return [*of_study(seen.study, figures), *of_time(seen, now_s)]


def makespans(seen: StudySeen) -> dict[str, float]:
    """Of a fixed volume: so long its repetition has taken already, which its makespan is at least."""
    progress = seen.progress
    if progress is None or progress["phase"] != "measure":
        return {}
    found: dict[str, float] = {}
    for name, role in seen.roles.items():
        until_ns = progress["t_ns"] if role.ended_ns is None else role.ended_ns
        took_s = (until_ns - progress["began_ns"]) / 1e9
        for figure in (f"{name}.makespan_s", f"{whole(name)}.makespan_s"):
            found[figure] = max(took_s, found.get(figure, 0.0))
    return found


def of_study(study: Mapping[str, Any], figures: Figures) -> Iterator[Distance]:
    for rule in study.get("stop") or ():
        for figure, limit in rule["above"].items():
            yield Distance(f"stops larger {rule['along']}", figure, float(limit), figures.get(figure))
    for figure, limit in (study.get("accept") or {}).items():
        yield Distance("accepted at most", figure, float(limit), figures.get(figure))
    if search := study.get("search"):
        least = float(search["at_least"])
        yield Distance(f"{search['along']} holds from", search["of"], least, figures.get(search["of"]), True)


def of_time(seen: StudySeen, now_s: float) -> Iterator[Distance]:
    """A segment that takes longer than its limit is cut."""
    if seen.run is None or seen.segment is None:
        return
    segment = seen.run.plan["segments"][seen.segment.index : seen.segment.index + 1]
    limit_ns = segment[0].get("limit_ns", 0) if segment else 0
    if isinstance(limit_ns, int) and limit_ns > 0:
        name = f"{seen.segment.label}.time_s"
        yield Distance("cuts the segment", name, limit_ns / 1e9, now_s - seen.segment.began_s)
