"""A statement as data (`rust/src/plan/statement.rs`), and how it is run outside of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, TypedDict, TypeVar

#: Of one answer.
Rows = TypeVar("Rows", bound=Sequence[Sequence[object]])


class EachRow(TypedDict):
    """A query for statements: the text of every row that it gives is run."""

    text: str
    repeat: Literal["each_row"]


class UntilNoRows(TypedDict):
    """A query that is asked again until it gives no rows: what a server works on in the background is done."""

    text: str
    repeat: Literal["until_no_rows"]


#: What an engine's twin writes to make, empty and drop. A text alone is run once.
Command: TypeAlias = str | EachRow
Statement: TypeAlias = str | EachRow | UntilNoRows


def run_statement(statement: Command, ask: Callable[[str], Rows]) -> Rows:
    """The rows of its text; of `each_row`, the text of every row is run too. ask: a text -> its rows."""
    if isinstance(statement, str):
        return ask(statement)
    rows = ask(statement["text"])
    for row in rows:
        if row and isinstance(row[0], str):
            ask(row[0])
    return rows
