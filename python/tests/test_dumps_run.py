"""Dumps on real embedded engines: the files, what proves them, the load that reads them, and what goes wrong."""

from __future__ import annotations

import csv
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from inrush.analysis.points import Analysis
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.guards.analyse import analyse
from inrush.plan.plan import plan_study
from inrush.results.store import Results, Store, StudyFolder
from inrush.run.listener import Silent
from inrush.run.run import run_study
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from tests.extracting import ALL_TYPES
from tests.steps import WORKLOAD, run_study_file
from tests.test_kill import command, environment, sealed_runs

ENGINES = ("sqlite", "duckdb")
ROWS = 20_000
STUDY = """
schema = 1
title = "Out and back"
question = "How fast do rows come out, and go in again?"
expect = "Slower than they went in."
workload = "work.toml"
kind = "steps"
engines = ["sqlite", "duckdb"]
factors.by = ["key", "time"]
repeats = { count = 1, seed = 1, pilot = false }
record = { watch_s = 0.1 }
answer = { kind = "comparison", of = "out.rows_per_s", along = "by", per = ["engine"] }
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = 20_000 }
[[steps]]
name = "out"
do = "dump"
table = "events"
by = "@by"
files = 4
[[steps]]
name = "back"
do = "load"
table = "events"
from = "out"
batch_rows = 3_000
[[steps]]
name = "read"
do = "read"
operation = "one"
calls = 10
"""


#: Of a table of few rows and many columns.
SMALL = (('factors.by = ["key", "time"]\n', ""), ('"@by"', '"key"'), ('along = "by", per = ["engine"]', 'along = "engine"'),
         ("20_000", "2_000"), ("files = 4", "files = 2"), ("batch_rows = 3_000", "batch_rows = 300"))  # fmt: skip


#: NULL in lists, and numbers that are none.
ODD_NUMBERS = """\
  { name = "nf", type = "f64", gen = "uniform", from = 0, to = 9, nan_share = 0.2, inf_share = 0.2, minus_inf_share = 0.2 },
  { name = "ni", type = "list_i64", gen = "array", min_items = 0, max_items = 5, of = { gen = "uniform", from = 0, to = 9 }, null_ppm = 200_000 },
  { name = "nt", type = "list_text", gen = "array", min_items = 0, max_items = 5, of = { gen = "text", min_bytes = 0, max_bytes = 9 }, null_ppm = 200_000 },
  { name = "nl", type = "list_f64", gen = "array", min_items = 0, max_items = 5, of = { gen = "uniform", from = 0, to = 9 }, nan_ppm = 200_000, inf_ppm = 200_000, minus_inf_ppm = 200_000 },
  { name = "ns", type = "list_f32", gen = "array", min_items = 0, max_items = 5, of = { gen = "uniform", from = 0, to = 9 }, nan_ppm = 200_000, inf_ppm = 100_000, minus_inf_ppm = 300_000 },
"""


def write_study(folder: Path, *changes: tuple[str, str]) -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "work.toml").write_text(WORKLOAD)
    path = folder / "dumped.toml"
    path.write_text(text)
    return path


def with_columns(columns: str) -> str:
    """The workload with these columns beside its own."""
    assert '  { name = "value"' in WORKLOAD
    return WORKLOAD.replace('  { name = "value"', f'{columns}  {{ name = "value"')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dumps")


@pytest.fixture(scope="module")
def finished(folder: Path) -> Analysis:
    """load → dump into four files that stay → load from them → read, by key and by time on each engine."""
    path = write_study(folder, ("files = 4", 'files = 4\nfolder = "kept"'))
    return analyse(study_record(Results(run_study_file(path, folder))))


def runs(analysis: Analysis, engine: str) -> dict[str, tuple[RunRecord, Mapping[str, float]]]:
    """Order of the dump -> its run and figures."""
    mine = [m for m in analysis.runs if m.run.engine == engine and m.run.block > 0]
    return {str(m.run.labels["factors"]["by"]): (m.run, m.figures) for m in mine}


def files_of(folder: Path, run: RunRecord) -> list[Path]:
    return sorted((folder / "kept").glob(f"*/{run.run_id}/*"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("by", ["key", "time"])
def test_each_row_stands_once_in_the_files_in_the_order_that_was_asked_for(
    folder: Path, finished: Analysis, engine: str, by: str
) -> None:
    run, _ = runs(finished, engine)[by]
    files = files_of(folder, run)
    assert [file.name for file in files] == [f"out-0000{n}.csv" for n in range(4)]
    rows = [row for file in files for row in csv.reader(file.read_text().splitlines())]
    keys = [(int(key), at) for key, at, _ in rows]
    assert len(set(keys)) == len(keys) == ROWS
    assert keys == sorted(keys) if by == "key" else [at for _, at in keys] == sorted(at for _, at in keys)
    assert all(file.stat().st_size > 0 for file in files)


@pytest.mark.parametrize("engine", ENGINES)
def test_figures_of_a_dump_are_of_its_files(folder: Path, finished: Analysis, engine: str) -> None:
    for run, figures in runs(finished, engine).values():
        assert figures["out.rows"] == ROWS and figures["out.files"] == figures["out.latency_n"] == 4
        assert figures["out.bytes"] == sum(file.stat().st_size for file in files_of(folder, run))
        assert figures["out.rows_per_s"] == pytest.approx(ROWS / figures["out.makespan_s"])
        assert 0 < figures["out.first_row_p50_s"] < figures["out.latency_p50_s"]
        assert figures["out.grown_bytes"] == 0 < figures["out.before_bytes"]
        assert figures["back.rows"] == ROWS and figures["back.ops"] == 7
        assert figures["read.latency_n"] == 10 and figures["read.errors"] == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_files_and_the_table_that_was_loaded_from_them_are_proven(finished: Analysis, engine: str) -> None:
    for run, _ in runs(finished, engine).values():
        proofs = {row["item"]: row for row in run.rows("proofs")}
        assert proofs["dump/out"]["holds"] and proofs["dump/out"]["expected"].startswith(f"{ROWS} rows, ")
        assert all(row["holds"] for row in proofs.values()) and {"rows", "read_back"} <= set(proofs)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.slow
def test_values_of_every_type_come_back_from_files(tmp_path: Path, engine: str) -> None:
    """Documents, strings of bits, lists and NULL among them: the table that was loaded from the files is proven."""
    path = write_study(tmp_path, ('["sqlite", "duckdb"]', f'["{engine}"]'), *SMALL)
    columns = ALL_TYPES + (ODD_NUMBERS if engine == "duckdb" else "")
    (tmp_path / "work.toml").write_text(with_columns(columns))
    (run,) = analyse(study_record(Results(run_study_file(path, tmp_path)))).runs
    assert run.figures["out.rows"] == run.figures["back.rows"] == 2_000
    proofs = {row["item"]: row["holds"] for row in run.run.rows("proofs")}
    assert {"dump/out", "rows", "read_back"} <= set(proofs) and all(proofs.values()), proofs


@pytest.mark.slow
def test_files_in_the_folder_of_a_run_go_with_it(tmp_path: Path) -> None:
    path = write_study(tmp_path, ('["sqlite", "duckdb"]', '["sqlite"]'), ('["key", "time"]', '["time"]'))
    results = run_study_file(path, tmp_path)
    (run,) = analyse(study_record(Results(results))).runs
    assert run.figures["out.files"] == 4
    assert not list(tmp_path.rglob("*.csv"))


def failed(path: Path, folder: Path, before: str = "") -> str:
    """Why its one run failed. before: the name of a file of the dump that leads to a disk without room."""
    study = load_study(str(path), None)
    plan = plan_study(study, {engine: server(engine) for engine in study.engines})
    results: StudyFolder = Store(folder / "results").new_study(
        study.name, {**plan.document(), "begun_unix_ns": time.time_ns()}
    )
    (run,) = plan.runs
    if before:
        place = folder / "kept" / results.path.name / run.run_id
        place.mkdir(parents=True)
        (place / before).symlink_to("/dev/full")
    deployments = {engine: Deployment(server(engine), Target(engine, "")) for engine in study.engines}
    run_study([run], results, deployments, Silent())
    (record,) = Results(results.path).runs
    return str((record.doc["failure"] or {"message": ""})["message"])


ONE = (('factors.by = ["key", "time"]\n', ""), ('"@by"', '"time"'), ('along = "by", per = ["engine"]', 'along = "engine"'))  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_a_disk_without_room_ends_the_run_in_one_line(tmp_path: Path, engine: str) -> None:
    path = write_study(
        tmp_path, ('["sqlite", "duckdb"]', f'["{engine}"]'), ("files = 4", 'files = 4\nfolder = "kept"'), *ONE
    )
    message = failed(path, tmp_path, before="out-00002.csv")
    assert "out-00002.csv: No space left on device" in message and "\n" not in message


def test_a_folder_that_cannot_be_made_ends_the_run_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    path = write_study(
        tmp_path, ('["sqlite", "duckdb"]', '["sqlite"]'), ("files = 4", 'files = 4\nfolder = "kept"'), *ONE
    )
    message = failed(path, tmp_path)
    assert message.startswith("making the folder ") and "kept/" in message and "\n" not in message


@pytest.mark.ci
@pytest.mark.parametrize("engine", ["sqlite", pytest.param("duckdb", marks=pytest.mark.slow)])
def test_killed_in_a_dump_and_resumed_every_row_is_there_once(tmp_path: Path, engine: str) -> None:
    """inrush is killed while files of a dump lie there and its load has not begun."""
    path = write_study(
        tmp_path,
        ('["sqlite", "duckdb"]', f'["{engine}"]'),
        ("files = 4", 'files = 30\nfolder = "kept"'),
        ("20_000", "60_000"),
        *ONE,
    )
    env = environment(tmp_path / "results")
    words = command("run", str(path))
    with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until_s = time.monotonic() + 300
        while len(list((tmp_path / "kept").rglob("*.csv"))) < 3:
            assert process.poll() is None and time.monotonic() < until_s, "no file of the dump came"
            time.sleep(0.001)
        process.kill()
    assert not sealed_runs(tmp_path / "results")
    subprocess.run(command("run", "--resume"), env=env, check=False, capture_output=True)
    (results,) = (tmp_path / "results").glob("*/study.json")
    (found,) = [m for m in analyse(study_record(Results(results.parent))).runs if m.run.block > 0]
    proofs = {row["item"]: row["holds"] for row in found.run.rows("proofs")}
    assert proofs["dump/out"] and all(proofs.values())
    assert found.figures["out.rows"] == found.figures["back.rows"] == 60_000
    assert len(list((tmp_path / "kept").rglob("*.csv"))) == 30
