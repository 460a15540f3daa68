"""The tables of a run's processes, one process at a time: together they may be larger than memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from inrush.results.parts import Shift, shifted
from inrush.results.schema import SCHEMAS, conform


@dataclass(frozen=True)
class Tables:
    """By process: its folder, and from its run time to that of the first one."""

    folders: Sequence[Path]
    shifts: Sequence[Shift]

    def each(self, name: str) -> Iterator[pa.Table]:
        """That table of every process on one clock, whole."""
        for reader in self.readers(name):
            chunks = [chunk.table for chunk in reader.chunks()]
            yield chunks[0] if chunks else SCHEMAS[name].empty_table()

    def readers(self, name: str) -> list[Reader]:
        return [
            Reader(name, folder / f"{name}.arrows", by)
            for folder, by in zip(self.folders, self.shifts, strict=True)
        ]


@dataclass(frozen=True)
class Chunk:
    table: pa.Table
    #: Of each of its batches: its first row, and where it begins in the file.
    firsts: Sequence[int]
    offsets: Sequence[int]

    def batch_of(self, row: int) -> tuple[int, int]:
        """First row and begin of the batch that has that row."""
        at = bisect_right(self.firsts, row) - 1
        return self.firsts[at], self.offsets[at]


class Reader:
    """A place in a table: open only while it is read, since there may be more processes than a process has files."""

    def __init__(self, name: str, path: Path, by: Shift) -> None:
        self.name, self.path, self.by = name, path, by
        #: Of the next batch in the file; 0: of the schema before them.
        self.offset = 0

    def chunks(self, rows: int = 0) -> Iterator[Chunk]:
        """From `offset` on, at least so many rows each; 0: all of them. Only whole batches: a kill cuts a table anywhere."""
        if not self.path.is_file():
            return
        with pa.OSFile(str(self.path)) as file:
            try:
                batches = pa.ipc.open_stream(file)
            except (pa.ArrowInvalid, OSError):
                return
            if self.offset:
                file.seek(self.offset)
            more = True
            while more:
                held, more = batches_of(file, batches, rows)
                if held:
                    yield self.chunk(held)

    def chunk(self, held: Sequence[tuple[int, pa.RecordBatch]]) -> Chunk:
        firsts, count = [], 0
        for _, batch in held:
            firsts.append(count)
            count += batch.num_rows
        # A process writes a batch each second: what is done batch by batch, takes longer than reading.
        table = conform(self.name, pa.Table.from_batches([batch for _, batch in held]).combine_chunks())
        return Chunk(shifted(self.name, table, self.by), firsts, [offset for offset, _ in held])


def batches_of(
    file: pa.NativeFile, batches: pa.RecordBatchStreamReader, rows: int
) -> tuple[list[tuple[int, pa.RecordBatch]], bool]:
    """Where each begins in the file, and itself; whether there may be more behind them."""
    held, count = list[tuple[int, pa.RecordBatch]](), 0
    while rows == 0 or count < rows:
        begin = file.tell()
        try:
            batch = batches.read_next_batch()
        except (StopIteration, pa.ArrowInvalid, OSError):
            return held, False
        held.append((begin, batch))
        count += batch.num_rows
    return held, True
