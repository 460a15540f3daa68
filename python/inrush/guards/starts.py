"""Whether the client processes of a run began together: until the last one has begun, the load is less than was asked for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from inrush.analysis.verdicts import Figures, Verdict, invalid, noted, passed
from inrush.guards.guard import About, Guard
from inrush.stats.brackets import RESOLUTION, WIDEST
from inrush.stats.figure_names import grouped_figures, timed_figures
from inrush.stats.measures import measured_windows
from inrush.stats.record import RunRecord
from inrush.text import percent, show_s

if TYPE_CHECKING:
    from typing_extensions import NotRequired

NAME = "clients started together"
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


class ClientStarts(NamedTuple):
    """Starts of measured segments, how well the clocks are known, and what began of which time."""

    starts: Sequence[StartFacts]
    error_ns: int
    what: str
    whose: str


def one_start(run: RunRecord, figures: Figures) -> Verdict | None:
    """The share of all sessions' time that was lost before they began, by the clocks at their worst; of all repetitions the
    worst one."""
    windows = measured_windows(run)
    starts, error_ns, what, whose = began(run, windows)
    if not starts:
        return None
    spans = repetition_spans(run)
    shares = [
        lost_share(s, spans.get((s["segment"], s["repetition"]), windows[s["segment"]]), error_ns)
        for s in starts
    ]
    share = max(shares)
    late = dict(enumerate(lateness(starts[shares.index(share)]), 1))
    worst = max(late, key=lambda process: late[process] or 0)
    clocks = f", and the clocks are known to ± {shown(error_ns)}" if error_ns else ""
    said = f"{what} {worst} began {shown(late[worst] or 0)} late{clocks}: {percent(share)} of {whose} time"
    if share > WIDEST - 1:
        roles = {r["role"] for r in run.rows("repetitions") if r["segment"] in windows}
        touched = timed_figures(figures, roles)
        return invalid(
            NAME,
            f"They did not begin together: {said}. Invalid: {grouped_figures(touched)}. Take longer runs, fewer sessions a core, "
            "or a faster way to the workers",
            figures=touched,
            size=share,
        )
    if share > RESOLUTION - 1:
        return noted(NAME, f"They began nearly together: {said}", size=share)
    return passed(NAME, f"They began together: {said}")


def began(run: RunRecord, segments: Collection[int]) -> ClientStarts:
    """Of client processes, or of the clients of a pipeline over hosts, which begin one load together."""
    if hosts := run.summary.get("hosts"):
        late: Sequence[int | None] = hosts.get("late_ns") or ()
        known = any(ns is not None for ns in late)
        starts: list[StartFacts] = [
            {"segment": segment, "repetition": 0, "first_session_late_ns": late, "last_session_late_ns": late}
            for segment in segments
            if known
        ]
        # Behind load server and clients are those that watch hosts of shards: they begin nothing.
        ends = {"workers": [*hosts.get("workers", ())][: 1 + int(hosts.get("clients") or 1)]}
        return ClientStarts(starts, clocks_error_ns(ends), "client", "all clients'")
    clients = run.summary.get("clients") or {}
    starts = [s for s in clients.get("starts", ()) if s["segment"] in segments]
    return ClientStarts(
        starts, clocks_error_ns(clients), "the last session of client process", "all sessions'"
    )


def clocks_error_ns(of: Mapping[str, Iterable[Mapping[str, Mapping[str, int]]]]) -> int:
    return max((worker["clock"]["error_ns"] for worker in of.get("workers", ())), default=0)


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


GUARDS = (Guard(About.CLIENT, NAME, one_start, "The run had one client process"),)
