"""How far the clock of another host is ahead of ours, by echo: asked, heard there, answered there, heard here. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from inrush.agent.clocks import Clock

#: A quartz is not further off than this, ns each ns: what a clock changes by beyond it, was set and not drifted.
MOST_DRIFT = 500e-6
#: Two looks that are closer than this say little of a drift: their own errors are larger, ns.
DRIFTS_FROM_NS = 10_000_000_000
#: Of the echoes of a run one is kept for each so long time, ns.
KEPT_EACH_NS = 10_000_000_000


@dataclass(frozen=True)
class Echo:
    """Four times of CLOCK_MONOTONIC, ns: the first and the last one of this host, the other two of that one."""

    asked_ns: int
    heard_ns: int
    answered_ns: int
    back_ns: int

    @property
    def round_trip_ns(self) -> int:
        """Without what the other host took to answer."""
        return (self.back_ns - self.asked_ns) - (self.answered_ns - self.heard_ns)

    @property
    def ahead_ns(self) -> int:
        """Halfway between the two extremes that this echo leaves open."""
        return ((self.heard_ns - self.asked_ns) + (self.answered_ns - self.back_ns)) // 2

    @property
    def error_ns(self) -> int:
        """Half of what the way took, however it was shared out between there and back; rounded up."""
        return self.round_trip_ns // 2 + 1

    @property
    def possible(self) -> bool:
        """An answer is not given before it was asked, nor does it take longer than its asker waited."""
        return self.answered_ns >= self.heard_ns and self.round_trip_ns >= 0


@dataclass(frozen=True)
class Offset:
    """What one look at a clock found: at a time of that clock, how far ahead it was, and to what error."""

    at_ns: int
    ahead_ns: int
    error_ns: int


def offset(echoes: Sequence[Echo]) -> Offset:
    """The echo with the shortest way knows best. Raises ValueError if none of them is possible."""
    possible = [echo for echo in echoes if echo.possible]
    if not possible or len(possible) < len(echoes):
        raise ValueError("it answered before it was asked")
    best = min(possible, key=lambda echo: echo.round_trip_ns)
    return Offset((best.heard_ns + best.answered_ns) // 2, best.ahead_ns, best.error_ns)


def between(before: Offset, after: Offset) -> Clock:
    """The clock between two looks: a straight line. Its error is that of the worse look.

    Looks that are close say nothing of a drift: the better one stands, and what the clock may have gained on the way to
    the other one is part of the error.
    """
    span_ns = after.at_ns - before.at_ns
    if span_ns < DRIFTS_FROM_NS:
        best = min(before, after, key=lambda look: look.error_ns)
        other = after if best is before else before
        differ_ns = abs(other.ahead_ns - best.ahead_ns)
        seen_ns = max(best.error_ns, differ_ns + other.error_ns)
        most_ns = best.error_ns + round(MOST_DRIFT * abs(span_ns))
        # It is further off by neither: by what the other look saw, and by what any clock gains.
        return Clock(best.at_ns, best.ahead_ns, 0.0, min(seen_ns, most_ns))
    drift = (after.ahead_ns - before.ahead_ns) / span_ns
    return Clock(before.at_ns, before.ahead_ns, drift, max(before.error_ns, after.error_ns))


def known(look: Offset) -> Clock:
    """The clock by one look, as it is used until there is another one."""
    return Clock(look.at_ns, look.ahead_ns, 0.0, look.error_ns)


def agree(before: Offset, after: Offset) -> bool:
    """Whether a clock that only drifts can have been at both."""
    # By the clock there: where that is the slower one, more time than it shows has gone by.
    span_ns = abs(after.at_ns - before.at_ns) / (1 - MOST_DRIFT)
    room = before.error_ns + after.error_ns + MOST_DRIFT * span_ns
    return abs(after.ahead_ns - before.ahead_ns) <= room


@dataclass
class Witnesses:
    """Echoes of a whole run, the best one of each ten seconds: where the clock has been between its two looks."""

    best: dict[int, Offset] = field(default_factory=dict)

    def heard(self, echo: Echo) -> None:
        slot = echo.back_ns // KEPT_EACH_NS
        # While it was answered the two clocks went on by themselves.
        error_ns = echo.error_ns + round(MOST_DRIFT * (echo.answered_ns - echo.heard_ns))
        found = Offset((echo.heard_ns + echo.answered_ns) // 2, echo.ahead_ns, error_ns)
        if slot not in self.best or error_ns < self.best[slot].error_ns:
            self.best[slot] = found

    def judged(self, line: Clock) -> Clock:
        """The clock, with an error that what was heard on the way allows: one that was set, or slewed, was on no line."""
        error_ns = line.error_ns
        for look in self.best.values():
            on_line_ns = line.ahead_ns + round(line.drift * (look.at_ns - line.at_ns))
            off_ns = abs(look.ahead_ns - on_line_ns)
            if off_ns > line.error_ns + look.error_ns:
                error_ns = max(error_ns, off_ns + look.error_ns)
        return replace(line, error_ns=error_ns)


def contradicts(look: Offset, echo: Echo) -> bool:
    """Whether an echo cannot be of the clock that was looked at."""
    if not echo.possible:
        return True
    at_ns = (echo.heard_ns + echo.answered_ns) // 2
    return not agree(look, Offset(at_ns, echo.ahead_ns, echo.error_ns))
