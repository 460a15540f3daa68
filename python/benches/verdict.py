"""Three words for a bar: met, short, undecided; and when another round may still decide. Pure."""

from __future__ import annotations

from enum import Enum

from inrush.stats.stats import Interval

#: So far an interval may reach beyond its bar: what is called met or short is so but for this share.
SLACK = 0.05
#: An interval this narrow on both sides is as good as rounds make it.
NARROW = 0.08
#: More rounds are not made, however wide the interval.
MOST_ROUNDS = 40


class Word(Enum):
    MET = "met"
    SHORT = "short"
    UNDECIDED = "undecided"


def judged(ratio: Interval, bar: float, most: float | None = None) -> Word:
    """ratio: ours / theirs, above 1 is better. most: of what should agree, the bar from above.

    A bar is met by the estimate, and by the interval's lower end but for 5 %; it is short where the estimate is below
    and the upper end reaches less than 5 % beyond. What should agree does so where the whole interval lies within.
    """
    if most is not None:
        if bar <= ratio.low and ratio.high <= most:
            return Word.MET
        above = ratio.value > most and ratio.low > most * (1 - SLACK)
        return Word.SHORT if above or is_short(ratio, bar) else Word.UNDECIDED
    if ratio.value >= bar and ratio.low >= bar * (1 - SLACK):
        return Word.MET
    return Word.SHORT if is_short(ratio, bar) else Word.UNDECIDED


def is_short(ratio: Interval, bar: float) -> bool:
    return ratio.value < bar and ratio.high < bar * (1 + SLACK)


def is_narrow(ratio: Interval, share: float = NARROW) -> bool:
    return ratio.high <= ratio.value * (1 + share) and ratio.low >= ratio.value * (1 - share)
