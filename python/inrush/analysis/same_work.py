"""Did two results do the same work at a point? Where they did not, what may be compared, and what differed in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from inrush.analysis.points import Analysis, Point, is_number, say
from inrush.border.pipeline import each_role
from inrush.stats.quantity import show
from inrush.text import number

#: Volumes and rows that differ by less are the same: a seed decides the length of texts.
VOLUME_SHARE, ROW_SHARE = 0.01, 0.05
#: What must agree of a role before two results are of the same work; its volume is judged by what was done.
OF_ROLES = ("sessions", "depth", "schedule", "batch_rows")
#: What a study file or a scale says of all its points.
OF_STUDIES = ("name", "workload", "scale", "sizes", "schedule")


@dataclass(frozen=True)
class WorkDone:
    """What one repetition of a role did: medians over the runs that count."""

    rows: float
    ops: float
    bytes: float

    def volume(self) -> str:
        return f"{self.rows:,.0f} rows" if self.rows else f"{self.ops:,.0f} calls"

    def is_as_much_as(self, other: WorkDone) -> bool:
        return same(self.rows, other.rows, VOLUME_SHARE) and (
            bool(self.rows) or same(self.ops, other.ops, VOLUME_SHARE)
        )

    def has_rows_like(self, other: WorkDone) -> bool:
        """Bytes a row: rows of another table or with other columns are another unit."""
        if not (self.rows and other.rows):
            return not (self.rows or other.rows)
        return same(self.bytes / self.rows, other.bytes / other.rows, ROW_SHARE)


def same(a: float, b: float, share: float) -> bool:
    return abs(a - b) <= share * max(abs(a), abs(b))


def work(analysis: Analysis, point: Point, role: str) -> WorkDone | None:
    """None where no run counts, or none says what it did."""
    found = [
        [m.figures[f"{role}.{name}"] / m.figures[f"{role}.repetitions"] for name in ("rows", "ops", "bytes")]
        for m in analysis.runs
        if m.counts and m.point == point and m.figures.get(f"{role}.repetitions")
    ]
    return WorkDone(*(median(column) for column in zip(*found, strict=True))) if found else None


def by_rate(figure: str, x: WorkDone, y: WorkDone) -> str:
    """The figure that two results of different volumes are compared by: a time of the whole volume becomes a rate."""
    role, metric = figure.rsplit(".", 1)
    if metric != "makespan_s" or x.is_as_much_as(y):
        return figure
    return f"{role}.rows_per_s" if x.rows and y.rows else f"{role}.ops_per_s"


def other_work(a: Analysis, b: Analysis, points: list[Point], figure: str) -> Iterator[str]:
    """What was not the same: scale, sizes, volumes, and how roles worked, as sentences."""
    for key in OF_STUDIES:
        yield from unequal_values(key, a.study.get(key), b.study.get(key))
    role = figure.rsplit(".", 1)[0]
    for point in points:
        x, y = work(a, point, role), work(b, point, role)
        if x and y and not x.is_as_much_as(y):
            yield (
                f"volumes of {role} differ ({x.volume()} and {y.volume()} a repetition at {say(point)}): what a run costs once "
                "weighs more on the smaller one, and a small table is cheaper to write and to read"
            )
            break
    found = (s for p in points for s in unequal_roles(planned(a, p), planned(b, p)))
    yield from dict.fromkeys(found)


def unequal_roles(x: Mapping[str, Any], y: Mapping[str, Any]) -> Iterator[str]:
    for key in [*x, *(k for k in y if k not in x)]:
        yield from unequal_values(key, x.get(key), y.get(key))


def planned(analysis: Analysis, point: Point) -> dict[str, Any]:
    """How each role of a point's first counted run was to work, and with which options its engine."""
    run = next((m.run for m in analysis.runs if m.counts and m.point == point), None)
    if run is None:
        return {}
    facts: dict[str, Any] = {
        f"options.{k}": v for k, v in run.plan.get("target", {}).get("options", {}).items()
    }
    for _, role in each_role(run.plan, "measure"):
        how = {**role, **role.get("work", {})}
        facts |= {f"{role['name']}.{k}": how[k] for k in OF_ROLES if how.get(k) is not None}
    return facts


def unequal_values(key: str, x: Any, y: Any) -> Iterator[str]:
    """Tables by their entries, so that a sentence names what differs and not all there is."""
    if isinstance(x, Mapping) and isinstance(y, Mapping):
        for name in [*x, *(k for k in y if k not in x)]:
            yield from unequal_values(f"{key}.{name}", x.get(name), y.get(name))
    elif x != y:
        yield f"{key_said(key)} differs: {value_said(key, x)} and {value_said(key, y)}"


#: Unit of a key -> how many of it are a second.
SECONDS = {"_ns": 1e9, "_ms": 1e3, "_s": 1.0}


def unit_of(key: str) -> str:
    """Of a time, which the words leave out; a rate keeps its own."""
    return "" if key.endswith("_per_s") else next((unit for unit in SECONDS if key.endswith(unit)), "")


def key_said(key: str) -> str:
    """`size ports`, `option fsync`, `sessions of writers`, `think of schedule of writers`: a key in words, as figures are named."""
    *of, last = key.split(".")
    if of in (["sizes"], ["options"]):
        return f"{of[0].removesuffix('s')} {last}"
    return " of ".join([last.removesuffix(unit_of(last)).replace("_", " "), *reversed(of)])


def value_said(key: str, value: Any) -> str:
    """Times with their unit; `none` where there is nothing."""
    if not is_number(value):
        return "none" if value is None else str(value)
    unit = unit_of(key)
    return show(value / SECONDS[unit], "x_s") if unit else number(value)
