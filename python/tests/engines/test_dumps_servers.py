"""Dumps out of servers by each of their ways, loaded back, and the death of the worker in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.analysis.verdicts import Outcome
from inrush.engines import server
from inrush.targets.deployment import Deployment
from tests.extracting import ALL_TYPES
from tests.test_dumps_run import ODD_NUMBERS, ROWS, SMALL, with_columns, write_study

from .servers import each_kind
from .test_steps_servers import ENGINES, KillWorker, analysed, leftovers, run, verdict
from .test_steps_servers import own as own_server_of_a_test

own = own_server_of_a_test


def study_on(engine: str, folder: Path, way: str) -> Path:
    fetched = "\nfetch_rows = 3_000" if way == "cursor" else ""
    return write_study(
        folder,
        ('["sqlite", "duckdb"]', f'["{engine}"]'),
        ('by = "@by"', f'by = "@by"\nmethod = "{way}"{fetched}'),
    )


WAYS = [(engine, way) for engine in ENGINES for way in server(engine).ways_out]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("own", "way"), each_kind(WAYS, {("mysql", "text"), ("mysql", "cursor")}), indirect=["own"]
)
def test_a_table_comes_back_from_its_files_by_every_way_out(own: Deployment, folder: Path, way: str) -> None:
    end, results = run(study_on(own.server.name, folder, way), own)
    assert not end.failed
    found = analysed(results)
    assert len(found.runs) == 2  # by key, by time
    for each in found.runs:
        assert each.figures["out.rows"] == each.figures["back.rows"] == ROWS
        assert each.figures["out.files"] == 4
        proofs = {row["item"]: row["holds"] for row in each.run.rows("proofs")}
        assert proofs["dump/out"] and all(proofs.values()), proofs
    assert verdict(found, "rows proven").outcome is Outcome.PASS
    assert leftovers(own) == []


@pytest.mark.slow
@pytest.mark.parametrize("own", ENGINES, indirect=True)
def test_values_of_every_type_come_back_from_files_of_a_server(own: Deployment, folder: Path) -> None:
    path = write_study(folder, ('["sqlite", "duckdb"]', f'["{own.server.name}"]'), *SMALL)
    # MySQL keeps neither NaN nor infinities.
    odd = "" if own.server.name == "mysql" else ODD_NUMBERS
    (folder / "work.toml").write_text(with_columns(ALL_TYPES + odd))
    end, results = run(path, own)
    assert not end.failed, end.failed
    (each,) = analysed(results).runs
    assert each.figures["out.rows"] == each.figures["back.rows"] == 2_000
    proofs = {row["item"]: row["holds"] for row in each.run.rows("proofs")}
    assert {"dump/out", "rows", "read_back"} <= set(proofs) and all(proofs.values()), proofs


@pytest.mark.slow
@pytest.mark.parametrize("own", ("postgresql",), indirect=True)
def test_a_worker_that_is_killed_in_a_dump_or_in_a_load_from_it_costs_its_run_alone(
    own: Deployment, folder: Path
) -> None:
    for step in ("out", "back"):
        place = folder / step
        place.mkdir()
        path = study_on("postgresql", place, "copy")
        end, results = run(path, own, listener=KillWorker(step, own))
        assert ["was killed by SIGKILL" in said for said in end.failed.values()] == [True], step
        assert leftovers(own) == [] and not list((place / "results").rglob("*.csv")), step
        end, results = run(path, own, results)
        assert not end.failed, step
        for each in analysed(results).runs:
            assert each.figures["out.rows"] == each.figures["back.rows"] == ROWS
            assert all(row["holds"] for row in each.run.rows("proofs"))
