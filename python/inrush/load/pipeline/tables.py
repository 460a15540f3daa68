"""What loads leave: rows of the tables of docs/results.md, from events, the watch and the proofs. Pure but for `write`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from inrush.border.pipeline import AnySegment
from inrush.load.pipeline.stretches import Whole
from inrush.results.parts import read, stream, whole
from inrush.results.schema import SCHEMAS, of_load

Doc = dict[str, Any]

#: Rows of a batch of a table.
BATCH_ROWS = 8_192
#: Bytes that reached the load servers from their clients, by themselves counted.
FROM_CLIENTS = "clients"


def totals(of: Whole, pipelines: int, cpu_ns: int, segment: int, role: str, due: int) -> Doc:
    """The load as a whole: first due to last stored; a call is a file. due: files that there were."""
    return {
        "segment": segment, "repetition": 0, "role": role, "start_ns": of.start_ns, "end_ns": of.end_ns,
        "rows": of.rows, "bytes": of.bytes, "ops": of.files, "ok": of.files, "errors": 0, "wrong": 0, "late": 0,
        "unsent": max(0, due - of.files), "sessions": pipelines, "cpu_ns": cpu_ns, "unseen": 0, "queued_ns": None,
    }  # fmt: skip


def received(reports: Sequence[tuple[int, int]], start_ns: int, end_ns: int) -> list[tuple[int, int]]:
    """Bytes so far, from nothing at GO to all of them when the last row is stored.

    reports: of the load servers, and when they came. They come now and then, the last one after the end.
    """
    if not reports:
        return []
    return [(start_ns, 0), *((t, b) for t, b in reports if start_ns < t < end_ns), (end_ns, reports[-1][1])]


def resources(watched: pa.Table, net: Iterable[tuple[int, int]]) -> pa.Table:
    """The watch's table under the roles' own names, with what the load servers received: (t_ns, bytes so far)."""
    rows = [
        {"role": role, "t_ns": t_ns, "metric": metric, "device": FROM_CLIENTS, "value": float(received)}
        for t_ns, received in net
        for role, metric in (("client", "net_tx_bytes"), ("load_server", "net_rx_bytes"))
    ]
    return pa.concat_tables([of_load(watched), pa.Table.from_pylist(rows, SCHEMAS["resources"])])


def cpu_ns(table: pa.Table, role: str, start_ns: int, end_ns: int) -> int:
    """CPU that a role used between two times, linear between samples."""
    wanted = [
        (t, v)
        for r, t, metric, device, v in zip(
            *(table.column(c).to_pylist() for c in table.column_names), strict=True
        )
        if r == role and metric == "cpu_s" and device == ""
    ]
    if len(wanted) < 2:
        return 0
    t_ns, value = (np.array(x, np.float64) for x in zip(*sorted(wanted), strict=True))
    return round(float(np.interp(end_ns, t_ns, value) - np.interp(start_ns, t_ns, value)) * 1e9)


def cpu_of(parts: Path, role: str, start_ns: int, end_ns: int) -> int:
    """`cpu_ns` out of the stream of samples, of which only those of the role become Python values."""
    found = [table.filter(pc.equal(table["role"], role)) for table in read("resources", parts)]
    return cpu_ns(pa.concat_tables(found), role, start_ns, end_ns) if found else 0


def append(parts: Path, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Rows behind those that the core has left, batch after batch: the table may be larger than memory."""
    stream(parts / f"{name}.arrows", itertools.chain(read(name, parts), in_batches(name, rows)), name)


def in_batches(name: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[pa.Table]:
    left = iter(rows)
    while some := list(itertools.islice(left, BATCH_ROWS)):
        yield pa.Table.from_pylist(some, SCHEMAS[name])


def loaded_segments(parts: Path, plan: Sequence[AnySegment], loads: Mapping[int, Mapping[str, Any]]) -> None:
    """Makes of the core's pauses what the plan has there: of loads when the first file was due and the last row stored, and what
    ended them. plan: its segments. loads: by segment."""
    rows = [
        {**row, "kind": plan[row["segment"]]["kind"] if row["kind"] == "pause" else row["kind"], **loads.get(row["segment"], {})}
        for row in whole("segments", parts).to_pylist()
    ]  # fmt: skip
    write(parts, {"segments": rows})


def write(parts: Path, tables: Mapping[str, pa.Table | Iterable[Mapping[str, Any]]]) -> None:
    """Every table as an Arrow stream, as the core leaves its own."""
    for name, rows in tables.items():
        held = iter([rows]) if isinstance(rows, pa.Table) else in_batches(name, rows)
        stream(parts / f"{name}.arrows", held, name)
