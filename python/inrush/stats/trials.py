"""What the runs of one value showed of a limit: reached, not reached, or nothing that decides. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Trial(Enum):
    HELD = "held"
    FAILED = "did not hold"
    #: Ran, and its figure decides nothing: invalid, or with a client on time it would decide otherwise.
    UNDECIDED = "is undecided"


@dataclass(frozen=True)
class Tried:
    """One run."""

    trial: Trial
    block: int = 1
    #: Why it decides nothing.
    because: str = ""


def standing(runs: Sequence[Tried]) -> Trial | None:
    """What all runs of one value show; None where there are none.

    One run that did not hold is enough to fail, one undecided run leaves the value undecided. The pilot enters no
    figure: where it was undecided, the blocks settle it.
    """
    if not runs:
        return None
    if any(run.trial is Trial.FAILED for run in runs):
        return Trial.FAILED
    counted = [run for run in runs if run.block > 0] or runs
    return Trial.UNDECIDED if any(run.trial is Trial.UNDECIDED for run in counted) else Trial.HELD
