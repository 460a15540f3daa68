"""How long a worker may go on after its time; then its parent ends it, whatever it does. Pure: the caller says the time.

The core ends what it can by itself: 2 s after a limit or a stop it cancels the running calls, 10 s later it says that it
cannot (event `failed`). What is here is for a worker that does not get so far: a session that spins, a call that no
cancel ends, a process that does not listen.
"""

from __future__ import annotations

from dataclasses import dataclass

from inrush.border.events import Event
from inrush.border.pipeline import AnyPlan


@dataclass(frozen=True)
class Graces:
    """How long a worker may go on after its time, s."""

    #: After the stop that was sent: what the core takes at most, and as much again for a busy machine.
    stop_s: float = 25.0
    #: After the limit of a segment with sessions at work.
    limit_s: float = 30.0
    #: After the worker's last word (`finished` or `failed`): tables are written out by then.
    end_s: float = 15.0
    #: Between two repetitions tables are emptied and proven, without an event: the core's own limit of both.
    between_repetitions_s: float = 2 * 3600.0


USUAL = Graces()


class Patience:
    """When a worker must have ended, by its events and by what was sent to it. Times are of one steady clock, s."""

    def __init__(self, plan: AnyPlan, graces: Graces = USUAL) -> None:
        self.graces = graces
        self.segments = plan.get("segments", ())
        #: Until when the worker is waited for, and what it should have done by then.
        self.until, self.why = float("inf"), ""
        #: From then on the sessions of the present segment should have ended.
        self.limit_at = float("inf")
        self.stopping = False

    def saw(self, event: Event, now: float) -> None:
        match event["event"]:
            case "segment":
                self.begin(event.get("index", 0), now)
            case "progress":
                self.works(now)
            case "paused":
                self.forget()
            case "finished" | "failed":
                self.forget()
                self.expect(
                    now + self.graces.end_s, f"{self.graces.end_s:g} s after it said `{event['event']}`"
                )

    def stop_sent(self, now: float) -> None:
        self.stopping = True
        self.expect(now + self.graces.stop_s, f"{self.graces.stop_s:g} s after it was asked to stop")

    def over(self, now: float) -> str | None:
        """Why the worker is not waited for any longer."""
        return f"the worker still ran {self.why}; inrush ended it" if now > self.until else None

    # --- the limit of a segment in which sessions work

    def begin(self, index: int, now: float) -> None:
        self.forget()
        segment = self.segments[index] if index < len(self.segments) else None
        if segment is None or self.stopping:
            return
        if segment["kind"] not in ("drive", "statement", "load") or segment["limit_ns"] <= 0:
            return
        limit_s = segment["limit_ns"] / 1e9
        grace_s = self.graces.limit_s
        self.limit_at = now + limit_s + grace_s
        quiet_s = self.graces.between_repetitions_s if "repeat" in segment else 0.0
        why = f"{grace_s:g} s after the limit of segment {segment['label']}, {limit_s:g} s (schedule.limit_s)"
        self.expect(self.limit_at + quiet_s, why)

    def works(self, now: float) -> None:
        """Sessions are at work, so that nothing between two repetitions is the reason for being late."""
        if now > self.limit_at and not self.stopping:
            self.until = min(self.until, self.limit_at)

    def forget(self) -> None:
        if not self.stopping:
            self.until, self.why, self.limit_at = float("inf"), "", float("inf")

    def expect(self, until: float, why: str) -> None:
        """The nearest end counts."""
        if until < self.until:
            self.until, self.why = until, why
