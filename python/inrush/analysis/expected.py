"""Was a study's expectation right? Claims with the same rule judge it; the rest is not judged. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inrush.analysis.claims import Judged, Status, judged_claims
from inrush.analysis.points import Analysis, say

#: What became of a claim -> what that makes of the expectation.
WORDS = {Status.CONFIRMED: "right", Status.CONTRADICTED: "wrong", Status.NOT_TESTABLE: "not judged"}


@dataclass(frozen=True)
class Mark:
    #: `right`, `wrong` or `not judged`.
    word: str
    because: str


def expectation_marks(analysis: Analysis) -> list[Mark]:
    """One for every claim that judges the expectation (`expected = true`), and one that says so where there is none."""
    if not analysis.study.get("expect"):
        return []
    claims = [p for p in analysis.study.get("published") or () if p.get("expected") and p.get("rule")]
    found = [
        mark(analysis, p, j)
        for p in claims
        for j in judged_claims(analysis)
        if (j.claim, j.source) == (str(p["claim"]), str(p["source"]))
    ]
    return found or [Mark("not judged", "no claim of the study says the same")]


def mark(analysis: Analysis, published: Mapping[str, Any], judged: Judged) -> Mark:
    about = f"{judged.claim} of {judged.engine}"
    figure = str(published["rule"]["of"])
    asked = {**dict(published["rule"].get("where") or {})}
    if judged.engine != "all":
        asked["engine"] = judged.engine
    points = [p for p in analysis.values(figure) if all(dict(p).get(k) == v for k, v in asked.items())]
    broken = analysis.broken_points(figure, points)
    if broken:
        guard = analysis.broken(figure, broken[0])[0][1].guard
        return Mark("not judged", f"{about}: {figure} is INVALID at {say(broken[0])} ({guard})")
    return Mark(WORDS[judged.status], f"{about}: {judged.because}")
