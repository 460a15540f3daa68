"""What the tests of ClickHouse say of a server of 2018, said again of today's engine: chdb behind HTTP (chdb_server.py).

Skipped where there is no chdb, which `make chdb` gets; must run where real servers are required.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.engines.base.durability_level import Survives
from inrush.engines.base.instance import Target
from inrush.engines.servers import life, ports
from inrush.errors import UsageError
from inrush.targets.deployment import Deployment

from . import test_contract as contract
from . import test_load as loading
from . import test_load_any_type as any_type
from . import test_load_create as creating
from . import test_load_keys as keys
from . import test_load_proof as proving
from . import test_telemetry_queries as queries
from .servers import REQUIRE, control, scratch
from .test_contract import deployment
from .test_dialect_clickhouse import (
    CLICKHOUSE,
    namespace,
    test_a_database_of_the_users_is_refused_and_kept,
    test_a_table_can_be_emptied_and_dropped,
    test_partitions_that_are_too_old_go_and_no_others,
    test_probes_are_pairs_and_hold_what_is_asked_for,
    test_the_checksum_query_gives_what_the_rows_sum_to,
    test_what_is_not_there_is_dropped_without_complaint,
)
from .test_telemetry_queries import deployment as query_deployment
from .test_trouble import (
    test_a_failure_behind_the_first_rows_of_an_answer_is_a_failure,
    test_a_statement_that_gives_statements_runs_each_of_them,
)

__all__ = [
    "deployment",
    "namespace",
    "query_deployment",
    "table",
    "test_a_database_of_the_users_is_refused_and_kept",
    "test_a_failure_behind_the_first_rows_of_an_answer_is_a_failure",
    "test_a_statement_that_gives_statements_runs_each_of_them",
    "test_a_table_can_be_emptied_and_dropped",
    "test_partitions_that_are_too_old_go_and_no_others",
    "test_probes_are_pairs_and_hold_what_is_asked_for",
    "test_the_checksum_query_gives_what_the_rows_sum_to",
    "test_what_is_not_there_is_dropped_without_complaint",
]  # the same tests and their fixtures, on the server below

pytestmark = pytest.mark.ci
#: A Python that has chdb-core; else the one of `make chdb`.
PYTHON = "INRUSH_CHDB_PYTHON"
MADE = Path(__file__).parents[3] / ".chdb" / "bin" / "python"
SERVER = Path(__file__).with_name("chdb_server.py")
START_S = 60.0


@pytest.fixture(scope="module")
def clickhouse() -> Iterator[Target]:
    """In place of the server of 2018, for this file."""
    python = os.environ.get(PYTHON) or str(MADE)
    if not Path(python).exists():
        missing = f"no chdb here ({python}); `make chdb` gets it, {REQUIRE}=1 demands it"
        if os.environ.get(REQUIRE):
            pytest.fail(missing)
        pytest.skip(missing)
    with scratch() as path, served(python, path) as port:
        yield Target("clickhouse", f"clickhouse://default@127.0.0.1:{port}/default")


@contextlib.contextmanager
def served(python: str, path: Path) -> Iterator[int]:
    """Its port, until the end of the block."""
    port, log = ports.free_port(), path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen([python, SERVER, path / "data", str(port)], stdout=out, stderr=out)
    try:

        def ready() -> bool:
            return life.http_answer(port, "/ping")[0] == 200

        life.wait_for([life.Launched(process, log, 0, "chdb")], ready, START_S)
        yield port
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def table(clickhouse: Target) -> Iterator[str]:
    name = f"load_{random.randrange(1 << 40):x}"
    yield name
    control(clickhouse, f"DROP TABLE IF EXISTS {name}")


def test_the_engine_is_of_today(clickhouse: Target) -> None:
    ((version,),) = control(clickhouse, "SELECT version()")
    assert int(version.split(".")[0]) >= 26


def test_batches_are_collected_as_shipped_and_that_is_read_back(clickhouse: Target) -> None:
    """docs/engines.md says so: what a batch or a writer brings is another curve than that of 18.16."""
    detail = {str(k): str(v) for s in CLICKHOUSE.probes([]).settings for k, v in control(clickhouse, s)}
    assert (detail["async_insert"], detail["wait_for_async_insert"]) == ("1", "1")
    found = CLICKHOUSE.durability(detail)
    assert found.survives is Survives.PROCESS_CRASH and found.because["async_insert"] == "1"
    apart = Target("clickhouse", clickhouse.url, {"set.async_insert": "0"})
    (own,) = asked(apart, "SELECT value FROM system.settings WHERE name = 'async_insert'")
    assert own == ["0"]


def test_files_of_a_dropped_table_stay_unless_asked_to_go(clickhouse: Target) -> None:
    at_once = {"set.database_atomic_wait_for_drop_and_detach_synchronously": "1"}
    for name, options in (("kept_a_while", {}), ("gone_at_once", at_once)):
        here = Target("clickhouse", clickhouse.url, options)
        asked(here, f"CREATE DATABASE {name}; CREATE TABLE {name}.t (a Int8) ENGINE = MergeTree ORDER BY a")
        asked(here, f"DROP DATABASE {name}")
    left = control(clickhouse, "SELECT database FROM system.dropped_tables WHERE table = 't'")
    assert left == [["kept_a_while"]]


@pytest.mark.parametrize(("engine", "method"), [("clickhouse", m) for m in contract.WAYS["clickhouse"]])
def test_every_type_is_stored_proven_and_answered_right(
    engine: str, method: str, deployment: Deployment, folder: Path
) -> None:
    contract.test_every_type_is_stored_proven_and_answered_right(engine, method, deployment, folder)


@pytest.mark.parametrize("lie", contract.LIES)
@pytest.mark.parametrize("engine", ["clickhouse"])
def test_a_lie_about_rows_breaks_a_proof(engine: str, lie: str, deployment: Deployment, folder: Path) -> None:
    contract.test_a_lie_about_rows_breaks_a_proof(engine, lie, deployment, folder)


@pytest.mark.parametrize("engine", ["clickhouse"])
def test_a_lie_about_an_answer_is_wrong_and_has_no_latency(
    engine: str, deployment: Deployment, folder: Path
) -> None:
    contract.test_a_lie_about_an_answer_is_wrong_and_has_no_latency(engine, deployment, folder)


@pytest.mark.parametrize("engine", ["clickhouse"])
def test_a_statement_that_fails_ends_the_run_with_one_clear_line(
    engine: str, deployment: Deployment, folder: Path
) -> None:
    contract.test_a_statement_that_fails_ends_the_run_with_one_clear_line(engine, deployment, folder)


@pytest.mark.slow
@pytest.mark.parametrize("operation", queries.QUERIES)
@pytest.mark.parametrize("engine", ["clickhouse"])
def test_an_answer_is_the_oracles(
    engine: str, operation: str, query_deployment: Deployment, folder: Path
) -> None:
    queries.test_an_answer_is_the_oracles(engine, operation, query_deployment, folder)


def test_files_are_loaded_once(request: pytest.FixtureRequest, table: str, tmp_path: Path) -> None:
    loading.test_other_servers_are_loaded_once_too("clickhouse", request, table, tmp_path)


def test_columns_that_inrush_made_are_known_again(
    request: pytest.FixtureRequest, table: str, tmp_path: Path
) -> None:
    keys.test_columns_that_inrush_made_are_known_again_by_what_they_mean(
        "clickhouse", request, tmp_path, table
    )


def test_columns_without_a_null_take_none_here_too(clickhouse: Target, tmp_path: Path) -> None:
    for place in proving.database(clickhouse):
        creating.test_columns_without_a_null_take_none_and_rows_are_ordered_by_time_or_key(place, tmp_path)


def test_times_of_a_new_table_are_times_of_the_database(clickhouse: Target, tmp_path: Path) -> None:
    for place in proving.database(clickhouse):
        creating.check_times_of_today(place, tmp_path)


def test_times_that_its_type_would_lose_stay_whole_numbers(clickhouse: Target, tmp_path: Path) -> None:
    for place in proving.database(clickhouse):
        creating.check_far_times_stay_numbers(place, tmp_path)


def test_a_setting_that_the_engine_does_not_know_is_one_clear_line(clickhouse: Target) -> None:
    from inrush import _core

    wrong = Target("clickhouse", clickhouse.url, {"set.no_such_setting": "1"})
    with pytest.raises(_core.CoreFailure, match=r"no_such_setting.*set\.<name>"):
        asked(wrong, "SELECT 1")


def asked(target: Target, statement: str) -> list[list[Any]]:
    """Rows of one statement, with the target's options."""
    from inrush import _core

    document = {"engine": target.engine, "url": target.url, "options": dict(target.options)}
    rows: list[list[Any]] = json.loads(_core.control(json.dumps(document), statement, 30.0))["rows"]
    return rows


def test_a_table_of_any_types_is_loaded(clickhouse: Target, tmp_path: Path) -> None:
    for place in proving.database(clickhouse):
        any_type.clickhouse_s_types(place, any_type.CLICKHOUSE_NOW, tmp_path)
        # A number of them means seconds where rows are text.
        place.ask("CREATE TABLE u (at DateTime64(3, 'UTC'), d Decimal(9,2)) ENGINE = MergeTree ORDER BY at")
        (tmp_path / "u.csv").write_text("at,d\n2024-01-31 10:00:00.123,1.25\n")
        with pytest.raises(UsageError, match="no insert method takes its types together"):
            place.load([tmp_path / "u.csv"], tmp_path, table="u")
