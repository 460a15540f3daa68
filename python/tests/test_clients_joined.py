"""The tables of several client processes as those of one: every figure is that of all calls pooled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.agent.clocks import SAME, Clock, shift
from inrush.agent.joined import JOINED, files, write
from inrush.agent.place import Here
from inrush.agent.shared_run import SharedRun
from inrush.agent.spans import Axes, united
from inrush.agent.watched import summed
from inrush.results.histogram import of_values
from inrush.results.parts import Shift, read, shifted
from inrush.results.schema import SCHEMAS
from inrush.stats.record import RunRecord
from inrush.stats.role_series import role_series
from inrush.stats.run_figures import figures_of_run

SECOND = 10**9
OP, ROLE = "look", "clients"
PLAN: Any = {
    "run_id": "r", "target": {"engine": "null"}, "labels": {},
    "operations": [{"name": OP, "kind": "query"}],
    "segments": [{"kind": "control", "label": "create"}, {
        "kind": "drive", "label": "measure", "phase": "measure", "roles": [{
            "name": ROLE, "operations": [{"operation": OP, "weight": 1}], "sessions": 2, "depth": 1,
            "schedule": {"kind": "closed", "think_ns": 0}, "until": {"kind": "time", "ns": 3 * SECOND}}],
    }],
}  # fmt: skip


class Process:
    """What one process has measured, call by call, on a clock of its own."""

    def __init__(self, number: int, behind_ns: int) -> None:
        draw = np.random.default_rng(number)
        self.number, self.behind_ns = number, behind_ns
        self.start_ns = 5 * SECOND - behind_ns
        #: (when the call ended after the start, its latency, whether it failed)
        at = np.sort(draw.integers(0, (3 - 0.2 * number) * SECOND, 400 + 100 * number))
        latency = np.round(draw.lognormal(13 + number, 0.7, len(at))).astype(int)
        failed = draw.random(len(at)) < 0.01 * number
        self.calls = [*zip(at.tolist(), latency.tolist(), failed.tolist(), strict=True)]
        self.cpu_s = 0.7 + number / 10

    def leave(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in self.tables().items():
            with pa.ipc.new_stream(folder / f"{name}.arrows", SCHEMAS[name]) as out:
                out.write_table(pa.Table.from_pylist(rows, SCHEMAS[name]))
        return folder

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        end_ns = self.start_ns + max(at for at, _, _ in self.calls) + 1
        of = {"segment": 1, "repetition": 0, "role": ROLE}
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
        rows = 0
        for second in range(3):
            mine = [call for call in self.calls if call[0] // SECOND == second]
            t_ns = self.start_ns + second * SECOND
            at = {**of, "t_ns": t_ns, "dt_ns": min(t_ns + SECOND, end_ns) - t_ns}
            right = [latency for _, latency, failed in mine if not failed]
            rows += len(right)
            found["intervals"].append({
                **at, "op": OP, "rows": len(right), "bytes": 100 * len(right), "ops": len(mine),
                "errors": len(mine) - len(right), "late": 0, "in_flight": 2, "backlog": 0, "cum_rows": rows,
            })  # fmt: skip
            found["sends"].append({**at, "ops": len(mine), "sends": len(mine) // 2, "bytes": 50 * len(mine)})
            held = of_values(right)
            for kind in ("latency", "service"):
                found["hist"].append({
                    **at, "op": OP, "kind": kind, "grouping_power": held.grouping_power,
                    "bucket": held.bucket.tolist(), "count": held.count.tolist(), "n": held.n,
                    "min_ns": held.min_ns, "max_ns": held.max_ns, "sum_ns": held.sum_ns,
                })  # fmt: skip
        failed = sum(bad for _, _, bad in self.calls)
        if failed:
            found["failures"] = [{**of, "op": OP, "outcome": "lost", "count": failed,
                                  "first_message": f"of {self.number}", "first_ns": end_ns - 10}]  # fmt: skip
        found["repetitions"] = [{
            **of, "start_ns": self.start_ns, "end_ns": end_ns, "rows": rows, "bytes": 100 * rows,
            "ops": len(self.calls), "ok": rows, "errors": failed, "wrong": 0, "late": 0, "unsent": 0, "unseen": 0, "sessions": 2,
            "cpu_ns": round(self.cpu_s * 1e9),
        }]  # fmt: skip
        found["sessions"] = [
            {**of, "session": n, "cpu_ns": 1 + self.number, "busy_ns": 1, "ops": 1, "rows": 1}
            for n in range(2)
        ]
        found["segments"] = [{
            "segment": 1, "kind": "drive", "label": "measure", "phase": "measure", "start_ns": self.start_ns,
            "end_ns": end_ns, "ended_by": "time", "client_cpu_ns": 7, "step": "",
        }]  # fmt: skip
        # Looks at times of its own; CPU that rises evenly from 10 s on, while calls are made.
        looks = [
            (self.start_ns - SECOND + k * SECOND // 10 + self.number, min(max(k - 10, 0), 30) / 10)
            for k in range(60)
        ]
        found["resources"] = [
            {"role": "client", "t_ns": t, "metric": "cpu_s", "device": device, "value": base + self.cpu_s * s}
            for t, s in looks
            for device, base in (("", 10.0), ("clients/0", 0.0))
        ]
        found["resources"] += [
            {"role": "client", "t_ns": end_ns, "metric": metric, "device": "", "value": self.cpu_s}
            for metric in ("repetition_cpu_s", "stall_total_s")
        ]
        if self.number == 0:
            found["segments"].insert(
                0, {**found["segments"][0], "segment": 0, "label": "create", "phase": ""}
            )
            found["proofs"] = [{"segment": 0, "repetition": 0, "table": "t", "item": "rows", "expected": "1",
                                "found": "1", "holds": True}]  # fmt: skip
            found["resources"] += [
                {"role": role, "t_ns": t, "metric": metric, "device": "", "value": 2 * s}
                for t, s in looks
                for role, metric in (("server", "cpu_s"), ("host", "cpu_user_s"))
            ]
        return found


@pytest.fixture
def processes() -> list[Process]:
    """Three, of which the second began its clock later than the first, and the third earlier."""
    return [Process(0, 0), Process(1, 2 * SECOND + 5), Process(2, -SECOND)]


@pytest.fixture
def joined(processes: list[Process], tmp_path: Path) -> RunRecord:
    folders = [p.leave(tmp_path / (f"process-{p.number}" if p.number else "")) for p in processes]
    write(tmp_path, folders, [Shift(p.behind_ns) for p in processes])
    tables = {
        name: pa.concat_tables([*read(name, tmp_path)] or [SCHEMAS[name].empty_table()]) for name in SCHEMAS
    }
    return RunRecord("r", PLAN, {}, {}, tables)


def pooled(processes: list[Process]) -> list[tuple[int, int, bool]]:
    return sorted(call for p in processes for call in p.calls)


def test_the_rate_and_the_percentiles_are_those_of_all_calls_pooled(
    processes: list[Process], joined: RunRecord
) -> None:
    calls, found = pooled(processes), figures_of_run(joined)
    right = [latency for _, latency, failed in calls if not failed]
    span_s = (max(at for at, _, _ in calls) + 1) / 1e9
    assert found["clients.ops"] == len(calls) and found["clients.ok"] == len(right)
    assert found["clients.ops_per_s"] == pytest.approx(len(right) / span_s)
    held = of_values(right).with_failed(len(calls) - len(right))
    for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert found[f"clients.latency_{name}_s"] == held.quantile_ns(q) / 1e9
    assert found["clients.latency_n"] == len(right)
    assert found["clients.sessions"] == 6
    assert found["clients.client_cpu_us_per_op"] == pytest.approx(
        sum(p.cpu_s for p in processes) * 1e6 / len(calls), rel=1e-6
    )
    assert found["clients.ops_per_send"] == pytest.approx(2, rel=0.01)


def test_percentiles_are_merged_and_not_those_of_one_process_or_their_mean(
    processes: list[Process], joined: RunRecord
) -> None:
    found = figures_of_run(joined)["clients.latency_p90_s"]
    each = [of_values([c[1] for c in p.calls if not c[2]]).quantile_ns(0.9) / 1e9 for p in processes]
    assert found not in each and found != pytest.approx(float(np.mean(each)), rel=0.02)


def test_each_interval_holds_the_calls_of_all(processes: list[Process], joined: RunRecord) -> None:
    series = role_series(joined)["clients"]
    calls = pooled(processes)
    assert series.t_s.tolist() == [5.0, 6.0, 7.0]
    assert series.ops.tolist() == [sum(at // SECOND == s for at, _, _ in calls) for s in range(3)]
    rows = joined.rows("intervals")
    assert [r["cum_rows"] for r in rows] == np.cumsum(
        [sum(at // SECOND == s and not bad for at, _, bad in calls) for s in range(3)]
    ).tolist()
    assert rows[-1]["in_flight"] == 6 and rows[-1]["dt_ns"] == max(at for at, _, _ in calls) + 1 - 2 * SECOND


def test_what_a_process_has_reached_stays_counted_when_it_has_ended(tmp_path: Path) -> None:
    early, late = Process(0, 0), Process(1, 0)
    early.calls = [call for call in early.calls if call[0] < SECOND]
    rows = {p.number: p.tables() for p in (early, late)}
    rows[0]["intervals"] = rows[0]["intervals"][:1]
    for number, tables in rows.items():
        (tmp_path / str(number)).mkdir()
        for name in ("intervals", "hist"):
            mine = [row for row in tables[name] if number or row["t_ns"] < 6 * SECOND]
            with pa.ipc.new_stream(tmp_path / str(number) / f"{name}.arrows", SCHEMAS[name]) as out:
                out.write_table(pa.Table.from_pylist(mine, SCHEMAS[name]))
    write(tmp_path / "0", [tmp_path / "0", tmp_path / "1"], [Shift(), Shift()])
    (found,) = read("intervals", tmp_path / "0")
    cum = found["cum_rows"].to_pylist()
    assert cum == sorted(cum) and cum[-1] == sum(not bad for p in (early, late) for _, _, bad in p.calls)
    assert found["in_flight"].to_pylist()[-1] == 2, "the one that has ended has none in flight"


def test_client_cpu_is_the_sum_and_each_process_a_part(processes: list[Process], joined: RunRecord) -> None:
    found = figures_of_run(joined)
    span_s = (max(at for at, _, _ in pooled(processes)) + 1) / 1e9
    total = sum(p.cpu_s for p in processes)
    # What was used until the look behind the last call, which ended 10 ms before.
    used = 3.0 / span_s
    assert found["client.busy_cores"] == pytest.approx(used * total, rel=1e-3), f"{span_s} s"
    for p in processes:
        assert found[f"client/{p.number + 1}.busy_cores"] == pytest.approx(used * p.cpu_s, rel=1e-3)
    assert found["server.busy_cores"] == pytest.approx(2, rel=5e-3)
    rows = joined.tables["resources"].to_pylist()
    at_end = {r["metric"]: r["value"] for r in rows if r["role"] == "client" and r["metric"] != "cpu_s"}
    assert at_end["repetition_cpu_s"] == pytest.approx(total)
    assert at_end["stall_total_s"] == max(p.cpu_s for p in processes), "they stood still at the same time"
    assert not any("_thread_cores" in name for name in found), (
        "a thread's name is no type of a server's thread"
    )


def test_figures_of_a_repetition_are_those_of_the_same_one_where_the_first_process_has_loaded_alone() -> None:
    stood, used = ("stall_total_s", ""), ("repetition_cpu_s", "")
    times = np.array([1e9, 2e9, 3e9])
    first = {stood: (times, np.array([9.0, 0.0, 2.0])), used: (times, np.array([7.0, 1.0, 3.0]))}
    second = {stood: (times[1:], np.array([0.0, 1.0])), used: (times[1:], np.array([1.0, 4.0]))}
    found = summed([first, second])
    assert [of.tolist() for of in found[stood]] == [[2e9, 3e9], [0, 2]]
    assert [of.tolist() for of in found[used]] == [[2e9, 3e9], [2, 7]]


def test_sessions_are_numbered_over_all_and_the_first_process_has_proven(joined: RunRecord) -> None:
    assert [(s["session"], s["cpu_ns"]) for s in joined.rows("sessions")] == [
        (0, 1), (1, 1), (2, 2), (3, 2), (4, 3), (5, 3),
    ]  # fmt: skip
    assert len(joined.rows("proofs")) == 1
    (measured,) = [s for s in joined.rows("segments") if s["segment"] == 1]
    assert measured["client_cpu_ns"] == 21 and measured["start_ns"] == 5 * SECOND
    (failure,) = joined.rows("failures")
    assert failure["count"] == figures_of_run(joined)["clients.errors"]


def test_intervals_that_overlap_are_one() -> None:
    assert united([(0, 10), (10, 19), (10, 20), (20, 21)]) == [(0, 10), (10, 20), (20, 21)]
    assert united([(0, 10), (0, 20), (10, 20), (20, 30)]) == [(0, 20), (20, 30)]
    assert united([(5, 5), (5, 9)]) == [(5, 9)]


def test_what_overlaps_by_the_rounding_of_times_is_one_after_the_other() -> None:
    assert united([(0, 1000), (3, 1003), (1000, 2000), (1003, 2003)]) == [(0, 1003), (1000, 2003)]
    assert united([(0, 1000), (5, 1005), (1000, 2000)]) == [(0, 2000)]


@pytest.mark.parametrize("drift", [4e-5, -4e-5])
def test_clocks_that_drift_make_the_intervals_of_one(drift: float) -> None:
    """Two hosts, one 40 ppm faster or slower: after a minute their seconds begin 2.4 ms apart, and are the same rows."""
    minute = 60
    fast = Clock(at_ns=7 * SECOND, ahead_ns=3 * SECOND + 17, drift=drift, error_ns=50_000)
    by = shift(fast, 4 * SECOND, SAME, 1 * SECOND)
    rows = {"segment": 1, "repetition": 0, "role": ROLE}
    first = [{**rows, "t_ns": n * SECOND, "dt_ns": SECOND} for n in range(5, 5 + minute)]
    # What that one shows when the first one shows 5 s, and its own seconds from then on.
    began = fast.there(SECOND + 5 * SECOND) - 4 * SECOND
    other = [{**rows, "t_ns": began + n * SECOND, "dt_ns": SECOND} for n in range(minute)]
    each = [
        shifted("intervals", pa.Table.from_pylist(mine, TIMED), of)
        for mine, of in ((first, Shift()), (other, by))
    ]
    moved = each[1]["t_ns"].to_pylist()
    assert moved != [row["t_ns"] for row in first] and moved[0] == 5 * SECOND
    assert abs(moved[-1] - first[-1]["t_ns"]) == pytest.approx((minute - 1) * 40_000, abs=4)
    axes = Axes([0.0, by.rate])
    for process, intervals in enumerate(each):
        axes.add(process, intervals)
    found = axes.spans()[1, 0, ROLE]
    assert found.spans == [(n * SECOND, (n + 1) * SECOND) for n in range(5, 5 + minute)]
    assert all(found.at(0, a["t_ns"]) == found.at(1, b) for a, b in zip(first, moved, strict=True))
    assert found.apart_ns == pytest.approx((minute - 1) * 40_000, abs=4)


TIMED = pa.schema([SCHEMAS["intervals"].field(n) for n in ("segment", "repetition", "role", "t_ns", "dt_ns")])
TIMES = st.integers(0, 10**17)
CLOCKS = st.builds(Clock, at_ns=TIMES, ahead_ns=st.integers(-(10**17), 10**17), drift=st.floats(-1e-3, 1e-3))


@given(CLOCKS, TIMES)
def test_there_and_back_is_the_same_instant(clock: Clock, t_ns: int) -> None:
    # A quotient of floats: its last digit is worth more, the further away the clock was looked at.
    away = abs(t_ns - clock.at_ns) + abs(clock.ahead_ns)
    assert abs(clock.here(clock.there(t_ns)) - t_ns) <= 2 + away * 1e-3 * 2**-50


@given(CLOCKS, CLOCKS, TIMES, TIMES, st.integers(0, 10**14))
def test_a_shift_is_from_one_clock_to_the_other(
    mine: Clock, first: Clock, zero: int, first_zero: int, t_ns: int
) -> None:
    by = shift(mine, zero, first, first_zero)
    exact = first.there(mine.here(zero + t_ns)) - first_zero
    # Of two small drifts the product is left out.
    assert abs(t_ns + by.offset_ns + round(by.rate * t_ns) - exact) <= 4 + t_ns * 3e-6 + 1000


class Drifting(Here):
    """Its second process's clock gains so much."""

    def __init__(self, parts: Path, drift: float) -> None:
        super().__init__(parts)
        self.drift = drift

    def clock(self, process: int) -> Clock:
        return Clock(drift=self.drift) if process else SAME


@pytest.mark.parametrize(("drift", "fails"), [(4e-5, False), (0.4, True)])
def test_a_run_whose_intervals_drift_apart_by_half_of_one_fails(
    drift: float, fails: bool, tmp_path: Path
) -> None:
    said: list[Any] = []
    plan = {**PLAN, "share": {"index": 0, "of": 2}, "record": {"interval_ns": SECOND}}
    run = SharedRun(plan, tmp_path, list, said.append, Drifting(tmp_path, drift))
    for number in range(2):
        Process(number, 0).leave(run.folder(number))
    run.barriers.zero_ns = {0: 0, 1: 0}
    run.write()
    assert [event["kind"] for event in said] == ["clock"] * fails == ["clock"] * run.failed
    assert all("drift apart" in event["message"] for event in said)
    (found,) = read("intervals", tmp_path)
    assert found.num_rows == 3, "what there is of its tables is kept"


def test_files_are_those_of_all_processes_and_their_pipelines_are_numbered_over_all() -> None:
    def table(*rows: tuple[int, int, int]) -> pa.Table:
        return pa.Table.from_pylist(
            [
                {"segment": 1, "repetition": 0, "role": "load", "file": file, "pipeline": pipeline, "sent_ns": sent,
                 **dict.fromkeys(("due_ns", "start_ns", "end_ns", "bytes", "rows", "rejected", "runs"), 1)}
                for file, pipeline, sent in rows
            ],
            SCHEMAS["files"],
        )  # fmt: skip

    found = files([table((0, 0, 5), (2, 1, 6)), table(), table((1, 1, 4), (3, 0, 9))])
    assert [(r["file"], r["pipeline"]) for r in found.to_pylist()] == [(1, 3), (0, 0), (2, 1), (3, 2)]
    assert JOINED["files"] is files


@pytest.mark.parametrize("lost", ["intervals", "intervals of one role", "later intervals"])
def test_rows_of_a_worker_that_was_lost_before_their_intervals_came_are_left_out(
    tmp_path: Path, lost: str
) -> None:
    processes = [Process(0, 0), Process(1, 2 * SECOND)]
    folders = [one.leave(tmp_path / str(one.number)) for one in processes]
    shifts = [Shift(), Shift(2 * SECOND)]
    tables = processes[1].tables()
    if lost == "intervals of one role":
        # A role that the first process does not have: nothing says when its intervals were.
        for name in ("hist", "sends"):
            tables[name] += [{**row, "role": "others"} for row in tables[name]]
    else:
        tables["intervals"] = tables["intervals"][: 1 if lost == "later intervals" else 0]
    for name in ("intervals", "hist", "sends"):
        with pa.ipc.new_stream(folders[1] / f"{name}.arrows", SCHEMAS[name]) as out:
            out.write_table(pa.Table.from_pylist(tables[name], SCHEMAS[name]))
    write(folders[0], folders, shifts, cut=True)
    sent = sum(row["ops"] for table in read("sends", folders[0]) for row in table.to_pylist())
    timed = sum(
        row["n"]
        for table in read("hist", folders[0])
        for row in table.to_pylist()
        if row["kind"] == "latency"
    )
    calls = [len(one.calls) for one in processes]
    right = [sum(not bad for *_, bad in one.calls) for one in processes]
    if lost == "intervals":
        assert (sent, timed) == (calls[0], right[0])
    else:
        assert (sent, timed) == (sum(calls), sum(right)), "the first process has an interval for each"
