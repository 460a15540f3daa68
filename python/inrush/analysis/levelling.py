"""The sentence of an answer of kind `levels_off`: from which value on doubling brings little, and what smaller ones lose. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inrush.analysis.answer import Answer
from inrush.analysis.overview import EngineRow, Overview
from inrush.analysis.parts import Try
from inrush.analysis.points import Analysis
from inrush.analysis.settled import headed, say_with
from inrush.analysis.wording import TOO_FEW, ratio_of, say_bytes
from inrush.engines import title
from inrush.stats.levels import CONFIDENCE, LEAST_GAIN, Levels
from inrush.stats.quantity import LEAST_RUNS, known, says_nothing, show_known
from inrush.text import percent, signed_percent


def levelling(analysis: Analysis, found: Answer, seen: Overview, rows: Sequence[EngineRow]) -> str:
    """`DuckDB takes in 13 MB/s from files of 4 MB; a doubling gains less than 5 %; files of 64 kB are 3.1 times slower. …`"""
    return headed(
        seen.condition, ". ".join(said for row in rows if (said := of_engine(analysis, found, row)))
    )


def of_engine(analysis: Analysis, found: Answer, row: EngineRow) -> str:
    if row.stated is None or row.part is None or row.part.levels is None:
        return ""
    along, levels = found.along, row.part.levels
    here = row.here
    rate = show_known(row.stated.value, row.stated.interval, row.stated.figure)
    largest = "" if levels.chosen is not None else ", the largest"
    clauses = [
        f"{title(row.engine)} takes in {rate} {with_(along, here.value if here else None)}{largest}",
        gain(along, levels),
        smaller(analysis, found, row.part.tries[0], here),
    ]
    return "; ".join(clause for clause in clauses if clause)


def gain(along: str, levels: Levels) -> str:
    """What doubling brings from the value on that is named; of the largest what the last step to it brought."""
    little = f"less than {percent(LEAST_GAIN)}"
    if levels.chosen is not None:
        return f"doubling further gains {little}"
    if not levels.steps:
        return f"too few runs to show where doubling gains {little}"
    last = levels.steps[-1]
    # Of a gain that is small but not shown to be, its upper limit says why.
    limit = (
        f", at most {signed_percent(last.at_most)} at {percent(CONFIDENCE)} confidence"
        if last.gain < LEAST_GAIN
        else ""
    )
    return (
        f"no size is shown from which doubling gains {little}: from {say_bytes(along, last.small)} to "
        f"{say_bytes(along, last.large)} it gained {signed_percent(last.gain)} a doubling{limit}"
    )


def smaller(analysis: Analysis, found: Answer, first: Try, here: Try | None) -> str:
    """What the smallest value loses against the one that is named, paired by block."""
    if here is None or first is here or analysis.broken(found.figure, first.point):
        return ""
    ratio = ratio_of(here.runs, first.runs)
    if ratio is None:
        return ""
    those = of_value(found.along, first.value)
    if ratio.holds(1.0) and says_nothing(ratio):
        return f"{TOO_FEW} from {those} ({ratio.n} of {LEAST_RUNS})"
    if ratio.holds(1.0):
        return f"the rate of {those} is not distinguishable"
    if ratio.value < 1:
        return f"{those} are {known(1 / ratio.value, ratio)} times faster"
    return f"{those} are {known(ratio.value, ratio)} times slower"


def with_(along: str, value: Any) -> str:
    return f"{'from' if along == 'file_bytes' else 'with'} {of_value(along, value)}"


def of_value(along: str, value: Any) -> str:
    """`files of 4 MB`; of other factors their name and value."""
    return f"files of {say_bytes(along, value)}" if along == "file_bytes" else say_with(along, value)
