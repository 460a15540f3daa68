"""Whether the day or the month stands first is asked where nothing in a file says it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

from inrush.commands.printing import say

T = TypeVar("T")


def with_dates(do: Callable[[str | None], T], dates: str | None) -> T:
    """What `do` gives for `--dates`; where it cannot know their order, a terminal is asked and it is done again.

    Raises DatesUndecided where there is no terminal, and where the answer is none.
    """
    from inrush.study.chosen import DatesUndecided

    try:
        return do(dates)
    except DatesUndecided as undecided:
        if dates is not None or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        say(str(undecided))
        print("dmy, mdy or text? ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline().strip()
        if not answer:
            raise
        return do(answer)
