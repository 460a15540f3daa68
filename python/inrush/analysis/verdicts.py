"""What a guard says: a verdict on figures of a run or of a study. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

Figures = Mapping[str, float]
Point = tuple[tuple[str, object], ...]


#: What is said of a result, or of a part of it, that a guard has a note on and none makes invalid.
WITH_NOTES = "valid, with notes"


class Outcome(Enum):
    PASS = "pass"
    NOT_CHECKED = "not checked"
    NOTE = "note"
    INVALID = "invalid"

    @property
    def weight(self) -> int:
        return list(Outcome).index(self)


@dataclass(frozen=True)
class Verdict:
    guard: str
    outcome: Outcome
    #: What was found, where, and what to do next, as one or two sentences.
    sentence: str
    #: The run's rows or answers are wrong: it has no time in any figure.
    hides: bool = False
    #: Figures (`role.metric`) that an invalid verdict is about; None: all of the run. Others of the run stand.
    figures: tuple[str, ...] | None = None
    #: How far a run misses the limit, the larger the worse: of several runs the one with the largest is quoted. Each guard
    #: has its own unit; 0 of guards that say yes or no.
    size: float = 0.0
    #: Points that an invalid verdict of a study is about; None: all. With no figure at all: points whose figures stand, and
    #: between which nothing is decided.
    points: tuple[Point, ...] | None = None

    def breaks(self, figure: str, point: Point | None = None) -> bool:
        """Whether it makes this figure invalid (at this point)."""
        return (
            self.outcome is Outcome.INVALID
            and (self.figures is None or figure in self.figures)
            and (self.points is None or point is None or point in self.points)
        )


def passed(guard: str, sentence: str) -> Verdict:
    return Verdict(guard, Outcome.PASS, sentence)


def noted(guard: str, sentence: str, size: float = 0.0) -> Verdict:
    return Verdict(guard, Outcome.NOTE, sentence, size=size)


def not_checked(guard: str, why: str) -> Verdict:
    """It had nothing to check, and says why: nothing is known, for or against."""
    return Verdict(guard, Outcome.NOT_CHECKED, why)


def invalid(
    guard: str,
    sentence: str,
    hides: bool = False,
    figures: Iterable[str] | None = None,
    points: Iterable[Point] | None = None,
    size: float = 0.0,
) -> Verdict:
    return Verdict(
        guard,
        Outcome.INVALID,
        sentence,
        hides,
        None if figures is None else tuple(dict.fromkeys(figures)),
        size,
        None if points is None else tuple(dict.fromkeys(points)),
    )


def worst(verdicts: Iterable[Verdict]) -> Outcome:
    return max((v.outcome for v in verdicts), key=lambda o: o.weight, default=Outcome.PASS)


def worst_said(verdicts: Iterable[Verdict]) -> str:
    """`client on time: The client itself was late …`, the worst of the first guard among them; empty of none."""
    found = next(iter(by_guard([("", v) for v in verdicts]).values()), [])
    return f"{found[0][1].guard}: {found[0][1].sentence}" if found else ""


def worst_first(verdicts: Sequence[tuple[str, Verdict]]) -> list[tuple[str, Verdict]]:
    """(run id, verdict) pairs of one guard."""
    return sorted(verdicts, key=lambda pair: (-pair[1].outcome.weight, -pair[1].size))


def of_runs(found: Sequence[tuple[str, Verdict]], of: int) -> str:
    """` (in 3 of 5 runs, the worst b02-0001-mysql)`, of verdicts with the worst first; nothing of a study's, nor of one run."""
    runs = list(dict.fromkeys(run for run, _ in found if run))
    if not runs or of < 2:
        return ""
    return f" (in {len(runs)} of {of} runs, {'the worst ' * (len(runs) > 1)}{runs[0]})"


def by_guard(verdicts: Sequence[tuple[str, Verdict]]) -> dict[str, list[tuple[str, Verdict]]]:
    """(run id, verdict) pairs gathered by guard, worst first within each."""
    by_name: dict[str, list[tuple[str, Verdict]]] = {}
    for where, verdict in verdicts:
        by_name.setdefault(verdict.guard, []).append((where, verdict))
    return {guard: worst_first(found) for guard, found in by_name.items()}
