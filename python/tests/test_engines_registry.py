"""The list of engines: one in Python, one in Rust, equal."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from inrush import _core
from inrush.engines import ENGINES, engine_of_url, server, title, twins
from inrush.engines.base.plans import OpPlan, Unsupported
from inrush.engines.base.twin import Twin
from inrush.errors import UsageError
from inrush.load.shards import loading_of
from inrush.targets.deployment import lifecycle_of
from inrush.targets.shards import cluster_of
from inrush.workload import Column, Operation, Table

KNOWN_ENGINES = Path(__file__).parents[2] / "rust" / "engines" / "src" / "engine" / "known.rs"


def test_rust_and_python_list_the_same_engines() -> None:
    found = re.search(r"const KNOWN: \[Known; \d+\] = \[(.*?)\n\];", KNOWN_ENGINES.read_text(), re.DOTALL)
    assert found, "rust/engines/src/engine/known.rs lists its engines in KNOWN"
    assert re.findall(r'name: "([a-z]+)"', found[1]) == sorted(ENGINES)
    assert sorted(_core.engines()) == sorted(ENGINES)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_a_twin_of_its_name(engine: str) -> None:
    twin = server(engine)
    assert isinstance(twin, Twin) and twin.name == engine
    assert twin.methods and twin.schemes


@pytest.mark.parametrize("engine", [e for e in ENGINES if e not in ("null", "simulated")])
def test_an_engine_has_a_name_for_sentences_and_an_unknown_one_keeps_its_own(engine: str) -> None:
    assert title(engine) != engine and title(engine).lower() == engine
    assert (title("null"), title("null:text"), title("oracle")) == ("null", "null:text", "oracle")


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_are_compared_with_duckdb_and_those_of_duckdb_with_sqlite(engine: str) -> None:
    named = server(engine).oracle
    assert named == ("sqlite" if engine == "duckdb" else "duckdb")
    assert server(named).in_memory is not None


#: What inrush can do with each engine, beside what its dialect says.
PARTS: dict[str, set[str]] = {
    "null": set(),
    "simulated": set(),
    "sqlite": {"loading", "in_memory"},
    "duckdb": {"loading", "in_memory"},
    "adbc": set(),
    "device": set(),
    "postgresql": {"lifecycle", "cluster", "loading"},
    "timescaledb": {"lifecycle", "cluster", "loading"},
    "clickhouse": {"lifecycle", "cluster", "loading"},
    "mysql": {"lifecycle", "loading"},
    "mariadb": {"lifecycle", "loading"},
    "influxdb": {"lifecycle"},
    "ndb": {"lifecycle"},
    "valkey": {"lifecycle"},
    "questdb": {"lifecycle"},
}


def parts_of(engine: str) -> dict[str, object]:
    twin = server(engine)
    names = ("lifecycle", "cluster", "loading", "in_memory")
    return {name: part for name in names if (part := getattr(twin, name)) is not None}


def test_each_engine_has_its_parts_and_no_others() -> None:
    assert {engine: set(parts_of(engine)) for engine in ENGINES} == PARTS


@pytest.mark.parametrize("engine", ENGINES)
def test_no_two_engines_share_a_lifecycle_and_each_has_the_names_of_its_twin(engine: str) -> None:
    lifecycle = server(engine).lifecycle
    if lifecycle is not None:
        assert (lifecycle.name, lifecycle.title) == (engine, title(engine))
        assert urlsplit(lifecycle.url_of(4711)).scheme in server(engine).schemes


@pytest.mark.parametrize("engine", ENGINES)
def test_a_part_that_an_engine_lacks_is_refused_by_the_engines_name(engine: str) -> None:
    twin, lacks = server(engine), {"lifecycle", "cluster", "loading"} - PARTS[engine]
    asked = {"lifecycle": lifecycle_of, "cluster": cluster_of, "loading": loading_of}
    says = {
        "lifecycle": f"{engine}: this engine is no server that inrush could fetch, start or stop",
        "cluster": f"{engine}: servers of this kind have no coordinator; leave shards= out",
        "loading": f"{engine}: inrush load does not prove its tables",
    }
    for part, of in asked.items():
        if part in lacks:
            with pytest.raises(UsageError, match=f"^{re.escape(says[part])}$"):
                of(twin)
        else:
            assert of(twin) is getattr(twin, part)


def test_no_scheme_means_two_engines() -> None:
    schemes = [s for engine in ENGINES for s in server(engine).schemes]
    assert len(set(schemes)) == len(schemes)


@pytest.mark.parametrize("module", sorted(set(ENGINES.values())))
def test_every_twin_of_a_module_is_listed(module: str) -> None:
    """Variants of one have a twin of their own where they plan as another engine."""
    engines = {name for name in twins(module) if ":" not in name}
    assert engines == {e for e, m in ENGINES.items() if m == module}


def test_null_with_ndbs_records_plans_calls_by_key_as_ndb_does_and_other_wires_as_the_floor() -> None:
    table = Table("t", (Column("k", "u64", {"kind": "sequence"}), Column("v", "f64")), identity=("k",))
    operation = Operation("look", "key", table="t", does="read", params={"k": {"type": "u64", "gen": {}}})
    of = {name: server(name) for name in ("null", "null:text", "null:record", "ndb")}
    planned = {name: twin.plan_table(table, "pk", "home") for name, twin in of.items()}
    assert planned["null:record"].wire == planned["ndb"].wire == {"k": "Bigunsigned", "v": "Double"}
    assert planned["null:text"].wire == planned["null"].wire == {"k": "", "v": ""}
    assert planned["null:record"].create == ()
    calls = {name: twin.plan_row_call(operation, table, planned[name]) for name, twin in of.items()}
    assert isinstance(record := calls["null:record"], OpPlan) and isinstance(floor := calls["null"], OpPlan)
    assert record.directives["record"] == {"does": "read", "table": "t", "columns": ("k",)}
    assert floor.directives is None and calls["null:text"] == floor
    lists = Table("t", (Column("k", "u64"), Column("v", "list_f64", {"kind": "array"})), identity=("k",))
    refused = of["null:record"].plan_table(lists, "pk", "home")
    assert "it has no lists" in refused.takes_no_rows
    insert = Operation("put", "insert", table="t")
    assert isinstance(of["null:record"].plan_operation(insert, "bulk", {"t": refused}), Unsupported)
    assert isinstance(of["null"].plan_operation(insert, "bulk", {"t": planned["null"]}), OpPlan)


def test_a_url_names_its_engine_by_its_scheme() -> None:
    assert engine_of_url("postgresql://u@h/db") == "postgresql"
    assert engine_of_url("sqlite:///file.db") == "sqlite"
    with pytest.raises(UsageError, match="no engine speaks oracle"):
        engine_of_url("oracle://h")
    with pytest.raises(
        UsageError, match=r"/tmp/x\.db: this is no URL; .* sqlite:///tmp/x\.db or duckdb:///tmp/x\.db"
    ):
        engine_of_url("/tmp/x.db")


def test_an_unknown_engine_is_met_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="did you mean postgresql"):
        server("postgres1ql")
    with pytest.raises(UsageError, match="one of"):
        server("zzz")
    with pytest.raises(UsageError):
        server("sqlite:text")
