"""Whether the client processes of a run began together: until the last one has begun, the load is less than was asked for. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from inrush.guards.verdicts import Figures, Verdict, grouped_figures, invalid, noted, passed, timed_figures
from inrush.stats.brackets import RESOLUTION, WIDEST
from inrush.stats.measures import measured_windows
from inrush.stats.record import RunRecord
from inrush.text import percent, show_s

if TYPE_CHECKING:
    from typing_extensions import NotRequired

NAME = "one start"
#: Shorter times are shown as milliseconds.
SECONDS_FROM_NS = 500_000_000


class StartFacts(TypedDict):
    """What `run.json` has of one start, by process; None: it had no session at work."""

    segment: int
    repetition: int
    first_session_late_ns: Sequence[int | None]
    last_session_late_ns: Sequence[int | None]
    #: By how much the instant that each was given was later than the common one, by the clocks as known in the end.
    instant_off_ns: NotRequired[Sequence[int | None]]


def one_start(run: RunRecord, figures: Figures) -> Verdict | None:
    """The share of all sessions' time that was lost before they began, by the clocks at their worst; of all repetitions the
    worst one."""
    windows = measured_windows(run)
    clients = run.summary.get("clients") or of_pipeline(run.summary.get("hosts") or {}, windows)
    starts: list[StartFacts] = [s for s in clients.get("starts", ()) if s["segment"] in windows]
    if not starts:
        return None
    error_ns = max((w["clock"]["error_ns"] for w in clients.get("workers", ())), default=0)
    spans = repetition_spans(run)
    shares = [
        lost_share(s, spans.get((s["segment"], s["repetition"]), windows[s["segment"]]), error_ns)
        for s in starts
    ]
    share = max(shares)
    late = dict(enumerate(lateness(starts[shares.index(share)]), 1))
    worst = max(late, key=lambda process: late[process] or 0)
    clocks = f", and the clocks are known to ± {shown(error_ns)}" if error_ns else ""
    said = (
        f"{clients.get('what', 'the last session of client process')} {worst} began {shown(late[worst] or 0)} late{clocks}: "
        f"{percent(share)} of {clients.get('whose', 'all sessions')}' time"
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


def of_pipeline(hosts: Mapping[str, Any], windows: Mapping[int, tuple[int, int]]) -> Mapping[str, Any]:
    """What `one_start` judges of a pipeline over hosts: its clients began one load together. Nothing of any other run."""
    late = hosts.get("late_ns") or ()
    known = any(ns is not None for ns in late)
    starts = [
        {"segment": segment, "repetition": 0, "first_session_late_ns": late, "last_session_late_ns": late}
        for segment in windows
        if known
    ]
    workers = hosts.get("workers", ())
    return {"starts": starts, "workers": workers, "what": "client", "whose": "all clients"}


def repetition_spans(run: RunRecord) -> Mapping[tuple[int, int], tuple[int, int]]:
    """(segment, repetition) -> from the first begin to the last end of its roles."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for row in run.rows("repetitions"):
        key, begin, end = (row["segment"], row["repetition"]), row["start_ns"], row["end_ns"]
        known = found.get(key, (begin, end))
        found[key] = min(known[0], begin), max(known[1], end)
    return found


def lateness(start: StartFacts) -> list[int | None]:
    """By process: its last session after the instant that it was given, and how far that was from the common one."""
    late = start["last_session_late_ns"]
    off = start.get("instant_off_ns") or [None] * len(late)
    return [None if ns is None else ns + abs(by or 0) for ns, by in zip(late, off, strict=True)]


def shown(ns: int) -> str:
    return show_s(ns / 1e9) if ns >= SECONDS_FROM_NS else f"{ns / 1e6:.3g} ms"


def lost_share(start: StartFacts, span: tuple[int, int], error_ns: int) -> float:
    known = [ns for ns in lateness(start) if ns is not None]
    if not known:
        return 0.0
    return (sum(known) / len(known) + error_ns) / max(1, span[1] - span[0])
