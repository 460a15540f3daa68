"""A role writes behind the rows of a load, on every kind of server, and by several client processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.engines.base.instance import Target
from inrush.results.store import Results
from tests.terminal import Inrush
from tests.test_filled_first import LOADED, STUDY, WORKLOAD, WRITTEN

from .small_studies import SERVERS

#: Statements of tables in SQL; of the others the writers alone are tried.
SQL = ("postgresql", "mysql", "mariadb", "clickhouse", "timescaledb")
READERS = STUDY[STUDY.index("[steps.roles.readers]") :]
EARLY = '[steps.roles.early]\noperation = "one"\nuntil = "writers"\n'
DEAR = ("mariadb", "timescaledb", "questdb", "influxdb", "valkey", "ndb")


def study_on(engine: str, folder: Path, more: str = "") -> Path:
    (folder / "work.toml").write_text(WORKLOAD)
    text = STUDY.replace('["sqlite", "duckdb"]', f'["{engine}"]\n{more}')
    if engine not in SQL or more:  # of several processes none knows what the others have written meanwhile
        text = text.replace(READERS, "").replace(EARLY, "")
    path = folder / "filled.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("engine", "more"),
    [
        *(
            pytest.param(engine, "", marks=[pytest.mark.slow] * (engine in DEAR), id=engine)
            for engine in SERVERS
        ),
        pytest.param("postgresql", "clients = 2", id="two processes"),
    ],
)
def test_rows_of_load_and_role_are_all_proven(
    request: pytest.FixtureRequest, inrush: Inrush, tmp_path: Path, engine: str, more: str
) -> None:
    there: Target = request.getfixturevalue(engine)
    done = inrush("run", str(study_on(engine, tmp_path, more)), there.url, "--json")
    # 3: this machine was too busy for a valid figure.
    assert done.code in (0, 3), done.err
    results = Results(Path(done.json["run_dir"]))
    run = next(r for r in results.runs if r.plan["labels"]["engine"] == engine)
    proofs = {row["item"]: row for row in run.table("proofs").to_pylist()}
    assert proofs and all(row["holds"] for row in proofs.values()), proofs
    (asked,) = {p["rows"] for s in run.plan["segments"] if s["kind"] == "proof" for p in s["proofs"]}
    assert asked == LOADED + WRITTEN
    counts = {row["role"]: row for row in run.table("repetitions").to_pylist()}
    assert (counts["fill"]["rows"], counts["mixed.writers"]["rows"]) == (LOADED, WRITTEN)
    assert not any(row["errors"] or row["wrong"] for row in counts.values()), counts
