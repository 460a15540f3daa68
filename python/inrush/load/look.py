"""The tables of a load beside their ledgers, at its end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from inrush.engines.base.plans import Proof
from inrush.load import ledger, proof
from inrush.load.imports import Import, items_of
from inrush.load.input import Input
from inrush.load.ledger import Header
from inrush.load.ledgers import Ledgers, Rows, later_of, named_of, summed_of
from inrush.load.merge import merged_names, without_merged
from inrush.load.proof import Figures
from inrush.load.unfinished import unfinished
from inrush.plan import ends
from inrush.plan.ledger import replica_load

#: How often tables are looked at while other imports store into them, and the pause between, s.
LOOKS, PAUSE_S = 30, 0.3


@dataclass(frozen=True)
class Begun:
    """What the end of a load needs of its beginning."""

    ledgers: Ledgers
    of: Import
    proof: Proof
    #: Column -> what its type does to values.
    weak: Mapping[str, str]
    verify: bool
    #: The table's rows are counted, and its columns not summed.
    count_only: bool
    inputs: tuple[Input, ...]


def begun_of(wanted: ends.Wanted) -> Begun:
    """What `run.prepare` has left for the end."""
    assert isinstance(wanted.begun, Begun), "nothing ends that was not begun"
    return wanted.begun


@dataclass(frozen=True)
class Looked:
    """Ledgers and tables at one moment."""

    #: Of each shard: rows of its table, and at least so many by its ledger.
    shards: list[tuple[str, int, int]]
    rows_before: int
    unknown: int | None
    #: By the imports that filled the table, and by this one alone; None: not known.
    expected: list[int] | None
    of_ledger: list[int] | None
    #: (what they are of, figures)
    found: list[tuple[str, Figures]]
    #: Why nothing is expected.
    uncompared: str = ""
    #: How many imports filled the table, and which of them were not finished.
    imports: int = 1
    unfinished: tuple[str, ...] = ()
    #: Copies that are not on the shard after their rows.
    astray: str = ""
    #: Rows of the imports that filled the table, and of this one, that were replaced or skipped by their key.
    merged: int = 0
    merged_own: int = 0


#: Why the sums are not compared of a table with merged rows.
NO_SUMS = (
    "rows were replaced or skipped by their key, and this engine's SQL does not sum all of their columns"
)


#: And why they are not where the call leaves them out.
LEFT_OUT = "--proof count left the sums of columns out; the same command without it compares them"


def _why_not(filled: bool, can: bool, before: int) -> str:
    """Why the sums of a table are not compared, where they are not."""
    if not filled:
        return f"the table held {before:,} rows before"
    return "an import before this one noted other sums" if can else "this import is a small part of the table"


@dataclass(frozen=True)
class Summed:
    """One table of each shard, and what is summed of it."""

    name: str
    proof: Proof
    #: Column -> logical type.
    types: Mapping[str, str]
    #: Of a shard, the figures that no SQL computes.
    scan: Callable[[int], Figures]


class _Moment(NamedTuple):
    """Tables and ledgers of all shards at once."""

    headers: Sequence[Sequence[Header]]
    rows: Sequence[Rows]
    #: The same without rows that were replaced or skipped by their key.
    inside: Sequence[Rows]
    #: The sums of each shard's table; empty where they are not worth their time.
    figures: Sequence[Figures]
    counts: Sequence[int]
    #: Nothing was stored meanwhile.
    still: bool


def _moment(ledgers: Ledgers, of: Import, table: Summed, count_only: bool) -> _Moment:
    for _ in range(LOOKS - 1):
        found = _seen(ledgers, of, table, count_only)
        if found.still:
            return found
        time.sleep(PAUSE_S)
    return _seen(ledgers, of, table, count_only)


def _seen(ledgers: Ledgers, of: Import, table: Summed, count_only: bool) -> _Moment:
    headers = ledgers.headers()
    loads = [*{of.load, *(h.load for h in headers[0])}]
    rows = ledgers.rows(loads)
    inside = without_merged(ledgers, rows)
    can = not count_only and proof.worth_summing(of.load, _of_all_shards(headers), summed_of(rows))
    figures = _figures(ledgers, table) if can else []
    counts = [int(found[0]) for found in figures] if can else ledgers.counts(table.name)
    lengths = [len(h) for h in headers]
    still = ledgers.rows(loads) == rows and [len(h) for h in ledgers.headers()] == lengths
    return _Moment(headers, rows, inside, figures, counts, still)


def _are_copied(ledgers: Ledgers, loads: Sequence[str], sums: Rows) -> bool:
    """Whether the replicas have the rows of all these imports. sums: the rows of each."""
    copied = summed_of(ledgers.rows([replica_load(load) for load in loads]))
    return all(copied.get(replica_load(load), 0) == sums.get(load, 0) for load in loads)


def look(
    ledgers: Ledgers, of: Import, table: Summed, copies: Summed | None = None, count_only: bool = False
) -> Looked:
    """The tables beside their ledgers, at a moment when no other import stores."""
    tables = table.proof
    headers, rows, inside, figures, counts, still = _moment(ledgers, of, table, count_only)
    together, can = _of_all_shards(headers), bool(figures)
    # As the ledger has them: another client of the same import may have begun it.
    owns = [named_of(found, own.load) or own for own, found in zip(of.headers, headers, strict=True)]
    least = [
        proof.least(own, later_of(found, own), mine)
        for own, found, mine in zip(owns, headers, inside, strict=True)
    ]
    named = [(name, now, low) for (name, _), now, low in zip(ledgers.targets, counts, least, strict=True)]
    sums = summed_of(inside)
    before = sum(h.rows_before for h in owns)
    if not still:
        return Looked(named, before, None, None, None, [])
    unknown, filled = proof.unknown_rows(together, sums, sum(counts))
    of_ledger = _sums(ledgers, tables, [of.load])
    same = filled is not None and all(_same(h, tables.items, table.types) for h in filled)
    loads = [h.load for h in filled or ()]
    expected: list[int] | None = None
    gone: list[int] | None = []
    if filled and same and can:
        expected = of_ledger if loads == [of.load] else _sums(ledgers, tables, loads)
        gone = _merged(ledgers, tables, loads)
        can = gone is not None
        expected = None if expected is None or gone is None else proof.added(tables.items, [expected, gone])
    why = _why_not(filled is not None, can, before) if gone is not None else NO_SUMS
    if count_only and filled is not None:
        why = LEFT_OUT
    found: list[tuple[str, Figures]] = [("the table", proof.added(tables.items, figures))] if can else []
    astray = ""
    if copies is not None and filled and expected is not None:
        if _are_copied(ledgers, loads, sums):
            copied_figures = _figures(ledgers, copies)
            found.append(("the replicas", proof.added(tables.items, copied_figures)))
            names, after = [name for name, _ in ledgers.targets], [*copied_figures[1:], *copied_figures[:1]]
            astray = proof.astray(names, figures, after, "sums")
        else:
            # Copies were asked for later: they are of some imports alone.
            expected, why = None, "the replicas hold the rows of some imports alone"
    others = [h for h in filled or () if h.load != of.load]
    stored = summed_of(rows)
    return Looked(
        named,
        before,
        unknown,
        expected,
        of_ledger,
        found,
        why,
        len(loads),
        unfinished(ledgers, others),
        astray,
        merged=sum(stored.get(load, 0) - sums.get(load, 0) for load in loads),
        merged_own=stored.get(of.load, 0) - sums.get(of.load, 0),
    )


def _same(header: Header, items: Sequence[proof.Item], types: Mapping[str, str]) -> bool:
    """Whether its sums are of the same columns in the same units."""
    units = {column: header.types.get(column) for column, kind in types.items() if kind.startswith("time")}
    return items_of(header.items) == items_of(items) and all(types[c] == unit for c, unit in units.items())


def _of_all_shards(headers: Sequence[Sequence[Header]]) -> list[Header]:
    """The headers of the first shard with the rows that all shards had before."""
    before: Rows = {}
    for found in headers:
        for header in found:
            before[header.load] = before.get(header.load, 0) + header.rows_before
    return [replace(header, rows_before=before[header.load]) for header in headers[0]]


def _figures(ledgers: Ledgers, of: Summed) -> list[list[int]]:
    """Of each shard."""
    items, query = of.proof.items, of.proof.checksum_query
    return ledgers.at_once(lambda k: proof.together(items, proof.one_row(ledgers.ask(k, query)), of.scan(k)))


def _sums(ledgers: Ledgers, tables: Proof, loads: Sequence[str]) -> list[int] | None:
    """Of all chunks. Where a shard refused rows after another one had its part, its line alone has the sums without them."""
    last = _lacking(ledgers, loads) if len(ledgers.targets) > 1 else {}
    lines = ledgers.ask(0, ledger.ask_sums(ledgers.name, loads))
    texts = [last.get((str(load), int(file), int(chunk)), text) for load, file, chunk, _, text in lines]
    return proof.of_lines(tables.items, texts)


def _merged(ledgers: Ledgers, tables: Proof, loads: Sequence[str]) -> list[int] | None:
    """What the sums lack by rows that were replaced or skipped: each shard has its own. None where no SQL computes them."""
    question = ledger.ask_sums(ledgers.name, merged_names(loads))
    lines = [text for of in ledgers.at_once(lambda k: ledgers.ask(k, question)) for *_, text in of]
    return proof.of_lines(tables.items, lines)


def _lacking(ledgers: Ledgers, loads: Sequence[str]) -> dict[tuple[str, int, int], str]:
    """Import, file and chunk of those that came without refused rows -> the sums of the line that lacks most."""
    question = ledger.ask_sums(ledgers.name, loads, lacking=True)
    lines = [line for of in ledgers.at_once(lambda k: ledgers.ask(k, question)) for line in of]
    lines.sort(key=lambda line: int(json.loads(line[3])["refused"]))
    return {(str(load), int(file), int(chunk)): str(text) for load, file, chunk, _, text in lines}
