"""Was the answer's role as fast at the end of its runs as at their beginning? Pure."""

from __future__ import annotations

import numpy as np

from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Outcome
from inrush.stats.measures import whole
from inrush.stats.trends import rows_written, service_trends

#: Guard whose notes tell of a trend.
SERVICE_TIME = "service time steady"


def about(times: float) -> str:
    """Two digits, without an exponent: `0.25`, `4`, `5,600`."""
    two = float(f"{times:.2g}")
    return f"{two:,.0f}" if two >= 10 else f"{two:g}"


def moved_sentence(analysis: Analysis, figure: str) -> str | None:
    """What became of the role's service time during most of the runs that count; None where it stayed as it was."""
    role = whole(figure.rsplit(".", 1)[0])
    counted = [m for m in analysis.runs if m.counts]
    noted = [
        m for m in counted if any(v.guard == SERVICE_TIME and v.outcome is Outcome.NOTE for v in m.verdicts)
    ]
    moved = [(m, t) for m in noted if (t := service_trends(m.run).get(role)) is not None and t.found]
    rising = [(m, t) for m, t in moved if t.times > 1]
    alike = rising if 2 * len(rising) > len(moved) else [(m, t) for m, t in moved if t.times < 1]
    if not alike or 2 * len(alike) <= len(counted):
        return None
    middle = float(np.exp(np.median([np.log(t.times) for _, t in alike])))
    word = "rises" if middle > 1 else "falls"
    grew = middle > 1 and any(rows_written(m.run) for m, _ in alike)
    what = "a growing table" if grew else "no one state"
    return (
        f"Service time of {role} {word} to {about(middle)} times in {len(alike)} of {len(counted)} runs: "
        f"these runs measured {what}"
    )
