"""Tables that workers have left in their folders: read and written batch after batch, and moved to another clock.

A table may be larger than memory, and the last batch of a worker that was killed may not be whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


def read(name: str, folder: Path) -> Iterator[pa.Table]:
    path = folder / f"{name}.arrows"
    for batch in whole_batches(path) if path.is_file() else ():
        yield conform(name, pa.Table.from_batches([batch]))


def stream(path: Path, tables: Iterator[pa.Table], name: str) -> None:
    """Whole or not at all: `tables` may read what stands there."""
    unfinished = path.with_suffix(".part")
    with pa.ipc.new_stream(unfinished, SCHEMAS[name]) as out:
        for table in tables:
            out.write_table(table.select(SCHEMAS[name].names))
    unfinished.rename(path)


def shifted(name: str, table: pa.Table, offset_ns: int, rate: float = 0.0) -> pa.Table:
    """Its times on another clock: t + offset + rate·t."""
    for column in TIMES.get(name, ()) if offset_ns or rate else ():
        times = table[column]
        # What was before that clock began, was at its begin.
        moved = pc.add(times.cast(pa.int64()), pa.scalar(offset_ns, pa.int64()))
        if rate:
            gained = pc.round(pc.multiply(times.cast(pa.float64()), pa.scalar(rate)))
            moved = pc.add(moved, gained.cast(pa.int64()))
        later = pc.max_element_wise(moved, pa.scalar(0, pa.int64())).cast(pa.uint64())
        if column in OR_NONE:
            later = pc.if_else(pc.equal(times, 0), times, later)
        table = table.set_column(
            table.schema.get_field_index(column), column, later.cast(table.schema.field(column).type)
        )
    return table
