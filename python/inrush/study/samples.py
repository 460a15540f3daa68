"""Samples of a role: rows that are due together, once every so often, and stored when the last of them is. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inrush.study.document import Node
from inrush.study.forms import MAX_ROWS, FromFactor, read_count

Factors = Mapping[str, Sequence[Any]]

#: Distributions that a collector may have; twin of `CollectPlan` in plan/segment.rs.
DISTRIBUTIONS = ("lognormal",)
#: Without `most_s` no sample takes longer than so many medians.
MOST_MEDIANS = 20.0


@dataclass(frozen=True)
class Collector:
    """How long samples take from their due until their rows are there: nobody collects, the time alone passes."""

    name: str
    distribution: str
    median_s: float
    #: Standard deviation of the logarithm.
    sigma: float
    most_s: float


@dataclass(frozen=True)
class Samples:
    count: int | FromFactor
    #: Of one sample; None: a sweep of the role's table.
    rows: int | FromFactor | None = None
    #: Between two samples; None: between two sweeps of the role's table.
    every_s: float | None = None
    collect: Collector | None = None


def parse_samples(node: Node, factors: Factors) -> Samples:
    fields = node.fields(("count", "rows", "every_s", "collect"), required=("count",))
    return Samples(
        count=read_count(fields["count"], factors, 1, 10**7) if "count" in fields else 1,
        rows=read_count(fields["rows"], factors, 1, MAX_ROWS) if "rows" in fields else None,
        every_s=fields["every_s"].number(above=True) if "every_s" in fields else None,
        collect=parse_collector(fields["collect"]) if "collect" in fields else None,
    )


def parse_collector(node: Node) -> Collector:
    keys = ("name", "distribution", "median_s", "sigma")
    fields = node.fields((*keys, "most_s"), required=keys)
    found = {key: fields[key].number() for key in ("median_s", "sigma", "most_s") if key in fields}
    if found.get("sigma", 0.0) > 10:
        fields["sigma"].problem("the standard deviation of a logarithm; write 0 to 10")
        found["sigma"] = 0.0
    median_s = found.get("median_s", 0.0)
    most_s = found.get("most_s", MOST_MEDIANS * median_s)
    if most_s < median_s:
        fields["most_s"].problem("is below the median; raise it")
        most_s = median_s
    return Collector(
        name=fields["name"].text() if "name" in fields else "",
        distribution=fields["distribution"].text(DISTRIBUTIONS, "distribution")
        if "distribution" in fields
        else "",
        median_s=median_s,
        sigma=found.get("sigma", 0.0),
        most_s=most_s,
    )
