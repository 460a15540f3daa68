"""Samples of a role: rows that are due together, once every so often, and stored when the last of them is. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from inrush.study.document import Node, Reader, given
from inrush.study.forms import MAX_ROWS, RATES_PER_S, Factors, FromFactor, Ref, count

#: Distributions that a collector may have; twin of `CollectPlan` in plan/segment.rs.
DISTRIBUTIONS = ("lognormal",)
#: Without `most_s` no sample takes longer than so many medians.
MOST_MEDIANS = 20.0


@dataclass(frozen=True)
class Collector:
    """How long samples take from their due until their rows are there: no collector runs, the time alone passes."""

    name: str
    distribution: str
    median_s: float
    #: Standard deviation of the logarithm.
    sigma: float
    most_s: float


@dataclass(frozen=True)
class SamplesSpec(Generic[Ref]):
    count: int | Ref
    #: Of one sample; None: a sweep of the role's table.
    rows: int | Ref | None = None
    #: Between two samples; None: between two sweeps of the role's table.
    every_s: float | None = None
    collect: Collector | None = None


def parse_samples(node: Node, factors: Factors) -> SamplesSpec[FromFactor]:
    readers: dict[str, Reader] = {
        "count": count(factors, 1, 10**7),
        "rows": count(factors, 1, MAX_ROWS),
        "every_s": sample_gap,
        "collect": parse_collector,
    }
    return SamplesSpec(**given(node.fields(readers, required=("count",)), readers, count=1))


def sample_gap(node: Node) -> float:
    found = node.number(above=True)
    if not 1 / RATES_PER_S[1] <= found <= 1 / RATES_PER_S[0]:
        node.problem(f"between {1 / RATES_PER_S[1]:g} and {1 / RATES_PER_S[0]:,.0f} seconds")
    return found


def parse_collector(node: Node) -> Collector:
    readers: dict[str, Reader] = {
        "name": Node.text,
        "distribution": lambda name: name.text(DISTRIBUTIONS, "distribution"),
        "median_s": Node.number,
        "sigma": Node.number,
        "most_s": Node.number,
    }
    fields = node.fields(readers, required=("name", "distribution", "median_s", "sigma"))
    found = given(fields, readers, name="", distribution="", median_s=0.0, sigma=0.0)
    if found["sigma"] > 10:
        fields["sigma"].problem("the standard deviation of a logarithm; write 0 to 10")
        found["sigma"] = 0.0
    found.setdefault("most_s", MOST_MEDIANS * found["median_s"])
    if found["most_s"] < found["median_s"]:
        fields["most_s"].problem("is below the median; raise it")
        found["most_s"] = found["median_s"]
    return Collector(**found)
