"""Loads that go on after a kill: made-up stretches as one load, and real ones, killed one process at a time."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from inrush.analysis.points import Measured
from inrush.analysis.verdicts import Outcome
from inrush.guards.analyse import analyse
from inrush.load.pipeline import joined, stretches, tables
from inrush.load.pipeline.ends import Said
from inrush.load.pipeline.heard import Heard
from inrush.load.pipeline.journal import Journal, lines
from inrush.load.pipeline.reached import prefixes
from inrush.load.pipeline.run import RunWithLoads
from inrush.load.pipeline.stretches import Stretch
from inrush.results.schema import SCHEMAS
from inrush.results.store import OpenRun, Results
from inrush.run.going_on import uneven
from inrush.stats.gaps import worked, worked_ns
from inrush.stats.measures import study_record
from inrush.stats.rates import role_rates
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from inrush.stats.watched import cumulative
from tests import killing
from tests.journals import journal
from tests.test_steps_loaded import ROWS, problems, write_study

MS = 1_000_000
SLOW = ("pipelines = 2, chunk_rows", "pipelines = 2, shard_rows_per_s = 8_000, chunk_rows")
#: What the watch sees rise and fall.
LEVELS = ("rss_bytes", "mem_available_bytes", "page_cache_bytes", "dirty_bytes", "writeback_bytes")
RESUMABLE = ("flush_rows = 5_000 }", "flush_rows = 2_000 }\nresumable = true")


# --- made-up stretches


def killed_once(folder: Path) -> list[Stretch]:
    """Three files of 100 rows and 1,000 bytes. Killed at 500 with file 0 done and heard, 1 in hand; 1 and 2 follow at 2,000.

    The ledger has 150 rows at the kill, of which the last look had seen 140, and 1,600 bytes, of which it had read 1,900.
    """
    first = journal(
        folder / "0", {0: (100, 300, 100, 1_000), 1: (310, None, 0, 0)}, [(200, 60, 800), (400, 120, 1_700), (500, 140, 1_900)],
        unix_ns=10_000,
    )  # fmt: skip
    second = journal(
        folder / "1", {1: (50, 150, 50, 400), 2: (160, 250, 100, 1_000)}, [(100, 10, 100), (200, 70, 600)],
        go_ns=50, unix_ns=11_950, end_ns=260, rows=150, bytes=1_600, done=1, in_hand=[[1, 50, 600]],
    )  # fmt: skip
    return stretches.on_one_clock([first, second])


def of(found: Sequence[Stretch], interval_ns: int = 50) -> tuple[stretches.Whole, list[Any], list[Any]]:
    whole = stretches.whole(found, "work")
    rows = stretches.intervals(found, whole, 3, 3, "load", "load/events", interval_ns)
    return whole, list(rows), list(stretches.files(found, 3, "load"))


def test_stretches_lie_on_one_clock_by_the_wall_clock_with_a_gap_between_them(tmp_path: Path) -> None:
    found = killed_once(tmp_path)
    assert [(s.begin_ns, s.end_ns) for s in found] == [(100, 500), (2_000, 2_210)]
    assert stretches.gaps(found) == [(500, 2_000)]
    assert stretches.worked_ns(found) == 400 + 210


def test_a_wall_clock_that_went_back_makes_no_gap_of_less_than_nothing(tmp_path: Path) -> None:
    found = killed_once(tmp_path)
    back = journal(tmp_path / "2", {}, go_ns=50, unix_ns=10_100, end_ns=60, rows=300, bytes=3_000, done=3)
    first, second = stretches.on_one_clock([found[0], back])
    assert (first.end_ns, second.begin_ns, second.back_ns) == (500, 500, 350)


def test_intervals_of_all_stretches_add_up_to_the_load_and_none_lies_in_a_gap(tmp_path: Path) -> None:
    whole, rows, _ = of(killed_once(tmp_path))
    assert (whole.rows, whole.bytes, whole.files, whole.start_ns, whole.end_ns) == (300, 3_000, 3, 100, 2_200)
    assert [(r["t_ns"], r["dt_ns"], r["rows"], r["bytes"], r["ops"]) for r in rows] == [
        (100, 100, 60, 800, 0), (200, 200, 60, 800, 1), (400, 100, 30, 0, 0),
        (2_000, 50, 10, 100, 0), (2_050, 100, 60, 500, 1), (2_150, 50, 80, 800, 1),
    ]  # fmt: skip
    assert sum(r["rows"] for r in rows) == 300 and sum(r["bytes"] for r in rows) == 3_000
    assert [r["cum_rows"] for r in rows] == [60, 120, 150, 160, 220, 300]
    assert sum(r["dt_ns"] for r in rows) == whole.end_ns - whole.start_ns - 1_500, "all but the gap"


def test_rows_of_a_stretch_that_was_killed_before_it_said_anything_are_in_the_next_interval(
    tmp_path: Path,
) -> None:
    """It stored 20 rows by the ledger, and its last word is that it begins."""
    first, second = killed_once(tmp_path)
    silent = journal(
        tmp_path / "s", {}, go_ns=50, unix_ns=11_000, rows=130, bytes=1_500, done=1, in_hand=[[1, 30, 500]]
    )
    whole, rows, _ = of(stretches.on_one_clock([first, silent, second]))
    assert (
        sum(r["rows"] for r in rows) == whole.rows == 300
        and sum(r["bytes"] for r in rows) == whole.bytes == 3_000
    )
    assert [r["rows"] for r in rows] == [60, 60, 10, 30, 60, 80] and all(r["dt_ns"] > 0 for r in rows)


def test_a_file_in_hand_at_a_kill_is_one_file_from_its_first_begin_to_its_last_end(tmp_path: Path) -> None:
    _, _, files = of(killed_once(tmp_path))
    assert [(f["file"], f["start_ns"], f["end_ns"], f["rows"], f["bytes"]) for f in files] == [
        (0, 100, 300, 100, 1_000), (1, 310, 2_100, 100, 1_000), (2, 2_110, 2_200, 100, 1_000),
    ]  # fmt: skip
    assert {(f["due_ns"], f["runs"]) for f in files} == {(100, 0)}


def test_looks_in_quick_succession_are_one_line(tmp_path: Path) -> None:
    said = Journal(tmp_path / "load.journal")
    for n in range(1_000):
        said.look(n, n)
    said.look(1_000, 1_000, last=True)
    said.close()
    kept = [line["rows"] for line in lines(said.path)]
    assert kept[0] == 0 and kept[-1] == 1_000 and len(kept) < 100


def test_what_is_said_behind_the_end_of_a_load_is_none_of_its_time(tmp_path: Path) -> None:
    one = journal(tmp_path, {0: (100, 150, 10, 50)}, end_ns=160)
    with one.path.open("a") as more:
        more.write(json.dumps({"said": "changed", "t_ns": 9_000, "by": "index"}) + "\n")
    found = stretches.stretch(one.path)
    assert found is not None and (found.last_ns, found.ended) == (160, "work")


def test_a_file_whose_end_nobody_heard_ended_by_the_last_word_before_the_gap(tmp_path: Path) -> None:
    first = journal(tmp_path / "0", {0: (100, None, 0, 0)}, [(400, 80, 900)])
    second = journal(
        tmp_path / "1", {1: (10, 90, 100, 1_000)}, go_ns=10, unix_ns=1_000, end_ns=95, rows=100, bytes=1_000, done=1,
        unheard=[[0, 100, 1_000]],
    )  # fmt: skip
    whole, rows, files = of(stretches.on_one_clock([first, second]))
    assert [(f["file"], f["start_ns"], f["end_ns"], f["rows"]) for f in files] == [
        (0, 100, 400, 100),
        (1, 1_010, 1_090, 100),
    ]
    assert [(r["rows"], r["ops"]) for r in rows] == [(100, 1), (100, 1)] and whole.files == 2


def test_rows_that_a_server_lost_after_it_had_acknowledged_them_are_counted_once(tmp_path: Path) -> None:
    """File 0 was heard to end, and its server came back without it: durability is not what a load decides."""
    first = journal(
        tmp_path / "0", {0: (100, 300, 100, 1_000)}, [(200, 50, 500), (340, 100, 1_000), (400, 100, 1_000)]
    )
    second = journal(
        tmp_path / "1", {0: (10, 90, 60, 600)}, go_ns=10, unix_ns=1_000, end_ns=95, rows=40, bytes=400, in_hand=[[0, 40, 400]],
        again=[0],
    )  # fmt: skip
    whole, rows, files = of(stretches.on_one_clock([first, second]))
    assert [r["in_flight"] for r in rows] == [1, 1, 1, 0], "it had not ended"
    assert [r["rows"] for r in rows] == [40, 0, 0, 60] and sum(r["bytes"] for r in rows) == 1_000
    assert [(f["file"], f["start_ns"], f["end_ns"], f["rows"]) for f in files] == [(0, 100, 1_090, 100)]
    assert (whole.rows, sum(r["ops"] for r in rows)) == (100, 1)


def test_chunks_behind_one_that_is_missing_do_not_count() -> None:
    at = [json.dumps({"file": 0, "offset": n}) for n in (10, 20, 30, 40)]
    lines = [
        (7, 0, 5, at[0]),
        (7, 1, 5, at[1]),
        (7, 3, 5, at[3]),
        (8, 1, 5, at[1]),
        (9, 0, 5, json.dumps({"file": 1, "offset": 0})),
    ]
    assert prefixes(lines, lambda file: 99) == [(7, 10, 20), (9, 5, 99)]


@pytest.mark.parametrize(
    "metric", ["stalls", "stall_total_s", "repetition_cpu_s", "rss_bytes", "page_cache_bytes"]
)
def test_what_does_not_count_up_is_no_more_after_a_load_that_was_killed(metric: str) -> None:
    def looked(*values: float) -> pa.Table:
        rows = [
            {"role": "client", "t_ns": n, "metric": metric, "device": "", "value": value}
            for n, value in enumerate(values)
        ]
        return pa.Table.from_pylist(rows, SCHEMAS["resources"])

    found = joined.goes_on(iter([iter([looked(7.0)]), iter([looked(2.0, 1.0)])]))
    assert [v for table in found for v in table["value"].to_pylist()] == [7.0, 2.0, 1.0]


def test_what_counts_up_goes_on_where_it_was_and_does_not_grow_in_a_gap() -> None:
    def samples(*values: float, t0: int = 0) -> pa.Table:
        rows = [
            {"role": "server", "t_ns": t0 + n, "metric": metric, "device": "", "value": v}
            for n, v in enumerate(values)
            for metric in ("cpu_s", *LEVELS)
        ]
        return pa.Table.from_pylist(rows, SCHEMAS["resources"])

    # The server of the second worker was started anew, that of the third is the same one: its CPU goes on from 9.
    found = pa.concat_tables(
        joined.goes_on(
            iter([iter([samples(1, 4), samples(6)]), iter([samples(0.5, 2.5)]), iter([samples(9, 12)])])
        )
    ).to_pylist()
    assert [r["value"] for r in found if r["metric"] == "cpu_s"] == [1, 4, 6, 6, 8, 8, 11]
    for level in LEVELS:
        assert [r["value"] for r in found if r["metric"] == level] == [1, 4, 6, 0.5, 2.5, 9, 12], level


def test_a_second_load_is_a_change_too(tmp_path: Path) -> None:
    run = RunWithLoads.__new__(RunWithLoads)
    run.parts, run.plan = (
        tmp_path,
        {"operations": [], "segments": [{"kind": "load", "label": "more", "roles": []}]},
    )  # type: ignore[typeddict-item]
    run.loaded, run.load = [SimpleNamespace(role="load", of={"mark": "m"})], SimpleNamespace(role="more")  # type: ignore[list-item, assignment]
    run.mark_change(0)
    assert [(line["said"], line["by"]) for line in lines(tmp_path / "load.journal")] == [("changed", "more")]


@pytest.mark.parametrize(("kind", "said"), [("execute", ["calls"]), ("query", [])])
def test_calls_that_change_rows_are_a_change_too_and_reads_are_none(
    kind: str, said: list[str], tmp_path: Path
) -> None:
    run = RunWithLoads.__new__(RunWithLoads)
    roles = [{"work": {"kind": "calls", "count": 5}, "operations": [{"operation": "op", "weight": 1}]}]
    segments = [{"kind": "drive", "label": "calls", "roles": roles}]
    run.parts, run.plan = tmp_path, {"operations": [{"name": "op", "kind": kind}], "segments": segments}  # type: ignore[typeddict-item]
    run.loaded, run.load = [SimpleNamespace(role="load", of={"mark": "m"})], SimpleNamespace(role="more")  # type: ignore[list-item, assignment]
    run.mark_change(0)
    journal = tmp_path / "load.journal"
    assert [line["by"] for line in (lines(journal) if journal.exists() else ())] == said


def test_gaps_are_cut_out_of_windows() -> None:
    gaps = [(10, 20), (30, 40)]
    assert worked((0, 50), gaps) == [(0, 10), (20, 30), (40, 50)]
    assert worked((12, 35), gaps) == [(20, 30)]
    assert worked((0, 5), gaps) == [(0, 5)] and worked((0, 50), []) == [(0, 50)]
    assert worked_ns(0, 50, gaps) == 30 and worked_ns(15, 35, gaps) == 10 and worked_ns(41, 50, gaps) == 9


def made_up_run(found: Sequence[Stretch]) -> RunRecord:
    """A run whose one step is that load, in seconds."""
    whole, intervals, files = of(found)
    step = {
        "segment": 3,
        "kind": "load",
        "label": "load",
        "phase": "measure",
        "ended_by": "work",
        "step": "load",
    }
    rows: dict[str, Any] = {
        "segments": [{**step, "start_ns": whole.start_ns, "end_ns": whole.end_ns, "client_cpu_ns": 0}],
        "repetitions": [tables.totals(whole, 2, 0, 3, "load", whole.files)],
        "intervals": intervals,
        "files": files,
        "resources": [
            {"role": "load_server", "t_ns": t, "metric": "cpu_s", "device": "", "value": cpu * 1e-9}
            for t, cpu in ((100, 0), (500, 200), (2_000, 200), (2_200, 300))
        ],
    }
    gaps = [{"segment": 3, "step": "load", "from_ns": a, "until_ns": b} for a, b in stretches.gaps(found)]
    roles = [
        {
            "name": "load",
            "operations": [{"operation": "load/events"}],
            "schedule": {"kind": "closed"},
            "work": {"kind": "rows", "table": 0},
        }
    ]
    plan: Any = {
        "segments": [{"kind": "load", "step": "load", "phase": "measure", "roles": roles}], "record": {"interval_ns": 50},
        "operations": [{"name": "load/events", "kind": "insert"}], "target": {"engine": "sqlite"},
    }  # fmt: skip
    held = {name: pa.Table.from_pylist(mine, SCHEMAS[name]) for name, mine in rows.items()}
    return RunRecord("r", plan, {}, {"gaps": gaps, "labels": {}}, held)


def test_figures_are_those_of_the_stretches_together_and_of_no_gap(tmp_path: Path) -> None:
    """400 ns and 200 ns of work with 1,500 ns between them; 300 ns of CPU, and a file that was in hand in the gap."""
    found = figures_of_run(made_up_run(killed_once(tmp_path)))
    assert found["load.duration_s"] == found["load.makespan_s"] == pytest.approx(600e-9)
    assert found["load.rows_per_s"] == pytest.approx(300 / 600e-9)
    assert found["load.bytes_per_s"] == pytest.approx(3_000 / 600e-9)
    assert found["load.load_server_busy_cores"] == pytest.approx(300 / 600)
    assert found["load.file_p50_s"] == pytest.approx(200e-9), "files took 200, 290 and 90 ns"
    assert found["load.file_p90_s"] == pytest.approx((200 + 0.8 * 90) * 1e-9)


def test_no_step_of_a_rate_lies_in_a_gap(tmp_path: Path) -> None:
    rates = role_rates(made_up_run(killed_once(tmp_path)))["load"]
    assert len(rates.t_s) and (rates.rows / rates.dt_s).min() > 0
    assert all(t + dt <= 501e-9 or t >= 1_999e-9 for t, dt in zip(rates.t_s, rates.dt_s, strict=True))


def test_rows_that_come_between_two_looks_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server ends the transaction of a load server that was killed: that is no other data."""
    monkeypatch.setattr("inrush.run.going_on.LOOK_S", 0.0)
    answers = iter([100, 120, 120, 120, 120, 120])
    assert uneven(lambda text: next(answers), "ledger", "table") is None
    assert uneven(lambda text: 100 if text == "ledger" else 90, "ledger", "table") == (
        "the table has 90 rows, and the ledger 100"
    )


def test_progress_counts_what_was_stored_before_and_hopes_by_what_is_stored_now(tmp_path: Path) -> None:
    said: list[Any] = []
    heard = Heard(said.append, Journal(tmp_path / "load.journal"))
    heard.rows_before, heard.rows_due, heard.gaps = 500, 1_000, [(0, 4_000_000_000)]
    heard.take(
        Said("client", "client-0", {"event": "progress", "rows_stored": 60, "rows_of_others": 40, "bytes": 7})
    )
    heard.progress(3, "load", "measure", "load", 0.6, 10.0)
    heard.journal.close()
    assert said[-1]["loaded"] == {"rows": 600, "of": 1_000, "gaps": 1, "gaps_s": 4.0}
    assert said[-1]["left_s"] == pytest.approx(40.0), "a tenth in ten seconds, four tenths to go"
    assert said[-1]["t_ns"] == 10_000_000_000


# --- planning


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("pipeline = { files = 3, pipelines = 2, chunk_rows = 1_000, flush_rows = 5_000 }", "resumable = true"),
         "sessions keep no ledger to go on by"),
        (('[[steps]]\nname = "load"', '[[steps]]\nname = "rest"\ndo = "settle"\nseconds = 1\n[[steps]]\nname = "load"'),
         "what rest did would have to be done again; make the load the first step"),
    ],
)  # fmt: skip
def test_what_cannot_go_on_is_refused_when_it_is_planned(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    changes = [change] if "resumable" in change[1] else [RESUMABLE, change]
    assert said in problems(tmp_path, *changes)


# --- killed


def one_run(results: Path) -> Measured:
    (path,) = results.glob("*/study.json")
    (one,) = analyse(study_record(Results(path.parent))).runs
    return one


def proven(one: Measured) -> None:
    assert one.run.summary["status"] == "done"
    assert all(p["holds"] for p in one.run.rows("proofs")), [
        p for p in one.run.rows("proofs") if not p["holds"]
    ]
    found = {p["item"]: p["found"] for p in one.run.rows("proofs")}
    assert found["load: rows in the ledger"] == found["rows"] == str(ROWS)


def words_of(folder: Path, engine: str, *changes: tuple[str, str]) -> tuple[Path, tuple[str, ...]]:
    path = write_study(folder, SLOW, RESUMABLE, ('["sqlite", "duckdb"]', f'["{engine}"]'), *changes)
    return folder / "results", ("run", str(path), engine)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("engine", ["sqlite", pytest.param("duckdb", marks=pytest.mark.slow)])
@pytest.mark.ci
def test_a_load_that_each_process_of_it_was_killed_in_is_one_load(tmp_path: Path, engine: str) -> None:
    results, words = words_of(tmp_path, engine, ("interval_s = 0.1", "interval_s = 0.1, sizes_s = 0.2"))
    for victim, at in zip(killing.VICTIMS, (5_000, 12_000, 19_000, 26_000), strict=True):
        killing.killed(results, words, victim, at)
        words = ("run", "--resume")
    study = tmp_path / "loaded.toml"
    as_it_was = study.read_text()
    study.write_text(as_it_was.replace("chunk_rows = 1_000", "chunk_rows = 500"))
    code, said = killing.finished(results, *words)
    assert code == 2 and "begun with other plans than these" in said, "a changed plan is refused"
    study.write_text(as_it_was)
    code, said = killing.finished(results, *words)
    assert code == 0, said
    assert "step load goes on behind the rows that are stored" in said
    one = one_run(results)
    proven(one)
    run, figures = one.run, one.figures
    gaps, files = run.summary["gaps"], run.rows("files")
    assert [g["step"] for g in gaps] == ["load"] * 4 and len(run.summary["stretches"]) == 5
    assert gaps[0]["why"] == "killed" and "load load_server" in gaps[3]["why"]
    mine = [i for i in run.rows("intervals") if i["role"] == "load"]
    assert (sum(i["rows"] for i in mine), sum(i["ops"] for i in mine)) == (ROWS, 3)
    assert sum(i["bytes"] for i in mine) == sum(f["bytes"] for f in files) == figures["load.bytes"]
    assert sorted(f["rows"] for f in files) == [13_332, 13_334, 13_334]
    for i in mine:
        inside = [g for g in gaps if i["t_ns"] < g["until_ns"] and i["t_ns"] + i["dt_ns"] > g["from_ns"]]
        assert not inside, (i, inside)
    # Figures leave the gaps out: what all stretches worked is what all intervals lasted.
    idle_s = sum(g["until_ns"] - g["from_ns"] for g in gaps) / 1e9
    (load,) = (s for s in run.rows("segments") if s["kind"] == "load")
    assert figures["load.duration_s"] == pytest.approx((load["end_ns"] - load["start_ns"]) / 1e9 - idle_s)
    assert figures["load.duration_s"] == pytest.approx(sum(i["dt_ns"] for i in mine) / 1e9)
    assert figures["load.rows_per_s"] == pytest.approx(ROWS / figures["load.duration_s"])
    assert figures["load.file_p90_s"] < figures["load.duration_s"] < idle_s
    (note,) = (v for v in one.verdicts if v.guard == "load not interrupted")
    assert note.outcome is Outcome.NOTE and "was ended 4 times and went on" in note.sentence
    assert [s["label"] for s in run.rows("segments")][:3] == ["create", "before", "ready"]
    times, cpu_s = cumulative(run, "cpu_s")["client"]
    assert times[0] < gaps[0]["from_ns"] and times[-1] > gaps[3]["until_ns"]
    assert min(b - a for a, b in itertools.pairwise(cpu_s.tolist())) > -1e-9, "CPU of five workers counts up"
    sizes = [s for s in run.rows("sizes") if s["segment"] == load["segment"]]
    assert {s["name"] for s in sizes} == {"file", "log"}, "an engine in the load server's process has it open"
    assert (
        min(s["t_ns"] for s in sizes) < gaps[0]["from_ns"]
        and max(s["t_ns"] for s in sizes) > gaps[3]["until_ns"]
    )
    assert not any(g["from_ns"] < s["t_ns"] < g["until_ns"] for s in sizes for g in gaps)
    again, said = killing.finished(results, "run", "--resume", next(results.glob("*/study.json")).parent.name)
    assert again == 0 and len(run.summary["stretches"]) == 5, "a finished run is not touched"
    assert one_run(results).run.summary["ended_unix_ns"] == run.summary["ended_unix_ns"]


@pytest.mark.timeout(400)
@pytest.mark.ci
def test_a_load_whose_table_is_gone_or_anothers_is_made_anew_and_said(tmp_path: Path) -> None:
    results, words = words_of(tmp_path, "sqlite")
    killing.killed(results, words, "inrush", 5_000)
    with sqlite3.connect(next(results.glob("*/data/b*/*.sqlite"))) as held:
        (ledger,) = held.execute("SELECT name FROM sqlite_schema WHERE name LIKE '%ledger%'").fetchone()
        held.execute(f"UPDATE \"{ledger}\" SET goes_on = 'another' WHERE file_no = -1")
    said = killing.killed(results, ("run", "--resume"), "worker", 5_000)
    assert "step load is made anew: the ledger is that of another run (another)" in said
    with sqlite3.connect(next(results.glob("*/data/b*/*.sqlite"))) as held:
        (table,) = held.execute("SELECT name FROM sqlite_schema WHERE name LIKE '%events%'").fetchone()
        held.execute(f'DROP TABLE "{table}"')
    code, said = killing.finished(results, "run", "--resume")
    assert "step load is made anew: its tables are gone (" in said
    assert code == 0, said
    one = one_run(results)
    proven(one)
    assert "gaps" not in one.run.summary, "nothing of the runs that were lost is in it"
    assert len(list(next(results.glob("*/quarantine")).iterdir())) == 2


REST = """
[[steps]]
name = "rest"
do = "settle"
seconds = 4
"""
INDEX = """
[[steps]]
name = "index"
do = "statement"
operation = "index"
"""


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("more", [REST, INDEX + REST])
def test_a_run_that_is_killed_behind_its_load_loads_nothing_again_unless_a_step_changed_the_table(
    tmp_path: Path, more: str
) -> None:
    results, words = words_of(tmp_path, "sqlite", ("shard_rows_per_s = 8_000, ", ""))
    study = Path(words[1])
    study.write_text(study.read_text() + more)

    def resting() -> bool:
        """The probe behind the step before it is done, and its own segment is not."""
        opened = OpenRun(next(results.glob("*/b*/plan.json")).parent)
        probed = {s["step"] for s in opened.table("segments").to_pylist() if s["kind"] == "probe"}
        return ("index" if "index" in more else "out") in probed

    killing.killed(results, words, "inrush", 1, resting)
    code, said = killing.finished(results, "run", "--resume")
    assert code == 0, said
    one = one_run(results)
    proven(one)
    assert (
        one.figures["load.files"] == 3 and one.figures["load.after_bytes"] > one.figures["load.before_bytes"]
    )
    if more == REST:
        assert "step load goes on behind the rows that are stored" in said
        first, last = one.run.summary["stretches"]
        assert (first["rows_before"], last["rows_before"]) == (0, ROWS)
        assert one.figures["load.duration_s"] < (first["until_ns"] - first["from_ns"]) / 1e9 + 1
    else:
        assert "made anew: step index has changed what step load stored" in said
        assert "gaps" not in one.run.summary
