"""Bytes that an engine holds for the rows of a run, beside the bytes of their values. Pure.

The engine's own figures, probed once after the run: pages or parts of rows, and those of indexes. No write-ahead log,
which holds nothing that the tables do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inrush.border.pipeline import each_role
from inrush.results.unanswered import at_the_end
from inrush.stats.measures import measured_windows, writing_roles
from inrush.stats.record import RunRecord
from inrush.stats.steps import INDEXES, ROWS, WHOLE, number, total
from inrush.workload import VALUE_BYTES

NS = 1e9


@dataclass(frozen=True)
class Stored:
    #: In all tables at the end of the run.
    rows: int
    #: Bytes of their values, as forecasts count them.
    value_bytes: float
    row_bytes: float
    index_bytes: float
    #: Rows and bytes of values a second that the samples of the run bring in; 0 without samples.
    rows_per_s: float
    value_bytes_per_s: float

    @property
    def bytes(self) -> float:
        return self.row_bytes + self.index_bytes

    @property
    def share(self) -> float:
        """Stored bytes by bytes of values."""
        return self.bytes / self.value_bytes

    @property
    def bytes_per_s(self) -> float:
        """What the samples of the run add to the disk each second, if all rows cost what these did."""
        return self.share * self.value_bytes_per_s


def stored(run: RunRecord) -> Stored | None:
    """None where rows were deleted, none are there, or the engine gave no sizes."""
    if deletes(run.plan):
        return None
    rows = rows_at_end(run)
    sizes = sizes_at_end(run)
    held, indexes = total(sizes, ROWS) or total(sizes, WHOLE), total(sizes, INDEXES)
    values = {table: n * values_of(run.plan["tables"][table]) for table, n in rows.items()}
    if not sum(values.values()) or not held:
        return None
    samples = list(sample_rates(run))
    return Stored(
        rows=sum(rows.values()),
        value_bytes=sum(values.values()),
        row_bytes=held,
        index_bytes=indexes,
        rows_per_s=sum(rate for _, rate in samples),
        value_bytes_per_s=sum(rate * values_of(run.plan["tables"][table]) for table, rate in samples),
    )


def deletes(plan: Mapping[str, Any]) -> bool:
    """Whether a run ends with the delete that its retention asks for."""
    return any(s.get("label") == "retain" for s in plan["segments"])


def rows_at_end(run: RunRecord) -> dict[int, int]:
    """Index of a table -> its rows: what was loaded, or what the last repetition wrote into fresh tables.

    Those of inserts without an answer are among them where the proof found them.
    """
    writers = writing_roles(run.plan)
    tables = dict(tables_of_roles(run.plan))
    wanted = measured_windows(run).keys() | {
        s["segment"] for s in run.rows("segments") if s["phase"] == "load"
    }
    repetitions = [s for s in run.rows("repetitions") if s["segment"] in wanted and s["role"] in tables]
    last: dict[tuple[int, int], int] = {}
    for s in repetitions:
        key = (s["segment"], tables[s["role"]])
        last[key] = max(last.get(key, 0), s["repetition"])
    rows_of_tables: dict[int, int] = {}
    for s in repetitions:
        table = tables[s["role"]]
        if s["repetition"] == last[s["segment"], table] and (
            s["role"] in writers or s["role"].startswith("load/")
        ):
            rows_of_tables[table] = rows_of_tables.get(table, 0) + int(s["rows"])
    names = {str(table["name"]): k for k, table in enumerate(run.plan.get("tables", ()))}
    for insert in at_the_end(run.rows("proofs")):
        if insert.table in names:
            rows_of_tables[names[insert.table]] = rows_of_tables.get(names[insert.table], 0) + insert.rows
    return rows_of_tables


def tables_of_roles(plan: Mapping[str, Any]) -> Iterable[tuple[str, int]]:
    """Role that puts rows in -> index of its table."""
    for _, role in each_role(plan):
        if role["work"]["kind"] == "rows":
            yield role["name"], int(role["work"]["table"])


def sizes_at_end(run: RunRecord) -> dict[str, float]:
    """Name -> bytes, of probes outside of work: those within are samples of a table that still changes."""
    drives = {s["segment"] for s in run.rows("segments") if s["kind"] in ("drive", "statement")}
    sizes = ((s["name"], number(s["value"])) for s in run.rows("sizes") if s["segment"] not in drives)
    return {name: size for name, size in sizes if size is not None}


def values_of(table: Mapping[str, Any]) -> int:
    """Bytes of the values of a row."""
    return sum(VALUE_BYTES.get(column["type"], 8) for column in table["columns"])


def sample_rates(run: RunRecord) -> Iterable[tuple[int, float]]:
    """(index of a table, rows a second) of each role that writes samples."""
    for _, role in each_role(run.plan, "measure"):
        schedule, work = role["schedule"], role["work"]
        if schedule["kind"] == "samples" and work["kind"] == "rows":
            yield int(work["table"]), work["batch_rows"] * schedule["parts"] / (schedule["every_ns"] / NS)
