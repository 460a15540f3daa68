"""What tests are made of: a server that plans like a real one, study trees, and mutations of them."""

from __future__ import annotations

import copy
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.checksum import checksum_items as items_of
from inrush.engines.base.durability_level import Durability, Survives
from inrush.engines.base.plans import OpPlan, Probes, Proof, TablePlan, Unsupported
from inrush.engines.base.sql import insert_one_row, quote, statement
from inrush.engines.base.twin import Twin
from inrush.engines.device import DeviceFile
from inrush.study.shipped import SHIPPED
from inrush.study.study import Known
from inrush.study.toml import read_toml
from inrush.workload import Operation, Table

#: For commands run as a user runs them, from another folder.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SHIPPED.parents[1])}

METHODS = {"duckdb": ("bulk", "multirow"), "sqlite": ("bulk", "multirow"), "postgresql": ("copy", "multirow")}
KNOWN = Known(
    engines={
        **METHODS,
        "device": ("bulk",),
        "mysql": ("load", "multirow"),
        "mariadb": ("bulk", "load", "multirow"),
        "ndb": ("bulk",),
    }
)


class FakeServer(Twin):
    """Plans plain SQL for an engine that is not there."""

    schemes = ("fake",)

    def __init__(
        self,
        name: str = "duckdb",
        methods: Sequence[str] = ("bulk", "multirow"),
        max_writers: int | None = None,
        embedded: bool = False,
    ):
        self.name = name  # type: ignore[misc]
        self.methods = tuple(methods)  # type: ignore[misc]
        self.max_writers = max_writers  # type: ignore[misc]
        self.embedded = embedded  # type: ignore[misc]

    def open_namespace(self, namespace: str) -> tuple[str, ...]:
        return (f"CREATE SCHEMA {namespace}",)

    def drop_namespace(self, namespace: str) -> tuple[str, ...]:
        return (f"DROP SCHEMA IF EXISTS {namespace} CASCADE",)

    def plan_table(self, table: Table, layout: str, namespace: str) -> TablePlan:
        name = f"{namespace}.{quote(table.name)}"
        columns = ", ".join(f"{quote(c.name)} {c.type}" for c in table.columns)
        indexes = [f"CREATE INDEX ON {name} ({', '.join(i)})" for i in table.layouts[layout]]
        return TablePlan(
            name=name,
            create=(f"CREATE TABLE {name} ({columns})", *indexes),
            fresh=(f"TRUNCATE {name}",),
            drop=(f"DROP TABLE {name}",),
            wire={c.name: c.type for c in table.columns},
        )

    def plan_operation(
        self, operation: Operation, method: str, tables: Mapping[str, TablePlan], batch_rows: int = 0
    ) -> OpPlan | Unsupported:
        if operation.kind != "insert":
            return statement(operation, self.name, tables)
        assert operation.table is not None
        plan = tables[operation.table]
        return OpPlan(text=insert_one_row(plan.name, tuple(plan.wire)), method=method)

    def proof(self, table: Table, plan: TablePlan) -> Proof:
        return Proof(
            checksum_query=f"SELECT {len(items_of(table, False))} FROM {plan.name}",
            items=items_of(table, False),
            read_back=f"SELECT * FROM {plan.name}",
        )

    def probes(self, tables: Sequence[TablePlan]) -> Probes:
        return Probes(sizes=("SELECT sizes",), counters=("SELECT counters",), settings=("SELECT settings",))

    def durability(self, settings: Mapping[str, str]) -> Durability:
        return Durability(Survives.NOTHING)


def fake_servers() -> dict[str, Twin]:
    return {
        "duckdb": FakeServer("duckdb"),
        "sqlite": FakeServer("sqlite", max_writers=1),
        "postgresql": FakeServer("postgresql", ("copy", "multirow")),
    }


def embedded_servers() -> dict[str, Twin]:
    """The same, of which two run in the client's process: a study may have them cold; and a file, which needs no server."""
    return {
        **fake_servers(),
        "duckdb": FakeServer("duckdb", embedded=True),
        "sqlite": FakeServer("sqlite", max_writers=1, embedded=True),
        "device": DeviceFile(),
        "mysql": server("mysql"),
        "mariadb": server("mariadb"),
        "ndb": server("ndb"),
    }


def shipped_files() -> list[Path]:
    return sorted(p for p in SHIPPED.glob("*/*.toml") if not p.stem.endswith("workload"))


def each_family_first() -> list[Any]:
    """Parameters: the files of shipped studies, of which the first of each family runs by default."""
    first = {path.parent: path for path in reversed(shipped_files())}
    return [
        pytest.param(path, id=path.stem, marks=[] if path in first.values() else pytest.mark.ci)
        for path in shipped_files()
    ]


def workload_tree(family: str = "telemetry") -> dict[str, Any]:
    return read_toml(SHIPPED / family / "workload.toml")


def small_tree(**changes: Any) -> dict[str, Any]:
    """A valid study of one factor; keys of `changes` replace its own."""
    tree: dict[str, Any] = {
        "schema": 1,
        "title": "Small",
        "question": "How small?",
        "expect": "Very.",
        "workload": "telemetry",
        "kind": "fixed_volume",
        "engines": ["duckdb", "sqlite"],
        "factors": {"batch_rows": [200, 500, 1000]},
        "roles": {
            "writers": {
                "operation": "insert",
                "table": "port_errors",
                "batch_rows": "@batch_rows",
                "rows": {"total": 5000},
            },
            "readers": {"operation": "pe_alert", "sessions": 2, "until": "writers"},
        },
        "repeats": {"count": 3, "seed": 7},
        "stop": [{"along": "batch_rows", "above": {"writers.makespan_s": 90}}],
    }
    return tree | changes


# --- mutations -------------------------------------------------------------------------------------------

ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**63, 10**40, -(2**70), 0.5, float("nan"), float("inf"), 1e300, "", " ", "@", "@batch_rows",
    "@nothing.at.all", "telemetry", "duckdb", "x" * 5000, "ü\u0000\u202e", [], [[]], [1, 1], ["a", 3], {}, {"": 1},
    {"total": -1}, {"total": 5, "per_session": 5}, {"best_of": 3}, {"name": 1}, {"gen": "now_minus"}, [{}],
)  # fmt: skip


def mutated_bytes(raw: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, dropped, doubled or moved."""
    data = bytearray(raw)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data))
        match rng.randrange(5):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                del data[at : at + rng.randint(1, 40)]
            case 2:
                data[at:at] = data[at : at + rng.randint(1, 80)]
            case 3:
                data[at:at] = rng.choice(
                    [b"[", b"]]", b'"', b"=", b"{ ", b"\n[[stop]]\n", b"0x", b"1e999", b"@"]
                )
            case 4:
                other = rng.randrange(len(data))
                data[at], data[other] = data[other], data[at]
        if not data:
            data = bytearray(b"#")
    return bytes(data)


def mutated_tree(tree: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """A few values replaced by odd ones, keys renamed or dropped, lists grown or cut."""
    result: dict[str, Any] = copy.deepcopy(dict(tree))
    for _ in range(rng.randint(1, 4)):
        places = list(places_in(result))
        holder, key = rng.choice(places)
        match rng.randrange(4):
            case 0:
                holder[key] = copy.deepcopy(rng.choice(ODD_VALUES))
            case 1:
                del holder[key]
            case 2 if isinstance(holder, dict):
                holder[rng.choice([f"{key}x", key.upper(), "", "name", "rows"])] = holder.pop(key)
            case _:
                donor, other = rng.choice(places)
                if other in donor if isinstance(donor, dict) else other < len(donor):
                    holder[key] = copy.deepcopy(donor[other])
        if not result:
            result = {"schema": 1}
    return result


def places_in(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        own: list[tuple[Any, Any]] = [(value, key) for key in value]
        return own + [place for child in value.values() for place in places_in(child)]
    if isinstance(value, list):
        own = [(value, i) for i in range(len(value))]
        return own + [place for child in value for place in places_in(child)]
    return []


def with_factor(folder: Path, factor: str, key: str) -> str:
    """A study file like pipeline-parallel, whose [pipeline] takes `key` from a factor more, given as a line of TOML."""
    text = (SHIPPED / "pipeline" / "parallel.toml").read_text()
    text = text.replace(
        "\n[pipeline]\n", f'factors.{factor}\n\n[pipeline]\n{key} = "@{factor.split()[0]}"\n', 1
    )
    (folder / "varied.toml").write_text(text)
    return str(folder / "varied.toml")
