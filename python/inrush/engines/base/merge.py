"""Rows into a table that has some of their keys: the statements of one dialect for it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from inrush.border.load import MergeStep
from inrush.border.plan import ChecksumItem
from inrush.engines.base.checksum import ChecksumFigures
from inrush.engines.base.sql import literal, quote
from inrush.workload import Table

#: What becomes of a row with a key that is there: it takes the other one's place, or is left out.
Merging = Literal["update", "skip"]
#: The table where rows come first, with the name of the import behind it; how many of their key came after (or before) a row;
#: where a dialect needs a column for their order.
STAGE, RANK, ORDER = "inrush_merge", "inrush_k", "inrush_n"


@dataclass(frozen=True)
class MergeDialect:
    """What dialects say in different words."""

    #: The order in which rows came.
    order: str
    #: Of a text of figures.
    text: str
    #: Names that no column of the files may have.
    taken: Sequence[str] = (RANK, ORDER)
    #: Which texts a key takes for equal, statements know.
    keys_of_texts: bool = True
    #: Makes {stage}, of {columns} of {table}, where it is not there; and what takes its rows.
    make: Sequence[str] = ("CREATE TABLE IF NOT EXISTS {stage} AS SELECT {columns} FROM {table} LIMIT 0",)
    clear: str = "DELETE FROM"
    #: One merge at a time, until the transaction ends: into the table of this {name}, a literal, or beside this {ledger}.
    lock: Sequence[str] = ()
    #: Asks for the columns of the unique keys of a table with {schema} and {name}, literals: (key, column, 1 where the whole of it
    #: counts, 1 where the server counts it). Without, a statement that is not run says whether there is such a key.
    ask_keys: str = ""

    def updated(self, key: Sequence[str], columns: Sequence[str]) -> str:
        """The end of an INSERT: a row whose key is there gets these columns. Both are quoted."""
        changed = ", ".join(f"{c} = excluded.{c}" for c in columns)
        return f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changed}"

    def joined(self, figures: Sequence[str]) -> str:
        """Figures as one text, with blanks between them."""
        return " || ' ' || ".join(f"CAST({figure} AS {self.text})" for figure in figures)


EMBEDDED = MergeDialect(order="rowid", text="VARCHAR", taken=("rowid", RANK), keys_of_texts=False)


def stage_of(physical: str, load: str) -> str:
    """Beside the table, which is `physical` in statements. Every command of one import has the same."""
    schema, dot, _ = physical.rpartition(".")
    return f"{schema}{dot}{quote(f'{STAGE}_{load}')}"


def make_stage(dialect: MergeDialect, stage: str, table: Table, physical: str) -> list[str]:
    columns = ", ".join(quote(c.name) for c in table.columns)
    return [text.format(stage=stage, columns=columns, table=physical) for text in dialect.make]


def merge_steps(
    dialect: MergeDialect,
    merging: Merging,
    table: Table,
    physical: str,
    stage: str,
    key: Sequence[str],
    lines: tuple[str, str],
    ledger: str,
    items: Sequence[ChecksumItem],
    figures: ChecksumFigures,
) -> list[MergeStep]:
    """From the stage into the table. physical, stage, ledger: as statements use them. lines: what begins a line of the ledger, with the
    name of its import.

    A line of the ledger has what the table loses or does not take, below zero: rows that are replaced, or whose key was there;
    and rows of the same key that came together. So the lines of all imports add up to the table.
    """
    columns = [quote(c.name) for c in table.columns]
    keys = [quote(name) for name in key]
    listed = ", ".join(columns)
    latest = "DESC" if merging == "update" else "ASC"
    ranked = (
        f"(SELECT m.*, ROW_NUMBER() OVER (PARTITION BY {', '.join(keys)} ORDER BY {dialect.order} {latest}) AS {RANK} "
        f"FROM {stage} m) x"
    )
    is_there = f"EXISTS (SELECT 1 FROM {physical} t WHERE {_equal('t', 'x', keys)})"
    of_table = ", ".join(f"t.{c}" for c in columns)
    insert_first = f"INSERT INTO {physical} ({listed}) SELECT {listed} FROM {ranked} WHERE {RANK} = 1"
    if merging == "update":
        keyed = (
            f"SELECT {of_table} FROM {physical} t JOIN (SELECT DISTINCT {', '.join(keys)} FROM {stage}) d "
            f"ON {_equal('t', 'd', keys)}"
        )
        # Keys may be equal and spelled otherwise, as texts without capitals: the last one stays as it is in the files.
        equal = {quote(c.name) for c in table.columns if c.name in key and c.type != "text"}
        merged = f"{insert_first} {dialect.updated(keys, [c for c in columns if c not in equal] or keys)}"
    else:
        keyed = f"SELECT {listed} FROM {ranked} WHERE {RANK} = 1 AND {is_there}"
        merged = f"{insert_first} AND NOT {is_there}"
    twice = f"SELECT {listed} FROM {ranked} WHERE {RANK} > 1"
    # What no SQL computes has no sums here either.
    can_sum = all(item.get("hash") != "read_back" for item in items)
    sums = dialect.joined([f"-({figures.figure(item, table.column)})" for item in items]) if can_sum else "''"

    def noted(line: str, rows: str) -> MergeStep:
        behind = f", -COUNT(*), 0, '', {sums} FROM ({rows}) r HAVING COUNT(*) > 0"
        return {"text": line, "noted": behind}

    locks: list[MergeStep] = [
        {"text": text.format(name=literal(physical), ledger=ledger)} for text in dialect.lock
    ]
    return [
        *locks,
        *(noted(line, rows) for line, rows in zip(lines, (keyed, twice), strict=True)),
        {"text": merged},
        {"text": f"{dialect.clear} {stage}"},
    ]


def ask_merged(dialect: MergeDialect, table: Table, physical: str, key: Sequence[str]) -> str:
    """A statement that changes nothing, and fails where no unique key has just these columns."""
    listed = ", ".join(quote(c.name) for c in table.columns)
    keys = [quote(name) for name in key]
    return (
        f"EXPLAIN INSERT INTO {physical} ({listed}) SELECT {listed} FROM {physical} WHERE 1 = 0 "
        f"{dialect.updated(keys, keys)}"
    )


def _equal(one: str, other: str, keys: Sequence[str]) -> str:
    return " AND ".join(f"{one}.{c} = {other}.{c}" for c in keys)
