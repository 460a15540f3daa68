"""Whether the client processes of a run began together: until the last one has begun, the load is less than was asked for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from inrush.guards.verdicts import Figures, Verdict, grouped_figures, invalid, noted, passed, timed_figures
from inrush.stats.brackets import RESOLUTION, WIDEST
from inrush.stats.measures import measured_windows
from inrush.stats.record import RunRecord
from inrush.text import percent, show_s

NAME = "one start"


class StartFacts(TypedDict):
    """What `run.json` has of one start, by process; None: it had no session at work."""

    segment: int
    first_session_late_ns: Sequence[int | None]
    last_session_late_ns: Sequence[int | None]


def one_start(run: RunRecord, figures: Figures) -> Verdict | None:
    """The share of all sessions' time that was lost before they began, by the clocks at their worst."""
    clients = run.summary.get("clients") or {}
    windows = measured_windows(run)
    starts: list[StartFacts] = [s for s in clients.get("starts", ()) if s["segment"] in windows]
    if not starts:
        return None
    error_ns = max((w["clock"]["error_ns"] for w in clients.get("workers", ())), default=0)
    shares = {s["segment"]: lost_share(s, windows[s["segment"]], error_ns) for s in starts}
    segment = max(shares, key=lambda one: shares[one])
    share = shares[segment]
    start = next(s for s in starts if s["segment"] == segment)
    late = {process: ns for process, ns in enumerate(start["last_session_late_ns"], 1) if ns is not None}
    worst = max(late, key=lambda process: late[process], default=0)
    clocks = f", and the clocks are known to ± {show_s(error_ns / 1e9)}" if error_ns else ""
    said = (
        f"the last session of client process {worst} began {show_s(late.get(worst, 0) / 1e9)} late{clocks}: {percent(share)} of "
        "all sessions' time"
    )
    if share > WIDEST - 1:
        roles = {r["role"] for r in run.rows("repetitions") if r["segment"] in windows}
        touched = timed_figures(figures, roles)
        return invalid(
            NAME,
            f"They did not begin together: {said}. Invalid: {grouped_figures(touched)}. Take longer runs, fewer sessions a core, "
            "or a faster way to the workers",
            figures=touched,
        )
    if share > RESOLUTION - 1:
        return noted(NAME, f"They began nearly together: {said}")
    return passed(NAME, f"They began together: {said}")


def lost_share(start: StartFacts, window: tuple[int, int], error_ns: int) -> float:
    known = [ns for ns in start["last_session_late_ns"] if ns is not None]
    if not known:
        return 0.0
    return (sum(known) / len(known) + error_ns) / max(1, window[1] - window[0])
