"""What the clock of another process shows beside ours. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from inrush.results.parts import Shift


@dataclass(frozen=True)
class Clock:
    """A clock of another host beside this one's, both CLOCK_MONOTONIC: how far it is ahead, and how much faster it runs.

    Of two processes of one host it is one clock: nothing is ahead of anything, and no error is made.
    """

    #: What it showed when it was ahead by so much.
    at_ns: int = 0
    ahead_ns: int = 0
    #: ns that it gains in each ns of its own.
    drift: float = 0.0
    #: Its times, as this clock has them, are right to so much.
    error_ns: int = 0

    def here(self, there_ns: int) -> int:
        """On this clock, what that one shows."""
        return there_ns - self.ahead_ns - round(self.drift * (there_ns - self.at_ns))

    def there(self, here_ns: int) -> int:
        """On that clock, what this one shows."""
        # here = there - ahead - drift·(there - at), solved for there - at.
        since_ns = here_ns + self.ahead_ns - self.at_ns
        return self.at_ns + since_ns + round(since_ns * self.drift / (1.0 - self.drift))


#: Of processes of one host.
SAME = Clock()


def shift(clock: Clock, zero_ns: int, to: Clock, to_zero_ns: int) -> Shift:
    """zero_ns: what a process's own clock showed at its run time 0."""
    return Shift(to.there(clock.here(zero_ns)) - to_zero_ns, to.drift - clock.drift)
