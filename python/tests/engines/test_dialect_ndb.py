"""What is particular to NDB: types, refusals, actions in place of statements. Pure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.durability_level import Survives
from inrush.engines.base.instance import Instance, Release, Target
from inrush.engines.base.plans import OpPlan, Unsupported
from inrush.engines.ndb import Ndb, bytes_of, refusal, wire_of
from inrush.engines.servers.client_libraries import NDB as LIBRARY
from inrush.engines.servers.client_libraries import NDB_NAMED
from inrush.targets.deployment import Deployment
from inrush.workload import Column, Operation, Table

NDB = Ndb()


def table(*columns: Column, identity: tuple[str, ...] = ("k",)) -> Table:
    return Table("t", (Column("k", "u64", {"kind": "sequence"}), *columns), identity=identity)


def action(statement: Any) -> dict[str, Any]:
    found: dict[str, Any] = statement["directives"]["ndb"]
    return found


def text(**gen: Any) -> Column:
    return Column("v", "text", {"kind": "text", **gen})


@pytest.mark.parametrize(
    ("column", "wire"),
    [
        (Column("v", "bool"), "Tinyunsigned"),
        (Column("v", "u32"), "Unsigned"),
        (Column("v", "time_us"), "Bigint"),
        (Column("v", "f32"), "Float"),
        (Column("v", "uuid"), "Binary(16)"),
        (text(max_bytes=40), "Varbinary(40)"),
        (text(max_bytes=300), "Longvarbinary(300)"),
        (text(), "Varbinary(255)"),
        (Column("v", "text", {"kind": "categorical", "values": ["é", "abc"]}), "Varbinary(3)"),
        (Column("v", "text", {"kind": "constant", "value": "éé"}), "Varbinary(4)"),
        (Column("v", "text", {"kind": "text"}, chars=160, charset="latin1"), "Binary(160)"),
        (Column("v", "text", {"kind": "text"}, chars=10), "Varbinary(40)"),
        (Column("v", "decimal"), None),
        (Column("v", "list_i64"), None),
    ],
)
def test_a_column_has_a_type_of_ndb_that_holds_what_its_generator_makes(
    column: Column, wire: str | None
) -> None:
    assert wire_of(column) == wire


def test_a_table_is_made_with_its_identity_as_key_and_emptied_by_being_made_again() -> None:
    planned = NDB.plan_table(
        table(Column("v", "i32", {"kind": "uniform"}, 0.5), Column("w", "f64", {"kind": "uniform"})),
        "",
        "home",
    )
    (create,) = planned.create
    assert action(create) == {
        "kind": "create_table",
        "table": "home.t",
        "columns": [
            {"name": "k", "wire": "Bigunsigned", "key": True},
            {"name": "v", "wire": "Int", "nullable": True},
            {"name": "w", "wire": "Double"},
        ],
    }
    drop = {"kind": "drop_table", "table": "home.t"}
    assert [action(s) for s in planned.fresh] == [drop, action(create)]
    assert [action(s) for s in planned.drop] == [drop]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (table(Column("v", "decimal", {"kind": "decimal"})), "column v is of type decimal"),
        (table(Column("v", "list_f64", {"kind": "array"})), "it has no lists"),
        (table(identity=()), "give the table an identity"),
        (table(*(Column(f"c{k}", "i32", {"kind": "uniform"}) for k in range(512))), "513 columns"),
        (table(*(text(max_bytes=12_000) for _ in range(3))), "NDB takes 30,000"),
    ],
)
def test_a_table_that_ndb_cannot_hold_takes_no_rows_and_says_why(made: Table, why: str) -> None:
    planned = NDB.plan_table(made, "", "home")
    assert why in planned.takes_no_rows and "\n" not in planned.takes_no_rows
    assert planned.create == ()
    insert = NDB.plan_operation(Operation("insert", "insert", table="t"), "bulk", {"t": planned})
    assert insert == Unsupported(planned.takes_no_rows)


def test_the_largest_row_counts_whole_words() -> None:
    assert [bytes_of(w) for w in ("Tinyint", "Bigint", "Binary(9)", "Varbinary(9)")] == [4, 8, 12, 16]
    wire = {"k": "Bigunsigned"}
    assert refusal(table(), wire) == ""


def test_an_insert_is_a_batch_and_a_statement_is_refused_with_what_to_write() -> None:
    tables = {"t": NDB.plan_table(table(), "", "home")}
    assert NDB.plan_operation(Operation("i", "insert", table="t"), "bulk", tables) == OpPlan("home.t", "bulk")
    refused = NDB.plan_operation(Operation("q", "query", table="t", sql={"default": "SELECT 1"}), "", tables)
    assert isinstance(refused, Unsupported) and "of kind `key`" in refused.reason
    other = NDB.plan_operation(Operation("i", "insert", table="t"), "multirow", tables)
    assert isinstance(other, Unsupported) and "bulk" in other.reason


def test_a_call_by_key_is_a_record_without_a_text() -> None:
    made = table(Column("v", "i32", {"kind": "uniform"}))
    planned = NDB.plan_table(made, "", "home")
    read = Operation("r", "query", does="read", table="t", params={"k": {}})
    record = {"does": "read", "table": "home.t", "columns": ("k",)}
    assert NDB.plan_row_call(read, made, planned) == OpPlan("", params=("k",), directives={"record": record})
    keyless = NDB.plan_table(table(identity=()), "", "home")
    assert NDB.plan_row_call(read, made, keyless) == Unsupported(keyless.takes_no_rows)


def test_a_proof_reads_every_row() -> None:
    planned = NDB.plan_table(table(), "", "home")
    proof = NDB.proof(table(), planned)
    assert proof.items == ({"kind": "rows"},)
    assert proof.checksum_directives == {"ndb": {"kind": "count", "table": "home.t"}}
    assert proof.read_back_directives == {"ndb": {"kind": "scan", "table": "home.t"}}


@pytest.mark.parametrize(
    ("settings", "survives", "window_s"),
    [
        ({"replicas": "2", "logging": "true"}, Survives.PROCESS_CRASH, 0),
        ({"replicas": "2", "logging": "true", "TimeBetweenGlobalCheckpoints": "2000"}, Survives.PROCESS_CRASH, 4),
        ({"replicas": "2", "logging": "true", "timebetweenglobalcheckpoints": "500"}, Survives.PROCESS_CRASH, 1),
        # Rows of any age are lost.
        ({"replicas": "2", "logging": "false", "TimeBetweenGlobalCheckpoints": "2000"}, Survives.PROCESS_CRASH, 0),
        ({"replicas": "3"}, Survives.PROCESS_CRASH, 0),
        ({"replicas": "1", "logging": "true", "TimeBetweenGlobalCheckpoints": "2000"}, Survives.NOTHING, 4),
        ({"TimeBetweenGlobalCheckpoints": "2000"}, Survives.NOTHING, 0),
        ({}, Survives.NOTHING, 0),
    ],
)  # fmt: skip
def test_a_row_survives_a_node_where_its_group_has_another(
    settings: dict[str, str], survives: Survives, window_s: float
) -> None:
    found = NDB.durability(settings)
    assert (found.survives, found.window_s) == (survives, window_s)
    assert dict(found.because) == settings


@pytest.mark.parametrize(
    ("asked", "window_s"), [({}, 4), ({"timebetweenglobalcheckpoints": "700"}, 1.4), (None, 0)]
)
def test_what_no_cluster_says_of_itself_is_what_inrush_started_it_with(
    asked: dict[str, str] | None, window_s: float, tmp_path: Path
) -> None:
    """Of a cluster of another's it is not known."""
    target = Target("ndb", "ndb://localhost/")
    if asked is not None:
        release = Release("ndb", "9.7.2", tmp_path)
        target = replace(
            target, instance=Instance("ndb", tmp_path, "", 1, 1, tmp_path / "log", release, asked)
        )
    found = Deployment(server("ndb"), target).durability({"replicas": "2", "logging": "true"}, tmp_path)
    assert (found.survives, found.window_s) == (Survives.PROCESS_CRASH, pytest.approx(window_s))


def test_the_library_of_the_variable_goes_to_the_core_and_an_option_comes_before_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    named = tmp_path / LIBRARY
    monkeypatch.setenv(NDB_NAMED, str(named))
    target = Target("ndb", "ndb://localhost/")
    assert NDB.run_target(target, tmp_path).options == {"library": str(named)}
    own = Target("ndb", "ndb://localhost/", {"library": "mine.so"})
    assert NDB.run_target(own, tmp_path).options == {"library": "mine.so"}
    assert server("ndb").name == "ndb"
