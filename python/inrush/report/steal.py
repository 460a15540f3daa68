"""Figures of runs that lost processors to their host, with that time and without. Pure."""

from __future__ import annotations

from html import escape

from inrush.analysis.points import Analysis, Measured, say
from inrush.guards import quiet
from inrush.report.html import Cells, number, table
from inrush.stats import quantity
from inrush.stats.measures import whole
from inrush.stats.steal_free import STEAL_SHARE, StealFree, steal_free_part
from inrush.text import percent

#: What lateness shows in, in this order.
SHOWN = (
    "lag_p99_s", "latency_p50_s", "latency_p99_s", "sample_p50_s", "sample_p99_s", "freshness_p50_s", "freshness_p99_s"
)  # fmt: skip
#: Runs that lost most are shown.
MOST_RUNS = 12


def steal_table(analysis: Analysis) -> str:
    """A row for each role of the runs that lost more than STEAL_SHARE, those that lost most first; nothing where none did."""
    shares = [((quiet.worst(m.run, "steal") or (0.0,))[0], m) for m in analysis.runs if m.counts]
    lost = sorted(((share, m) for share, m in shares if share > STEAL_SHARE), key=lambda pair: -pair[0])
    parts = [(share, m, steal_free_part(m.run)) for share, m in lost[:MOST_RUNS]]
    # A run that was nowhere left alone has nothing to set beside its figures.
    held = [
        (share, m, steal_free)
        for share, m, steal_free in parts
        if steal_free is not None and steal_free.seconds > 0
    ]
    metrics = [k for k in SHOWN if any(f.endswith(f".{k}") for _, m, _ in held for f in m.figures)]
    rows = [row for share, m, steal_free in held for row in role_rows(share, m, steal_free, metrics)]
    if not rows:
        return ""
    more = (
        f" {len(held)} of the {len(lost)} runs that lost more are shown: those that lost most, where there is an interval with less."
        if len(lost) > len(held)
        else ""
    )
    caption = (
        f"Steal: the host gave processor time to other machines. First each figure of the whole run, then of its intervals in which the host took at "
        f"most {percent(STEAL_SHARE)}: the difference is the host's. The second is no better estimate of the whole: steal falls on busy machines, "
        f"so busy intervals are rarer in it. Verdicts are of the whole run.{more}"
    )
    header = [
        "point",
        "#taken",
        "#seconds, left alone",
        "role",
        *(f"#{k.removesuffix('_s').replace('_', ' ')}" for k in metrics),
    ]
    return f'<p class="expected">{caption}</p>' + table(header, rows, "cards")


def role_rows(share: float, m: Measured, steal_free: StealFree, metrics: list[str]) -> list[Cells]:
    """One row for each whole role that has any of the metrics."""
    roles = dict.fromkeys(f.rsplit(".", 1)[0] for f in m.figures if f.endswith(SHOWN))
    return [
        [
            escape(say(m.point)),
            number(percent(share, 1)),
            number(f"{quantity.digits(steal_free.of_s)}, {quantity.digits(steal_free.seconds)}"),
            escape(role),
            *(number(with_and_without(m, steal_free, f"{role}.{metric}")) for metric in metrics),
        ]
        for role in roles
        if role == whole(role)
    ]


def with_and_without(m: Measured, steal_free: StealFree, figure: str) -> str:
    if figure not in m.figures:
        return "–"
    without = quantity.show(steal_free.figures[figure], figure) if figure in steal_free.figures else "none"
    return f"{quantity.show(m.figures[figure], figure)} · {without}"
