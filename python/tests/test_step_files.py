"""Load steps whose rows lie in files: planned, run on embedded engines, and what goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.engines import server
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.plan.plan import plan_study
from inrush.results.store import Results
from inrush.stats.measures import study_record
from inrush.stats.record import RunRecord
from inrush.study.reading import load_study
from tests.steps import run_study_file

ROWS, FILES = 20_003, 7
WORKLOAD = r"""
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.idx]
series = 100
period_s = 1
identity = ["k"]
layouts = { none = [], pk = ["identity"] }
columns = [
  { name = "k", type = "text", gen = "format", pattern = "%05dx\t\\%09d", fields = [{ gen = "uniform", from = 0, to = 9999 }, { gen = "sequence", start = 1, step = 1 }] },
  { name = "chunk", type = "i32", gen = "cycle", from = 1, to = 100 },
  { name = "part", type = "i32", gen = "uniform", from = -5, to = 155, null_share = 0.1 },
]
[tables.timed]
series = 1
period_s = 1
identity = ["t"]
columns = [{ name = "t", type = "time_ms", gen = "sweep_time" }]
[operations.of_key]
kind = "query"
table = "idx"
params.k = { gen = "constant", type = "text", value = "x" }
sql.default = "SELECT k, chunk FROM {table} WHERE k = :k"
"""
STUDY = """
schema = 1
title = "Files"
question = "How fast do files go in?"
expect = "As fast as rows."
workload = "work.toml"
kind = "steps"
engines = ["duckdb", "sqlite"]
layout = "pk"
factors.way = ["server_file", "parsed"]
repeats = { count = 1, seed = 1, pilot = false }
answer = { kind = "comparison", of = "load.rows_per_s", along = "way", per = ["engine"] }
[[steps]]
name = "load"
do = "load"
table = "idx"
rows = { total = 20_003 }
sessions = 2
files = { way = "@way", count = 7 }
"""


def written(folder: Path, *changes: tuple[str, str], workload: str = WORKLOAD) -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "work.toml").write_text(workload)
    path = folder / "files.toml"
    path.write_text(text)
    return path


def run(path: Path, folder: Path) -> list[RunRecord]:
    return [each.run for each in analyse(study_record(Results(run_study_file(path, folder)))).runs]


def problems(path: Path) -> str:
    with pytest.raises(UsageError) as refused:
        study = load_study(str(path))
        plan_study(study, {engine: server(engine) for engine in study.engines})
    return str(refused.value)


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.ci
def test_every_row_of_every_file_is_stored_and_each_file_has_its_times(tmp_path: Path, plain: bool) -> None:
    workload = WORKLOAD.replace(r"x\t\\%", "x-%") if plain else WORKLOAD
    assert (workload != WORKLOAD) == plain
    runs = run(written(tmp_path, workload=workload), tmp_path)
    ways = {(r.labels["engine"], r.labels["factors"]["way"]): r for r in runs}
    # SQLite reads no files by itself, and DuckDB no escapes.
    assert set(ways) == {("duckdb", "parsed"), ("sqlite", "parsed")} | (
        {("duckdb", "server_file")} if plain else set()
    )
    for (_, way), record in ways.items():
        proofs = {row["item"]: row["holds"] for row in record.rows("proofs")}
        assert proofs["read_back"] and all(proofs.values()), proofs
        files = record.rows("files")
        assert len(files) == (FILES if way == "server_file" else 0)
        assert sum(f["rows"] for f in files) in (0, ROWS)
        assert {f["rows"] for f in files} <= {ROWS // FILES, ROWS // FILES + 1}
        assert all(f["start_ns"] < f["end_ns"] for f in files)
        assert sorted(f["file"] for f in files) == list(range(len(files)))
    if not plain:
        return
    (whole,) = ways["duckdb", "server_file"].rows("repetitions")
    files = ways["duckdb", "server_file"].rows("files")
    assert whole["bytes"] == sum(f["bytes"] for f in files) > 0
    assert (whole["ops"], whole["rows"]) == (FILES, ROWS)


@pytest.mark.slow
def test_files_are_made_once_for_all_runs_and_gone_at_the_end(tmp_path: Path) -> None:
    run(written(tmp_path, ("count = 1, seed = 1", "count = 2, seed = 1")), tmp_path)
    assert list((tmp_path / "results").rglob("*.tsv")) == []


def test_what_a_step_of_files_cannot_mean_is_said_at_once(tmp_path: Path) -> None:
    said = problems(
        written(
            tmp_path,
            ("sessions = 2", 'depth = 3\nfrom = "out"\noperation = "of_key"'),
            ("count = 7 }", 'count = 0, connect = "never", cold = 3 }'),
        )
    )
    for part in ("depth", "from", "operation", "count", "never", "cold"):
        assert part in said, said


def test_tables_and_counts_that_files_cannot_have_are_said_at_the_point(tmp_path: Path) -> None:
    said = problems(written(tmp_path, ('table = "idx"', 'table = "timed"'), ('layout = "pk"\n', "")))
    assert "engines read no t from the same text" in said
    assert "take fewer files" in problems(written(tmp_path, ("count = 7", "count = 20_004")))
    assert "write how many there are" in problems(written(tmp_path, (", count = 7", "")))


@pytest.mark.ci
def test_a_file_that_is_not_as_it_was_made_is_found_by_the_proof_and_made_anew_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any was made, one that is there is kept: what the engine stored of it is not what the generator made."""
    import inrush.run.one as one

    def damaged(plan, folder):  # type: ignore[no-untyped-def]
        placed = real(plan, folder)
        for segment in placed["segments"]:
            for of in segment.get("inputs", ()):
                # This holds other rows, and is one that inrush did not make.
                at = Path(of["folder"])
                at.mkdir(parents=True, exist_ok=True)
                (at / f"{of['name']}-000003.tsv").write_text("a\t1\t2\n" * (ROWS // FILES))
        return placed

    real = one.at_inputs
    monkeypatch.setattr(one, "at_inputs", damaged)
    changes = (('["duckdb", "sqlite"]', '["duckdb"]'), ('layout = "pk"\n', ""))
    path = written(tmp_path, *changes, workload=WORKLOAD.replace(r"x\t\\%", "x-%"))
    found = sorted(all(row["holds"] for row in record.rows("proofs")) for record in run(path, tmp_path))
    assert found == [False, True]
