"""Where a table is too large to be read back whole: seeded ranges of it, in the engine's own words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from inrush.engines.sql import quote
from inrush.engines.twin import Twin
from inrush.workload import Column, Table

#: Ranges per table, and about how many rows in all.
RANGES, RANGE_ROWS = 4, 1_000_000
MS = 1_000_000


@dataclass(frozen=True)
class Range:
    """Rows that are read back, and the statement that reads them."""

    first_row: int
    rows: int
    statement: str


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
    found: list[Range] = []
    # One range in every quarter, so that no two overlap.
    quarter = sweeps // RANGES
    for k in range(RANGES):
        draw = int.from_bytes(sha256(f"{seed}/{table.name}/{k}".encode()).digest()[:8], "big")
        first = k * quarter + draw % (quarter - span + 1)
        low, high = (server.instant(time, epoch_ns + s * period_ns) for s in (first, first + span))
        column = quote(time.name)
        found.append(
            Range(
                first * table.series,
                span * table.series,
                f"{read_back} WHERE {column} >= {low} AND {column} < {high}",
            )
        )
    return found


def sweep_column(table: Table) -> Column | None:
    """The column that holds the time of its sweep to the instant."""
    for column in table.columns:
        gen = column.gen or {}
        if gen.get("kind") == "sweep_time" and not gen.get("jitter_ms") and not column.null_share:
            return column
    return None
