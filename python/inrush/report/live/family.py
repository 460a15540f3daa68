"""What a metric is, whatever form it is written in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inrush.report.live.calls import Calls

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Sample:
    labels: Labels
    value: float


@dataclass(frozen=True)
class Family:
    """One metric. name: without `_total`."""

    name: str
    kind: str
    help: str
    unit: str = ""
    samples: Sequence[Sample] = ()
    #: Of a histogram, in place of samples.
    histograms: Sequence[tuple[Labels, Calls]] = field(default_factory=list)
