"""The tables of three processes as those of one, from made-up calls: what is expected is counted call by call, and no code of
the join is used for it. The first process also loads by itself, before the others begin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.agent.joined import write
from inrush.results.histogram import of_values
from inrush.results.parts import Shift, read
from inrush.results.schema import SCHEMAS

SECOND = 10**9
INTERVAL_NS = SECOND
LOAD, MEASURE = 1, 2
#: When the load and the common start were, on the clock of the first process; the other clocks began so much later.
LOADED_NS, START_NS, BEHIND_NS = 2 * SECOND, 9 * SECOND, (0, 3 * SECOND, 7 * SECOND)


@dataclass(frozen=True)
class Call:
    process: int
    segment: int
    role: str
    #: When it ended, after its segment began, and how long it took.
    ended_ns: int
    latency_ns: int
    rows: int
    failed: bool

    @property
    def begin_ns(self) -> int:
        """Of its segment, by the clock of the first process."""
        return LOADED_NS if self.segment == LOAD else START_NS

    @property
    def interval(self) -> int:
        return self.ended_ns // INTERVAL_NS


def call(process: int, segment: int, role: str) -> st.SearchStrategy[Call]:
    return st.builds(
        Call, st.just(process), st.just(segment), st.just(role), st.integers(0, 4 * INTERVAL_NS - 2),
        st.integers(1, 10**8), st.integers(0, 50), st.booleans(),
    )  # fmt: skip


#: A load by the first process, readers in all three, and writers in two of them.
CALLS = st.tuples(
    st.lists(call(0, LOAD, "load"), min_size=1, max_size=8),
    *(st.lists(call(process, MEASURE, "readers"), min_size=1, max_size=12) for process in range(3)),
    *(st.lists(call(process, MEASURE, "writers"), min_size=1, max_size=6) for process in (1, 2)),
).map(lambda lists: [one for calls in lists for one in calls])


def leave(folder: Path, process: int, calls: Sequence[Call]) -> Path:
    """What a process that made these calls writes, on its own clock: an interval after the other, its last one cut."""
    tables: dict[str, list[dict[str, Any]]] = {"intervals": [], "sends": [], "hist": []}
    for segment, role in dict.fromkeys((c.segment, c.role) for c in calls):
        mine = [c for c in calls if (c.segment, c.role) == (segment, role)]
        end_ns, rows = max(c.ended_ns for c in mine) + 1, 0
        for n in range(max(c.interval for c in mine) + 1):
            of = [c for c in mine if c.interval == n]
            right = [c.latency_ns for c in of if not c.failed]
            rows += sum(c.rows for c in of if not c.failed)
            at = {
                "segment": segment, "repetition": 0, "role": role,
                "t_ns": mine[0].begin_ns - BEHIND_NS[process] + n * INTERVAL_NS,
                "dt_ns": min(INTERVAL_NS, end_ns - n * INTERVAL_NS),
            }  # fmt: skip
            tables["intervals"].append({
                **at, "op": f"{role}-op", "rows": sum(c.rows for c in of if not c.failed), "bytes": 7 * len(of), "ops": len(of),
                "errors": sum(c.failed for c in of), "late": 0, "in_flight": 1, "backlog": process, "cum_rows": rows,
            })  # fmt: skip
            tables["sends"].append({**at, "ops": len(of), "sends": len(of), "bytes": 7 * len(of)})
            held = of_values(right)
            tables["hist"].append({
                **at, "op": f"{role}-op", "kind": "latency", "grouping_power": held.grouping_power,
                "bucket": held.bucket.tolist(), "count": held.count.tolist(), "n": held.n, "min_ns": held.min_ns,
                "max_ns": held.max_ns, "sum_ns": held.sum_ns,
            })  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows_of in tables.items():
        with pa.ipc.new_stream(folder / f"{name}.arrows", SCHEMAS[name]) as out:
            out.write_table(pa.Table.from_pylist(rows_of, SCHEMAS[name]))
    return folder


def joined(folder: Path, calls: Sequence[Call]) -> dict[str, list[dict[str, Any]]]:
    folders = [leave(folder / str(n), n, [c for c in calls if c.process == n]) for n in range(3)]
    write(folders[0], folders, [Shift(behind) for behind in BEHIND_NS])
    return {
        name: [row for table in read(name, folders[0]) for row in table.to_pylist()]
        for name in ("intervals", "sends", "hist")
    }


def places(calls: Sequence[Call]) -> set[tuple[int, str, int]]:
    """Segment, role and begin of each interval that any process has."""
    last = Counter[tuple[int, str]]()
    for c in calls:
        last[c.segment, c.role] = max(last[c.segment, c.role], c.interval)
    begins = {LOAD: LOADED_NS, MEASURE: START_NS}
    return {
        (segment, role, begins[segment] + n * INTERVAL_NS)
        for (segment, role), most in last.items()
        for n in range(most + 1)
    }


@given(calls=CALLS)
def test_each_interval_has_the_calls_of_all_processes_that_ended_in_it(
    tmp_path_factory: pytest.TempPathFactory, calls: list[Call]
) -> None:
    found = joined(tmp_path_factory.mktemp("join"), calls)
    for name, rows in found.items():
        keys = [(row["segment"], row["role"], row["t_ns"]) for row in rows]
        assert len(keys) == len(set(keys)) and set(keys) == places(calls), name
    for row in found["intervals"]:
        in_role = [c for c in calls if (c.segment, c.role) == (row["segment"], row["role"])]
        begin_ns = row["t_ns"] - in_role[0].begin_ns
        of = [c for c in in_role if begin_ns <= c.ended_ns < begin_ns + INTERVAL_NS]
        so_far = [c for c in in_role if c.ended_ns < begin_ns + INTERVAL_NS and not c.failed]
        assert (row["ops"], row["errors"], row["bytes"]) == (len(of), sum(c.failed for c in of), 7 * len(of))
        assert row["rows"] == sum(c.rows for c in of if not c.failed)
        assert row["cum_rows"] == sum(c.rows for c in so_far)
        assert row["backlog"] == sum({c.process for c in in_role}), "of a process that has ended, too"
        # As long as the longest of its processes was at work in it.
        ends = [max(c.ended_ns for c in in_role if c.process == p) + 1 for p in {c.process for c in in_role}]
        assert row["dt_ns"] == min(INTERVAL_NS, max(ends) - begin_ns)
        working = sum(end > begin_ns for end in ends)
        assert row["in_flight"] == working
    for row in found["sends"]:
        of = calls_in(calls, row)
        assert (row["ops"], row["sends"], row["bytes"]) == (len(of), len(of), 7 * len(of))
    for row in found["hist"]:
        right = sorted(c.latency_ns for c in calls_in(calls, row) if not c.failed)
        pooled = of_values(right)
        assert (row["n"], row["sum_ns"]) == (len(right), sum(right))
        assert (row["bucket"], row["count"]) == (pooled.bucket.tolist(), pooled.count.tolist())
        if right:
            assert (row["min_ns"], row["max_ns"]) == (right[0], right[-1])


def calls_in(calls: Sequence[Call], row: dict[str, Any]) -> list[Call]:
    return [
        c for c in calls
        if (c.segment, c.role) == (row["segment"], row["role"])
        and c.begin_ns + c.interval * INTERVAL_NS == row["t_ns"]
    ]  # fmt: skip
