"""Whole files loaded by every method of a server: every byte of odd texts, one connection or one for each file; a rebuild."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.analysis.verdicts import Outcome
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from tests.test_step_files import FILES, ROWS, written

from .test_steps_servers import analysed, leftovers, run, run_loaded, verdict
from .test_steps_servers import own as own_server_of_a_test

own = own_server_of_a_test


@pytest.mark.ci
@pytest.mark.parametrize("own", ("postgresql", "mysql", "clickhouse"), indirect=True)
def test_files_go_in_as_they_are_by_every_way_of_a_server(own: Deployment, folder: Path) -> None:
    """The folder is one that the server's user may enter."""
    ways = own.server.file_methods
    values = ", ".join(f'"{way}"' for way in ways)
    path = written(
        folder,
        ('["duckdb", "sqlite"]', f'["{own.server.name}"]'),
        ('["server_file", "parsed"]', f'[{values}]\nfactors.connect = ["once", "each_file"]'),
        ("count = 7 }", 'count = 7, connect = "@connect" }'),
    )
    if own.server.name == "mysql":
        path.write_text(path.read_text() + '[options.mysql]\n"set.unique_checks" = "0"\n')
    end, results = run(path, own)
    assert not end.failed, end.failed
    found = analysed(results)
    assert len(found.runs) == 2 * len(ways)
    for each in found.runs:
        proofs = {row["item"]: row["holds"] for row in each.run.rows("proofs")}
        assert proofs["read_back"] and all(proofs.values()), proofs
        files = each.run.rows("files")
        assert (len(files), sum(f["rows"] for f in files)) == (FILES, ROWS)
        assert each.figures["load.rows"] == ROWS
    assert leftovers(own) == []


@pytest.mark.slow
@pytest.mark.parametrize(("own", "limit_s"), [("mysql", 0.2), ("mysql", 600)], indirect=["own"])
def test_a_rebuild_that_its_limit_cuts_leaves_the_table_as_it_was_and_nothing_beside_it(
    own: Deployment, folder: Path, limit_s: float
) -> None:
    overrides = (
        f"steps.optimize.limit_s={limit_s}", "files_by=chunk", "steps.load.rows.total=300000", "repeats.count=1",
        "repeats.pilot=false",
    )  # fmt: skip
    study = load_study("bulkindex-optimize", "xs", overrides, engines=("mysql",))
    end, results = run_loaded(study, folder, own)
    assert not end.failed, end.failed
    found = analysed(results)
    (each,) = found.runs
    (row,) = each.run.rows("steps")
    assert verdict(found, "rows proven").outcome is Outcome.PASS
    assert leftovers(own) == [] and not [*folder.rglob("#sql*.ibd")], "no copy of a table that was begun"
    loaded, after = each.figures["load.bytes_per_row"], each.figures["optimize.bytes_per_row"]
    if limit_s < 1:
        assert row["ended_by"] == "limit", str(row)
        said = verdict(found, "ended as planned")
        assert said.outcome is Outcome.INVALID and said.breaks("optimize.duration_s")
        assert after == pytest.approx(loaded, rel=0.05)
    else:
        assert row["ended_by"] == "work" and after < 0.9 * loaded, "its pages are full"


@pytest.mark.slow
@pytest.mark.parametrize("own", ("mysql",), indirect=True)
def test_a_variable_that_a_server_does_not_know_ends_the_run_with_its_name(
    own: Deployment, folder: Path
) -> None:
    path = written(
        folder, ('["duckdb", "sqlite"]', '["mysql"]'), ('["server_file", "parsed"]', '["client_file"]')
    )
    path.write_text(path.read_text() + '[options.mysql]\n"set.unique_chicks" = "0"\n')
    end, _ = run(path, own)
    assert "unique_chicks" in str(end.failed)


@pytest.mark.slow
@pytest.mark.parametrize("own", ("mysql",), indirect=True)
def test_the_four_phases_of_the_look_up_test_with_more_rows_behind_the_first(
    own: Deployment, folder: Path
) -> None:
    calls = {"first": 100, "single": 500, "listed": 20, "pipelined": 500, "updated": 500}
    overrides = (
        "rows=20000", "repeats.count=1", "repeats.pilot=false", *(f"steps.{step}.calls={n}" for step, n in calls.items()),
    )  # fmt: skip
    study = load_study("bulkindex-lookup", "xs", overrides, engines=("mysql",))
    end, results = run_loaded(study, folder, own)
    assert not end.failed, end.failed
    found = analysed(results)
    (each,) = found.runs
    proofs = {row["item"]: row["holds"] for row in each.run.rows("proofs")}
    assert proofs["read_back"] and all(proofs.values()), proofs
    rows = {row["role"]: (row["rows"], row["errors"]) for row in each.run.rows("repetitions")}
    assert (rows["init"], rows["update"]) == ((20_000, 0), (2_000, 0))
    assert rows.keys() == {"init", "update", *calls}
    for step, n in calls.items():
        assert rows[step][1] == 0, step
        # A key that a list has twice has one row.
        least, most = (1_900, 2_000) if step == "listed" else (n, n)
        assert least <= rows[step][0] <= most, step
    assert {study.answer.of, *study.answer.asked} <= each.figures.keys()
    assert "steps_left_out" not in each.run.labels
    assert leftovers(own) == []
