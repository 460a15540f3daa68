"""Was a study's expectation right? Each part of it that has a rule is judged by its figures; the rest is not judged. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inrush.analysis.claims import Finding, cores_missing, engines_asked, findings, invalid_under
from inrush.analysis.points import Analysis

RIGHT, WRONG, NOT_JUDGED = "right", "wrong", "not judged"
#: Groups of points that a mark names; the sentences of others are cut.
MOST_GROUPS = 4


@dataclass(frozen=True)
class Mark:
    #: `right`, `wrong` or `not judged`.
    word: str
    #: The figures that decide, or why nothing does.
    because: str
    #: The part of the expectation; empty of an expectation without rules.
    claim: str = ""
    #: The engine that it speaks of, or `all`.
    engine: str = ""

    @property
    def said(self) -> str:
        return f"{self.claim}: {self.because}" if self.claim else self.because

    @property
    def document(self) -> dict[str, str]:
        """For programs."""
        return {"word": self.word, "claim": self.claim, "engine": self.engine, "because": self.because}


def expectation_marks(analysis: Analysis) -> list[Mark]:
    """One for every part of the expectation with a rule, and one that says so where there is none."""
    if not analysis.study.get("expect"):
        return []
    return list(marks(analysis)) or [Mark(NOT_JUDGED, "the study gives no rule that says it in numbers")]


def marks(analysis: Analysis) -> Iterator[Mark]:
    """Of published claims that say the same (`expected = true`), then of the expectation's own parts."""
    for published in analysis.study.get("published") or ():
        if published.get("expected") and published.get("rule"):
            for engine, value in dict(published["values"]).items():
                claim = f"{published['claim']} of {engine}"
                yield mark(analysis, claim, published["rule"], str(engine), float(value))
    for expected in analysis.study.get("expected") or ():
        values = dict(expected["values"])
        measured = {e: v for e, v in values.items() if engines_asked(analysis, str(e))}
        for engine, value in measured.items():
            yield mark(analysis, str(expected["claim"]), expected["rule"], str(engine), float(value))
        if not measured:
            because = f"{', '.join(values)}: not measured"
            yield Mark(NOT_JUDGED, because, str(expected["claim"]), ", ".join(values))


def mark(analysis: Analysis, claim: str, rule: Mapping[str, Any], engine: str, value: float) -> Mark:
    found = findings(analysis, rule, engine, value)
    if because := invalid_under(analysis, rule, engine, found):
        return Mark(NOT_JUDGED, because, claim, engine)
    if not found:
        because = "no point measured it" if engines_asked(analysis, engine) else f"{engine} was not measured"
        return Mark(NOT_JUDGED, because, claim, engine)
    wrong = [f for f in found if f.holds is False]
    undecided = [f for f in found if f.holds is None]
    if wrong and not (missing := cores_missing(analysis, rule)):
        return Mark(WRONG, named(wrong), claim, engine)
    if wrong:
        return Mark(NOT_JUDGED, f"{named(wrong)}; {missing}", claim, engine)
    if undecided:
        return Mark(NOT_JUDGED, named(undecided), claim, engine)
    return Mark(RIGHT, named(found), claim, engine)


def named(found: Sequence[Finding]) -> str:
    more = len(found) - MOST_GROUPS
    return "; ".join(f.because for f in found[:MOST_GROUPS]) + (f"; and {more} more" if more > 0 else "")
