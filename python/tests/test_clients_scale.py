"""Tables of many processes become those of one: what the plain join makes of them, in the memory of the sums."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inrush.agent import hists, watched
from inrush.agent.joined import write
from inrush.agent.spans import Axes
from inrush.agent.tables import Tables
from inrush.agent.watched import fewer
from inrush.results.histogram import bucket_of
from inrush.results.parts import Shift, read
from inrush.results.schema import SCHEMAS
from tests import worker_tables
from tests.plain_join import plain

SECOND = 10**9
#: Role -> its operations.
ROLES = {"readers": ("look", "scan"), "writers": ("change",)}
NAMES = ("intervals", "sends", "hist", "resources")
ORDER = ("segment", "repetition", "role", "op", "kind", "t_ns")


@dataclass(frozen=True)
class Process:
    """What is odd of one."""

    seed: int
    #: By its own clock: when it began, and its intervals.
    began_ns: int
    count: int
    #: It ends so long after the begin of its last interval; 0: none has any length there.
    last_ns: int
    #: To the clock of the first one.
    offset_ns: int
    rate: float
    #: Shares of intervals that are not there, and of those that are one with the next.
    missing: float
    joined: float
    #: Its second role writes so many intervals after the first one has written them.
    later: int
    #: Rows of a batch.
    batch: int


PROCESSES = st.builds(
    Process,
    seed=st.integers(0, 2**32),
    began_ns=st.integers(10 * SECOND, 30 * SECOND),
    count=st.integers(1, 12),
    last_ns=st.one_of(st.integers(0, 8), st.integers(1, SECOND), st.just(SECOND)),
    offset_ns=st.integers(-9 * SECOND, 9 * SECOND),
    rate=st.one_of(st.just(0.0), st.floats(-5e-4, 5e-4)),
    missing=st.sampled_from([0.0, 0.0, 0.2]),
    joined=st.sampled_from([0.0, 0.0, 0.2]),
    later=st.sampled_from([0, 0, 5]),
    batch=st.integers(1, 9),
)


def leave(folder: Path, of: Process, length_ns: int) -> Shift:
    """Its tables, as it writes them: on its own clock."""
    draw = np.random.default_rng(of.seed)
    rows: dict[str, list[tuple[int, dict[str, Any]]]] = {name: [] for name in NAMES}
    for repetition in range(int(draw.integers(1, 3))):
        begun = of.began_ns + repetition * 40 * length_ns
        for number, (role, ops) in enumerate(ROLES.items()):
            if draw.random() < 0.1:
                continue
            reached, k, later = 0, 0, number * of.later
            while k < of.count:
                width = 2 if draw.random() < of.joined and k + 2 < of.count else 1
                begin, k = begun + k * length_ns, k + width
                end = begin + (min(of.last_ns, length_ns) if k == of.count else width * length_ns)
                if draw.random() < of.missing:
                    continue
                # When it is written, and the row.
                written = repetition * 10**6 + (k + later) * 10
                at = {
                    "segment": 1,
                    "repetition": repetition,
                    "role": role,
                    "t_ns": begin,
                    "dt_ns": end - begin,
                }
                for op in ops:
                    calls = int(draw.integers(0, 40))
                    reached += calls
                    rows["intervals"].append((written, {
                        **at, "op": op, "rows": calls, "bytes": 7 * calls, "ops": calls + 1, "errors": 1,
                        "late": calls // 9, "in_flight": int(draw.integers(0, 5)),
                        "backlog": int(draw.integers(0, 9)), "cum_rows": reached,
                    }))  # fmt: skip
                    rows["hist"] += [(written, {**at, "op": op, **values}) for values in histograms(draw)]
                if draw.random() < 0.8:
                    sent = int(draw.integers(1, 9))
                    rows["sends"].append(
                        (written, {**at, "ops": 2 * sent, "sends": sent, "bytes": 50 * sent})
                    )
    rows["resources"] = [(n, row) for n, row in enumerate(looks(draw, of))]
    folder.mkdir(parents=True)
    for name, mine in rows.items():
        ordered = [row for _, row in sorted(mine, key=lambda pair: pair[0])]
        with pa.ipc.new_stream(folder / f"{name}.arrows", SCHEMAS[name]) as out:
            out.write_table(pa.Table.from_pylist(ordered, SCHEMAS[name]), max_chunksize=of.batch)
    return Shift(of.offset_ns, of.rate)


def histograms(draw: np.random.Generator) -> list[dict[str, Any]]:
    found = []
    for kind in ("latency", "service"):
        if draw.random() < 0.2:
            continue
        bucket = np.unique(draw.integers(0, 600, draw.integers(0, 6)))
        count = draw.integers(1, 9, len(bucket))
        found.append({
            "kind": kind, "grouping_power": 7, "bucket": bucket.tolist(), "count": count.tolist(),
            "n": int(count.sum()), "min_ns": int(draw.integers(0, 99)), "max_ns": int(draw.integers(100, 999)),
            "sum_ns": int(draw.integers(0, 10**6)),
        })  # fmt: skip
    return found


def looks(draw: np.random.Generator, of: Process) -> list[dict[str, Any]]:
    """Of itself, its threads, and its ends; and of the server, which the first one's count of."""
    times = of.began_ns + np.sort(draw.integers(-SECOND, 40 * SECOND, int(draw.integers(1, 30))))
    keys = [
        ("client", "cpu_s", ""),
        ("client", "rss_bytes", ""),
        ("client", "cpu_s", "t/0"),
        ("server", "cpu_s", ""),
    ]
    found = [
        {"role": role, "t_ns": int(t), "metric": metric, "device": device, "value": float(draw.random() + n)}
        for n, t in enumerate(times)
        for role, metric, device in keys
        if draw.random() < 0.9
    ]
    return found + [
        {
            "role": "client",
            "t_ns": int(times[-1]) + n,
            "metric": metric,
            "device": "",
            "value": float(draw.random()),
        }
        for n in range(int(draw.integers(1, 3)))
        for metric in ("repetition_cpu_s", "stall_longest_s")
    ]


def ordered(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: tuple(row[name] for name in ORDER))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(PROCESSES, min_size=1, max_size=5),
    st.sampled_from([SECOND, 12 * SECOND, 1_000_003]),
    st.sampled_from([3, 20]),
    st.sampled_from([5, 50]),
)
@pytest.mark.slow
def test_the_folded_join_is_the_plain_one(each: list[Process], length_ns: int, spans: int, rows: int) -> None:
    """Clocks that drift, ends that differ, intervals that are missing or joined, several roles, operations and repetitions;
    windows and chunks of a few intervals."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(hists, "SPANS", spans)
        patch.setattr(hists, "ROWS", rows)
        folders = [Path(name) / str(n) for n in range(len(each))]
        shifts = [leave(folder, of, length_ns) for folder, of in zip(folders, each, strict=True)]
        expected, expected_apart_ns = plain(folders, shifts)
        apart_ns = write(folders[0], folders, shifts)
        assert apart_ns == expected_apart_ns
        for table in NAMES:
            found, wanted = rows_of(folders[0], table), expected[table].to_pylist()
            if table == "hist":
                assert [row["t_ns"] for row in found] == sorted(row["t_ns"] for row in found)
                found, wanted = ordered(found), ordered(wanted)
            assert found == wanted, table


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    return [row for table in read(name, folder) for row in table.to_pylist()]


LATER = Process(1, 20 * SECOND, 12, SECOND, 0, 0.0, 0.0, 0.0, later=9, batch=3)
EVEN = Process(2, 20 * SECOND, 12, SECOND, 5 * SECOND, 1e-4, 0.0, 0.0, later=0, batch=3)


def test_rows_that_stand_further_behind_than_was_said_are_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hists, "SPANS", 3)
    monkeypatch.setattr(hists, "ROWS", 2)
    folders = [tmp_path / str(n) for n in range(2)]
    shifts = [leave(folder, of, SECOND) for folder, of in zip(folders, (LATER, EVEN), strict=True)]
    expected, _ = plain(folders, shifts)
    tables, axes = Tables(folders, shifts), Axes([by.rate for by in shifts])
    for process, table in enumerate(tables.each("intervals")):
        axes.add(process, table)
    assert axes.behind_ns > 5 * SECOND
    with pytest.raises(hists.Behind):
        [*hists.hist(tables.readers("hist"), axes.spans(), 0)]
    for behind_ns in (axes.behind_ns, hists.NEVER):
        found = pa.concat_tables(hists.hist(tables.readers("hist"), axes.spans(), behind_ns)).to_pylist()
        assert ordered(found) == ordered(expected["hist"].to_pylist())


def test_a_table_that_was_cut_is_joined_up_to_its_last_whole_batch(tmp_path: Path) -> None:
    folders = [tmp_path / str(n) for n in range(2)]
    shifts = [leave(folder, of, SECOND) for folder, of in zip(folders, (EVEN, LATER), strict=True)]
    path = folders[1] / "hist.arrows"
    before = sum(row["n"] for row in rows_of(folders[1], "hist"))
    path.write_bytes(path.read_bytes()[:-900])
    whole = sum(row["n"] for folder in folders for row in rows_of(folder, "hist"))
    assert sum(row["n"] for row in rows_of(folders[1], "hist")) < before
    write(folders[0], folders, shifts)
    assert sum(row["n"] for row in rows_of(folders[0], "hist")) == whole


def test_memory_does_not_grow_with_processes(tmp_path: Path) -> None:
    peaks = {}
    for count in (2, 16):
        folders = [tmp_path / str(count) / str(n) for n in range(count)]
        for n, folder in enumerate(folders):
            worker_tables.make(folder, n, 120)
        # Tables of Arrow are in a pool of their own, which only this sees.
        pool, usual = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
        pa.set_memory_pool(pool)
        tracemalloc.start()
        try:
            write(folders[0], folders, [Shift()] * count)
            peaks[count] = tracemalloc.get_traced_memory()[1] + pool.max_memory()
        finally:
            tracemalloc.stop()
            pa.set_memory_pool(usual)
    assert peaks[16] < 1.3 * peaks[2], peaks


def test_fewer_looks_use_as_much_between_edges_and_have_the_largest_level() -> None:
    draw = np.random.default_rng(7)
    t_ns = np.sort(draw.uniform(0, 1e12, 5000))
    value = np.cumsum(draw.lognormal(0, 2, 5000))
    edges = np.array([-5.0, t_ns[700], 3.3e11, 7.7e11, 2e12])
    found = fewer(t_ns, value, 50, edges, level=False)
    assert len(found[0]) <= 50 + 1 + 4 * len(edges)
    assert np.array_equal(np.interp(edges, *found), np.interp(edges, t_ns, value))
    assert np.diff(found[0]).max() < 1e12 / 50 * 1.5, "evenly"
    level = draw.lognormal(0, 1, 5000)
    times, kept = fewer(t_ns, level, 50, edges, level=True)
    assert kept.max() == level.max() and len(times) <= 2 * 50 + 1 + 4 * len(edges)
    assert np.array_equal(fewer(t_ns[:50], value[:50], 50, edges, level=False)[1], value[:50])


def test_parts_of_many_processes_have_a_bounded_number_of_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / str(n) for n in range(3)]
    for n, folder in enumerate(folders):
        worker_tables.make(folder, n, 60)
    looks_before = sum(
        row["metric"] == "cpu_s" and not row["device"] for row in rows_of(folders[1], "resources")
    )
    monkeypatch.setattr(watched, "PART_LOOKS", 3 * 20)
    starts = [int((folder / "start_ns").read_text()) for folder in folders]
    write(folders[0], folders, [Shift(starts[0] - start) for start in starts])
    found = rows_of(folders[0], "resources")
    for n in range(1, 4):
        mine = [row["metric"] for row in found if row["role"] == f"client/{n}"]
        assert 20 <= mine.count("cpu_s") <= 20 + 1 + 4 * 2 < looks_before
    assert sum(row["role"] == "client" and row["metric"] == "rss_bytes" for row in found) == looks_before


def test_the_buckets_of_made_tables_are_those_of_histograms() -> None:
    values = np.array([0, 1, 127, 128, 255, 256, 257, 258, 511, 512, 10**6, 2**41 + 7])
    assert worker_tables.buckets(values).tolist() == [bucket_of(int(v), 7) for v in values]
