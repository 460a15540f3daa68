"""Where a table is too large to be read back whole: seeded ranges of it, in the engine's own words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from inrush.border.plan import SeriesPart
from inrush.engines.base.sql import quote
from inrush.engines.base.twin import Twin
from inrush.workload import Column, Table

#: Ranges per table, and about how many rows in all.
RANGES, RANGE_ROWS = 4, 1_000_000
MS = 1_000_000
#: Types of columns that hold a key as the number it is.
WHOLE = ("u8", "i16", "u16", "i32", "u32", "i64")


@dataclass(frozen=True)
class Range:
    """Rows that are read back, and the statement that reads them."""

    first_row: int
    #: Those among which they are. By them the core also limits how long it waits: of series they are all rows of the table,
    #: since an engine without an index by the key looks at each of them.
    rows: int
    statement: str
    #: Only rows of these series, wherever they stand among those rows; None: all of them.
    series: SeriesPart | None = None


def read_back_ranges(
    server: Twin, table: Table, read_back: str, rows: int, seed: int, epoch_ns: int
) -> list[Range]:
    """No range where no time of the table says which rows it has.

    A range is some whole sweeps: its rows are those of the generator, and those between two instants in the engine.
    """
    time = sweep_column(table)
    sweeps = rows // table.series
    if time is None or sweeps < RANGES or server.instant(time, 0) is None:
        return []
    span = max(1, min(RANGE_ROWS // RANGES // table.series, sweeps // RANGES))
    period_ns = round(table.period_s * 1e9)
    ranges: list[Range] = []
    for first in firsts(sweeps, span, seed, table):
        low, high = (server.instant(time, epoch_ns + s * period_ns) for s in (first, first + span))
        column = quote(time.name)
        ranges.append(
            Range(
                first * table.series,
                span * table.series,
                f"{read_back} WHERE {column} >= {low} AND {column} < {high}",
            )
        )
    return ranges


def firsts(of: int, span: int, seed: int, table: Table) -> list[int]:
    """Where ranges of `span` begin among `of`: one range in every quarter, so that no two overlap."""
    quarter = of // RANGES
    draws = [
        int.from_bytes(sha256(f"{seed}/{table.name}/{k}".encode()).digest()[:8], "big") for k in range(RANGES)
    ]
    return [k * quarter + draw % (quarter - span + 1) for k, draw in enumerate(draws)]


def ranges_by_key(server: Twin, table: Table, read_back: str, rows: int, seed: int) -> list[Range]:
    """Some whole series each: for tables whose rows do not follow their times, in any order and at any rates.

    No range where no column of the table says which series a row is of, or series are too few or too long.
    """
    key = series_column(table)
    if key is None or server.whole_number(0) is None:
        return []
    span = span_of_series(table, rows)
    if not span:
        return []
    first_key = int((key.gen or {})["from"])
    ranges: list[Range] = []
    for first in firsts(table.series, span, seed, table):
        if holds_too_many(first, span, table, rows):
            continue
        low, high = (server.whole_number(first_key + s) for s in (first, first + span))
        column = quote(key.name)
        where = f"{read_back} WHERE {column} >= {low} AND {column} < {high}"
        ranges.append(Range(0, rows, where, {"first": first, "count": span}))
    return ranges


def span_of_series(table: Table, rows: int) -> int:
    """Series of one range: so many that the ranges have about `RANGE_ROWS` together; 0: series are too few or too long.

    By the mean of the series: which of them a range has does not depend on their rates, so that over many seeds its mean is
    theirs. Where rates differ most (sigma = 3) one range in a hundred has ten to twenty times as many rows, which is still as many as
    a table that is read back whole may have.
    """
    if table.series < RANGES:
        return 0
    mean = max(1, rows_of_a_series(table, rows))
    if mean > RANGE_ROWS:
        return 0
    return max(1, min(RANGE_ROWS // RANGES // mean, table.series // RANGES))


def rows_of_a_series(table: Table, rows: int) -> int:
    """Its mean, without the pinned series: that one has its own share, whatever the others have."""
    rates = table.rates
    if rates is None or rates.pinned is None:
        return rows // table.series
    return int(rows * (1 - rates.share)) // (table.series - 1)


def holds_too_many(first: int, span: int, table: Table, rows: int) -> bool:
    """Whether the pinned series is among them, and has more rows by itself than all ranges are to have."""
    rates = table.rates
    if rates is None or rates.pinned is None or rates.share * rows <= RANGE_ROWS:
        return False
    return first <= rates.pinned < first + span


def series_column(table: Table) -> Column | None:
    """The column that holds another whole number for each series, one after the other."""
    for column in table.columns:
        gen = column.gen or {}
        if gen.get("kind") != "cycle" or column.null_share or int(gen.get("every", 1)) != 1:
            continue
        if column.type in WHOLE and int(gen["to"]) - int(gen["from"]) + 1 == table.series:
            return column
    return None


def sweep_column(table: Table) -> Column | None:
    """The column that holds the time of its sweep to the instant."""
    for column in table.columns:
        gen = column.gen or {}
        if gen.get("kind") == "sweep_time" and not gen.get("jitter_ms") and not column.null_share:
            return column
    return None
