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
    figure: what it showed stands until a counted run shows something.
    """
    if not runs:
        return None
    counted = {run.trial for run in runs if run.block > 0} or {run.trial for run in runs}
    return next(trial for trial in (Trial.FAILED, Trial.UNDECIDED, Trial.HELD) if trial in counted)
