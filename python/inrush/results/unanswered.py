"""Inserts of which no answer came, and what a run's proof found of them (`rust/drive/src/proof/unanswered.rs`). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from inrush.border.tables import ProofRow

ITEM = re.compile(r"unanswered\((\d+)\.\.(\d+)\)")
#: How items of a dump begin, which are of its files and not of the table.
OF_FILES = "dump/"
WHOLE, NONE, PART = "whole", "none", "in part"


@dataclass(frozen=True)
class Insert:
    """One insert that lost its connection before its answer."""

    table: str
    #: Rows of the generator, end not included; of files, by the order in which they are read.
    first_row: int
    end_row: int
    #: `whole`, `none`, or `in part` with the rows that are there
    found: str

    @property
    def is_part(self) -> bool:
        return self.found.startswith(PART)

    @property
    def rows(self) -> int:
        """Rows of it that are there."""
        if self.is_part:
            return int(self.found.removeprefix(f"{PART}, ").split()[0])
        return self.end_row - self.first_row if self.found == WHOLE else 0


@dataclass(frozen=True)
class Unanswered:
    """What a proof says of a run with inserts that got no answer; each counted once."""

    inserts: Sequence[Insert]
    #: Rows that were acknowledged, of all tables that were proven.
    acknowledged: int

    @property
    def stored(self) -> int:
        return sum(insert.found == WHOLE for insert in self.inserts)

    @property
    def in_part(self) -> int:
        return sum(insert.is_part for insert in self.inserts)


def unanswered(proofs: Iterable[ProofRow]) -> Unanswered | None:
    """Of rows of the table `proofs`; None where every insert got an answer.

    What is proven after every repetition is proven once more at the end: that is not counted again.
    """
    counted = of_segment(proofs, min)
    inserts = list(inserts_of(counted))
    if not inserts:
        return None
    acknowledged: dict[tuple[str, int], int] = {}
    for row in counted:
        at = (str(row["table"]), int(row["repetition"] or 0))
        if row["item"] == "acknowledged" or (row["item"] == "rows" and at not in acknowledged):
            acknowledged[at] = int(row["expected"])
    return Unanswered(inserts, sum(acknowledged.values()))


def at_the_end(proofs: Iterable[ProofRow]) -> list[Insert]:
    """The inserts without an answer into the tables as they were when all work was done."""
    return list(inserts_of(of_segment(proofs, max)))


def inserts_of(proofs: Iterable[ProofRow]) -> Iterable[Insert]:
    for row in proofs:
        if match := ITEM.fullmatch(row["item"]):
            yield Insert(str(row["table"]), int(match[1]), int(match[2]), str(row["found"]))


def of_segment(proofs: Iterable[ProofRow], which: Callable[[list[int]], int]) -> list[ProofRow]:
    """Of each table the proofs of one segment: `min` the first that proved it, `max` the last. Those of files prove none."""
    rows = [row for row in proofs if not str(row["item"]).startswith(OF_FILES)]
    segments: dict[str, list[int]] = {}
    for row in rows:
        segments.setdefault(row["table"], []).append(row["segment"] or 0)
    return [row for row in rows if (row["segment"] or 0) == which(segments[row["table"]])]
