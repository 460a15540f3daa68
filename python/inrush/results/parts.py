"""Tables that workers have left in their folders: read and written batch after batch, and moved to another clock.

A table may be larger than memory, and the last batch of a worker that was killed may not be whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from inrush.results.schema import SCHEMAS, conform
from inrush.results.store import whole_batches

#: Table -> its columns of times, and those among them of which 0 is no time.
TIMES: Mapping[str, tuple[str, ...]] = {
    "segments": ("start_ns", "end_ns"),
    "repetitions": ("start_ns", "end_ns"),
    "samples": (
        "due_ns", "collected_ns", "sent_ns", "done_ns", "seen_ns", "sent_on_time_ns", "done_on_time_ns",
    ),
    "files": ("due_ns", "start_ns", "sent_ns", "end_ns"),
    "intervals": ("t_ns",),
    "sends": ("t_ns",),
    "hist": ("t_ns",),
    "failures": ("first_ns",),
    "resources": ("t_ns",),
    "counters": ("t_ns",),
    "sizes": ("t_ns",),
    "settings": ("t_ns",),
    "steps": ("start_ns", "end_ns"),
}  # fmt: skip
OR_NONE = ("done_ns", "seen_ns", "sent_on_time_ns", "done_on_time_ns")


@dataclass(frozen=True)
class Shift:
    """From the run time of one process to that of another: t + offset + rate·t."""

    offset_ns: int = 0
    rate: float = 0.0


def read(name: str, folder: Path, by: Shift = Shift()) -> Iterator[pa.Table]:
    """On another clock."""
    path = folder / f"{name}.arrows"
    for batch in whole_batches(path) if path.is_file() else ():
        yield shifted(name, conform(name, pa.Table.from_batches([batch])), by)


def whole(name: str, folder: Path, by: Shift = Shift()) -> pa.Table:
    """A table that memory holds."""
    return pa.concat_tables([SCHEMAS[name].empty_table(), *read(name, folder, by)])


def stream(path: Path, tables: Iterator[pa.Table], name: str) -> None:
    """Whole or not at all: `tables` may read what stands there."""
    unfinished = path.with_suffix(".part")
    with pa.ipc.new_stream(unfinished, SCHEMAS[name]) as out:
        for table in tables:
            out.write_table(table.select(SCHEMAS[name].names))
    unfinished.rename(path)


def shifted(name: str, table: pa.Table, by: Shift) -> pa.Table:
    """Its times on another clock."""
    for column in TIMES.get(name, ()) if by != Shift() else ():
        times = table[column]
        # What was before that clock began, was at its begin.
        moved = pc.add(times.cast(pa.int64()), pa.scalar(by.offset_ns, pa.int64()))
        if by.rate:
            gained = pc.round(pc.multiply(times.cast(pa.float64()), pa.scalar(by.rate)))
            moved = pc.add(moved, gained.cast(pa.int64()))
        later = pc.max_element_wise(moved, pa.scalar(0, pa.int64())).cast(pa.uint64())
        if column in OR_NONE:
            later = pc.if_else(pc.equal(times, 0), times, later)
        table = table.set_column(
            table.schema.get_field_index(column), column, later.cast(table.schema.field(column).type)
        )
    return table
