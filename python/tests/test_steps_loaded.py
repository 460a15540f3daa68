"""Load steps that client and load server of `inrush load` do: planned, run on embedded engines, cut, and killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Outcome, Verdict
from inrush.border.events import Event
from inrush.border.pipeline import whole_load
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.plan.plan import plan_study
from inrush.results.store import Results, Store
from inrush.run.listener import Silent
from inrush.run.run import StudyEnd, run_study
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.stats.steps import of_step, step_windows
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from tests.extracting import ALL_TYPES
from tests.steps import WORKLOAD, run_study_file

ENGINES = ("sqlite", "duckdb")
ROWS = 40_000
RANGE = """
[operations.all]
kind = "extract"
table = "events"
range = { rows = 300 }
params.from = { gen = "range", end = "from" }
params.to = { gen = "range", end = "to" }
params.id = { gen = "range", column = "id" }
returns = ["id", "time", "value"]
sql.default = "SELECT id, time, value FROM {events} WHERE id = :id AND time >= :from AND time < :to ORDER BY time"
"""
STUDY = """
schema = 1
title = "Files, then reads"
question = "How fast does the loader fill the table that is read then?"
expect = "As fast as a pipeline does."
workload = "work.toml"
kind = "steps"
engines = ["sqlite", "duckdb"]
repeats = { count = 1, seed = 1, pilot = false }
record = { watch_s = 0.1, interval_s = 0.1 }
answer = { kind = "comparison", of = "load.rows_per_s" }
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = 40_000 }
pipeline = { files = 3, pipelines = 2, chunk_rows = 1_000, flush_rows = 5_000 }
[[steps]]
name = "read"
do = "read"
operation = "one"
calls = 10
[[steps]]
name = "out"
do = "extract"
operation = "all"
calls = 3
"""


#: Out to files, and in again by the loader.
BACK = """
[[steps]]
name = "kept"
do = "dump"
table = "events"
by = "time"
files = 4
[[steps]]
name = "back"
do = "load"
table = "events"
from = "kept"
pipeline = { pipelines = 2, client = "own" }
"""


def write_study(folder: Path, *changes: tuple[str, str]) -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "work.toml").write_text(WORKLOAD + RANGE)
    path = folder / "loaded.toml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """load by the loader → read → extract, once on each engine."""
    folder = tmp_path_factory.mktemp("loaded")
    return analyse(study_record(Results(run_study_file(write_study(folder), folder))))


def of(analysis: Analysis, engine: str) -> tuple[RunRecord, Mapping[str, float]]:
    return next((m.run, m.figures) for m in analysis.runs if m.run.engine == engine)


def verdict(analysis: Analysis, engine: str, guard: str) -> Verdict:
    found = next(m.verdicts for m in analysis.runs if m.run.engine == engine)
    return next(v for v in found if v.guard == guard)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_the_loader_put_in_are_read_and_extracted_in_the_same_run(
    finished: Analysis, engine: str
) -> None:
    run, figures = of(finished, engine)
    assert list(step_windows(run)) == ["load", "read", "out"]
    assert [figures[f"load.{name}"] for name in ("rows", "files", "sessions")] == [ROWS, 3, 2]
    assert [figures["read.ok"], figures["read.rows"], figures["out.rows"]] == [10, 10 * ROWS / 100, 900]
    for guard in (
        "ended as planned",
        "rows proven",
        "rows rejected",
        "answers right",
        "inputs cold",
        "sum of parts",
    ):
        assert verdict(finished, engine, guard).outcome is Outcome.PASS, guard
    assert finished.valid


@pytest.mark.parametrize("engine", ENGINES)
def test_the_load_lasts_from_the_first_file_due_to_the_last_row_stored(
    finished: Analysis, engine: str
) -> None:
    run, figures = of(finished, engine)
    start, end = step_windows(run)["load"]
    files = run.rows("files")
    assert [f["rows"] for f in sorted(files, key=lambda f: f["file"])] == [13_334, 13_334, 13_332]
    assert {(f["role"], f["due_ns"]) for f in files} == {("load", start)}
    assert start <= min(f["start_ns"] for f in files) < max(f["end_ns"] for f in files) == end
    assert figures["load.duration_s"] == pytest.approx((end - start) / 1e9)
    assert figures["load.rows_per_s"] == pytest.approx(ROWS / figures["load.duration_s"])
    size = sum(f["bytes"] for f in files)
    assert figures["load.bytes_per_s"] == pytest.approx(size / figures["load.duration_s"])
    intervals = run.rows("intervals")
    mine = [i for i in intervals if i["role"] == "load"]
    assert (sum(i["rows"] for i in mine), sum(i["bytes"] for i in mine)) == (ROWS, size)


@pytest.mark.parametrize("engine", ENGINES)
def test_sizes_lie_around_the_load_and_its_ledger_is_none_of_them(finished: Analysis, engine: str) -> None:
    _, figures = of(finished, engine)
    grown = figures["load.after_bytes"] - figures["load.before_bytes"]
    assert figures["load.grown_bytes"] == grown > 0
    assert figures["load.bytes_per_row"] == pytest.approx(grown / ROWS)


@pytest.mark.parametrize("engine", ENGINES)
def test_all_rows_are_proven_by_the_ledger_and_by_the_generator(finished: Analysis, engine: str) -> None:
    run, _ = of(finished, engine)
    found = {row["item"]: (row["expected"], row["found"]) for row in run.rows("proofs")}
    assert found["load: rows in the ledger"] == found["load: rows in = stored + rejected"] == (str(ROWS),) * 2
    assert found["rows"] == (str(ROWS),) * 2
    assert all(row["holds"] for row in run.rows("proofs"))


@pytest.mark.slow
def test_cores_are_those_of_the_ends_while_they_load_and_of_the_sessions_in_other_steps(
    tmp_path: Path,
) -> None:
    """A load of a second: a shorter one has no look near its begin and its end on a busy machine."""
    path = write_study(
        tmp_path, ("40_000", "400_000"), ("chunk_rows", "shard_rows_per_s = 400_000, chunk_rows")
    )
    found = analyse(study_record(Results(run_study_file(path, tmp_path))))
    for engine in ENGINES:
        run, figures = of(found, engine)
        roles = {row["role"] for row in run.rows("resources")}
        assert {"client", "load_client", "load_server"} <= roles
        assert figures["load.client_busy_cores"] > 0 < figures["load.load_server_busy_cores"]
        # inrush itself waits: what it computes is none of the load's.
        assert figures["load.inrush_busy_cores"] < figures["load.load_server_busy_cores"]
        assert figures["load.client_cpu_us_per_row"] == pytest.approx(
            figures["load.client_process_cpu_us_per_row"], rel=0.2
        )
        assert figures["load.client_read_bytes"] > 0 < figures["load.load_server_write_bytes"]
        assert 400_000 * 0.5 < figures["load.rows_per_s"] < 400_000 * 1.2, "the shard is throttled"


def test_a_step_by_itself_is_a_pipelines_run(finished: Analysis) -> None:
    run, _ = of(finished, "sqlite")
    view = of_step(run, "load")
    load = whole_load(view.plan)
    assert load is not None and (load["pipelines"]["count"], len(view.rows("files"))) == (2, 3)
    other = of_step(run, "read")
    assert (whole_load(other.plan), whole_load(run.plan), other.rows("files")) == (None, None, [])


@pytest.mark.ci
def test_a_dump_comes_back_by_the_loader(tmp_path: Path) -> None:
    """generator → table → files of a dump → loader → table, and the rows are those of the generator."""
    again = '[[steps]]\nname = "again"\ndo = "read"\noperation = "one"\ncalls = 5\n'
    path = write_study(tmp_path, ('name = "out"', 'name = "first"'))
    path.write_text(path.read_text() + BACK + again)
    found = analyse(study_record(Results(run_study_file(path, tmp_path))))
    for engine in ENGINES:
        run, figures = of(found, engine)
        assert [figures["load.rows"], figures["back.rows"], figures["back.files"]] == [ROWS, ROWS, 4]
        assert figures["again.ok"] == 5
        assert {row["item"] for row in run.rows("proofs")} >= {
            "load: rows in the ledger",
            "back: rows in the ledger",
        }
        assert verdict(found, engine, "rows proven").outcome is Outcome.PASS
        held = run.rows("counters")
        inputs = {c["segment"]: int(c["value"]) for c in held if c["name"] == "inputs_bytes"}
        assert len(inputs) == 2, "each load has its files"
        for step in ("load", "back"):
            mine = [c for c in of_step(run, step).rows("counters") if c["name"] == "inputs_bytes"]
            assert [float(c["value"]) for c in mine] == [figures[f"{step}.bytes"]]


# --- limits and deaths


@pytest.mark.slow
def test_a_load_past_its_limit_is_stopped_and_said(tmp_path: Path) -> None:
    path = write_study(
        tmp_path,
        ("files = 3, pipelines = 2,", "files = 4, shard_rows_per_s = 5_000,"),
        ("rows = { total = 40_000 }", "rows = { total = 40_000 }\nlimit_s = 1"),
    )
    found = analyse(study_record(Results(run_study_file(path, tmp_path))))
    for engine in ENGINES:
        run, figures = of(found, engine)
        (segment,) = (s for s in run.rows("segments") if s["kind"] == "load")
        assert segment["ended_by"] == "limit"
        assert 1 <= figures["load.duration_s"] < 5
        assert figures["load.rows"] < ROWS and figures["load.unsent"] >= 1
        said = verdict(found, engine, "ended as planned")
        assert said.outcome is Outcome.INVALID
        assert said.sentence.startswith("Step load was cancelled at its limit"), said
        assert "out ran on what it left" in said.sentence
        assert said.breaks("load.rows_per_s") and said.breaks("read.latency_p50_s")
        short = verdict(found, engine, "rows proven")
        assert (short.outcome, short.hides) == (Outcome.INVALID, True), "rows that are not there are no load"
        assert {s["step"] for s in run.rows("segments") if s["step"]} == {"load", "read", "out"}


class KillEnd(Silent):
    """Kills the program of one end when its load has begun."""

    #: Folder of the test.
    below = Path("/nowhere")

    def __init__(self, role: str) -> None:
        self.role, self.killed = role, False

    def event(self, event: Event) -> None:
        if event["event"] == "progress" and event["phase"] == "measure" and not self.killed:
            for pid in ends_at_work(self.role):
                os.kill(pid, signal.SIGKILL)
                self.killed = True


def ends_at_work(role: str) -> list[int]:
    """Our programs of a load by the log that they write beside their run's tables."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/fd/2"):
        try:
            log = str(entry.readlink())
        except OSError:
            continue
        if log.startswith(str(KillEnd.below)) and Path(log).name.startswith(f"{role}-"):
            found.append(int(entry.parts[2]))
    return found


def run_here(path: Path, folder: Path, listener: Silent) -> tuple[StudyEnd, Results]:
    study = load_study(str(path), engines=["sqlite"])
    plan = plan_study(study, {"sqlite": server("sqlite")})
    results = Store(folder / "results").new_study(study.name, {**plan.document(), "begun_unix_ns": 1})
    deployments = {"sqlite": Deployment(server("sqlite"), Target("sqlite", ""))}
    return run_study(plan.runs, results, deployments, listener), Results(results.path)


@pytest.mark.parametrize("role", ["client", pytest.param("server", marks=pytest.mark.slow)])
def test_an_end_that_is_killed_fails_its_run_and_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    monkeypatch.setattr(KillEnd, "below", tmp_path)
    path = write_study(tmp_path, ("files = 3, pipelines = 2,", "files = 4, shard_rows_per_s = 5_000,"))
    listener = KillEnd(role)
    end, results = run_here(path, tmp_path, listener)
    assert listener.killed
    (why,) = end.failed.values()
    assert "step load: load " in why and "was killed by SIGKILL" in why, why
    (run,) = results.runs
    assert run.doc["status"] == "failed"
    assert not list(tmp_path.rglob("*.csv-*")) and not (run.path / "parts").exists()
    assert not ends_at_work("client") and not ends_at_work("server")


# --- planning


def problems(folder: Path, *changes: tuple[str, str], engines: list[str] | None = None) -> str:
    with pytest.raises(UsageError) as refused:
        study = load_study(str(write_study(folder, *changes)), engines=engines)
        plan_study(study, {engine: server(engine) for engine in study.engines})
    return str(refused.value)


PIPELINE = "pipeline = { files = 3, pipelines = 2, chunk_rows = 1_000, flush_rows = 5_000 }"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (("pipelines = 2", "shards = 2"), 'several shards are kind = "pipeline"'),
        (("pipelines = 2", "lines = 2"), "unknown key"),
        (("pipelines = 2", "pipelines = 0"), "steps[0].pipeline.pipelines"),
        ((PIPELINE, f"{PIPELINE}\nsessions = 2"), "write pipeline.pipelines"),
        ((PIPELINE, f"{PIPELINE}\nbatch_rows = 2"), "write pipeline.chunk_rows"),
        ((PIPELINE, f"{PIPELINE}\ndepth = 2"), "the loader decides it; remove it"),
        (
            (PIPELINE, f'{PIPELINE}\nschedule = {{ mode = "constant", rate_per_s = 1 }}'),
            "the loader decides it",
        ),
        (("pipelines = 2", 'client = "own", device_bytes_per_s = 9'), "do not share a bucket"),
        (("rows = { total = 40_000 }", ""), "rows"),
        (('of = "load.rows_per_s"', 'of = "load.speed"'), "load.speed"),
    ],
)
def test_what_a_load_by_the_loader_cannot_mean_is_said_when_it_is_planned(
    tmp_path: Path, changes: tuple[str, str], said: str
) -> None:
    assert said in problems(tmp_path, changes)


def test_a_load_from_a_dump_has_the_files_of_the_dump(tmp_path: Path) -> None:
    more = """
[[steps]]
name = "kept"
do = "dump"
table = "events"
by = "time"
[[steps]]
name = "back"
do = "load"
table = "events"
from = "kept"
pipeline = { files = 3 }
"""
    path = write_study(tmp_path)
    path.write_text(path.read_text() + more)
    with pytest.raises(UsageError, match="its files are those of the dump; remove it"):
        load_study(str(path))


def planned(folder: Path, engine: str, *changes: tuple[str, str]) -> Any:
    study = load_study(str(write_study(folder, *changes)), engines=[engine])
    return plan_study(study, {engine: server(engine)})


def test_an_engine_without_a_ledger_or_with_too_few_files_has_no_such_point(tmp_path: Path) -> None:
    (none,) = planned(tmp_path, "valkey").unsupported
    assert "the loader keeps its ledger in" in none.reason
    (few,) = planned(tmp_path, "sqlite", ("files = 3", "files = 1")).unsupported
    assert few.reason == "step load: 1 files do not keep 2 pipelines at work"
    (deep,) = planned(tmp_path, "sqlite", ("pipelines = 2", "connections = 2")).unsupported
    assert "sqlite lets 1 session write at a time: connections = 1" in deep.reason


def test_numbers_of_a_pipeline_may_be_factors(tmp_path: Path) -> None:
    plan = planned(
        tmp_path,
        "duckdb",
        (
            'engines = ["sqlite", "duckdb"]',
            'engines = ["duckdb"]\nfactors.lines = [1, 2]\nfactors.rows = [39_999, 40_000]',
        ),
        ("pipelines = 2", 'pipelines = "@lines"'),
        ("total = 40_000", 'total = "@rows"'),
        ('of = "load.rows_per_s"', 'of = "load.rows_per_s", along = "lines"'),
    )
    loads = [run.plan["loads"]["load"] for run in plan.runs]
    found = {(of["pipelines"]["count"], of["inputs"]["rows"], of["inputs"]["rows_per_file"]) for of in loads}
    assert found == {
        (lines, rows, per) for lines in (1, 2) for rows, per in ((39_999, 13_333), (40_000, 13_334))
    }
    assert {of["inputs"]["files"] for of in loads} == {3}


REFUSED = ("bl", "flags", "whole", "lt")


def with_types(tmp_path: Path, columns: str) -> Path:
    """generator → table by sessions → files of a dump → loader → table, with these columns."""
    (tmp_path / "work.toml").write_text(
        WORKLOAD.replace('  { name = "value"', f'{columns}  {{ name = "value"')
    )
    head = STUDY[: STUDY.index("[[steps]]")].replace('["sqlite", "duckdb"]', '["duckdb"]')
    load = '[[steps]]\nname = "load"\ndo = "load"\ntable = "events"\nrows = { total = 2_000 }\n'
    path = tmp_path / "typed.toml"
    path.write_text(head + load + BACK)
    return path


@pytest.mark.slow
def test_values_of_every_type_that_the_loader_carries_come_back(tmp_path: Path) -> None:
    lines = ALL_TYPES.splitlines(keepends=True)
    carried = "".join(line for line in lines if not any(f'name = "{name}"' in line for name in REFUSED))
    path = with_types(tmp_path, carried)
    (run,) = analyse(study_record(Results(run_study_file(path, tmp_path)))).runs
    assert run.figures["back.rows"] == 2_000
    proofs = {row["item"]: row["holds"] for row in run.run.rows("proofs")}
    assert {"rows", "read_back"} <= set(proofs) and all(proofs.values()), proofs


def test_what_the_loader_does_not_carry_out_of_a_dump_is_refused_before_it_is_dumped(tmp_path: Path) -> None:
    nulls = '  { name = "ni", type = "list_i64", gen = "array", of = { gen = "uniform", from = 0, to = 9 }, null_ppm = 9 },\n'
    with pytest.raises(UsageError, match="carries no lt, bl, flags, whole, ni out of a dump"):
        plan_study(load_study(str(with_types(tmp_path, ALL_TYPES + nulls))), {"duckdb": server("duckdb")})


def test_lists_are_in_no_file_of_the_loader(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    work = (tmp_path / "work.toml").read_text()
    column = '  { name = "curve", type = "list_f64", gen = "uniform", length = 4, from = 0, to = 9 },\n]'
    (tmp_path / "work.toml").write_text(work.replace("]\n[operations.one]", f"{column}\n[operations.one]"))
    with pytest.raises(UsageError, match="no file is written of curve"):
        study = load_study(str(path), engines=["duckdb"])
        plan_study(study, {"duckdb": server("duckdb")})
