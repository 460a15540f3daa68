"""Every query of the telemetry workload on every engine, against the oracle: on counters that stop at their width and
are cleared while the queries look at them."""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan.plan import plan_study
from inrush.run import oracle
from inrush.study.reading import parse_study
from inrush.study.shipped import SHIPPED
from inrush.study.toml import read_toml
from inrush.targets.deployment import Deployment

from .border import run

ENGINES = ("duckdb", "sqlite", "postgresql", "timescaledb", "clickhouse", "influxdb", "mysql", "mariadb")
#: Their texts are nearly those of PostgreSQL and MySQL.
SAME_DIALECT = ("timescaledb", "mariadb")
KEYS = 20
PORTS, SWEEPS, CLEARED_S = 200, 20, 7
#: An error counter of 32 bits that is full within a few sweeps, and the last value of such a one.
WIDE, FULL = "rcv_errors", 2**32 - 1
WORKLOAD = read_toml(SHIPPED / "telemetry" / "workload.toml")
QUERIES = tuple(
    name
    for name, o in WORKLOAD["operations"].items()
    if o["kind"] == "query" and "oracle" in o.get("holds", ())
)


def workload() -> dict[str, Any]:
    """Error counters that grow on every port, most of them up to their width, and are cleared every few sweeps; those
    of 32 bits come to their end too."""
    tree = copy.deepcopy(WORKLOAD)
    for column in tree["tables"]["port_errors"]["columns"]:
        if column["gen"] != "counter":
            continue
        column["reset_every_s"] = CLEARED_S
        column["idle_ppm"] = 100_000
        if column["increment"] == "burst":
            column |= {"probability_ppm": 400_000, "mean_size": 6}
        if column["name"] == WIDE:
            del column["probability_ppm"], column["mean_size"]
            column |= {
                "increment": "lognormal",
                "median_per_s": 1_000_000_000,
                "sigma": 0.5,
                "width_bits": 32,
            }
    waits = next(c for c in tree["tables"]["port_data_counters"]["columns"] if c["name"] == "xmit_wait")
    waits |= {"above_per_s": 100_000_000, "numerator": 4, "denominator": 1}
    return tree


def plan_of(engine: str, operation: str) -> Mapping[str, Any] | str:
    """The plan of a user who asks this alone; why not, where the engine cannot."""
    tree = read_toml(SHIPPED / "telemetry" / "queries.toml")
    del tree["scale"], tree["published"], tree["stop"]
    keys = {"keys_per_call": KEYS} if operation == "job_look" else {}
    tree |= {
        "engines": [engine],
        "sizes": {"ports": PORTS, "processes": 896, "jobs": 500},
        "load": {"rows": PORTS * SWEEPS},
        "factors": {"users": [1]},
        "schedule": {"mode": "closed", "measure_s": 0.2},
        "roles": {"users": {"operation": operation, "sessions": "@users", **keys}},
        "repeats": {"count": 1, "seed": 1},
    }
    study = parse_study(tree, workload(), name="queries", file="queries.toml", workload_file="workload.toml")
    found = plan_study(study, {engine: server(engine)})
    return found.runs[0].plan if found.runs else found.unsupported[0].reason


@pytest.fixture
def deployment(engine: str, operation: str, request: pytest.FixtureRequest) -> Iterator[Deployment]:
    planned = plan_of(engine, operation)
    if isinstance(planned, str):
        assert engine == "influxdb" and "InfluxQL" in planned
        pytest.skip(planned)
    local = server(engine).embedded
    deployment = Deployment(server(engine), Target(engine, "") if local else request.getfixturevalue(engine))
    yield deployment
    if not local:
        deployment.drop_leftover(planned)


@pytest.mark.ci
@pytest.mark.parametrize("operation", QUERIES)
@pytest.mark.parametrize(
    "engine", [pytest.param(e, marks=pytest.mark.slow if e in SAME_DIALECT else []) for e in ENGINES]
)
def test_an_answer_is_the_oracles(engine: str, operation: str, deployment: Deployment, folder: Path) -> None:
    planned = plan_of(engine, operation)
    assert not isinstance(planned, str)
    ran = run(deployment, planned, folder)
    assert ran.last["event"] == "finished", ran.last
    assert not ran.broken() and not ran.tables["failures"], ran.tables["failures"][:1]
    (verdict,) = oracle.verdicts(ran.plan, ran.tables["answers"], _core.generate)
    assert verdict.op == operation and verdict.holds, verdict
    rows = {cell["row"] for cell in ran.tables["answers"]}
    assert oracle.NO_ROW not in rows, "an answer without rows agrees with anything"
    if operation == "job_look":
        # 4,000 rows are eight sweeps of 500 jobs; a key drawn twice is one key.
        params = json.loads(ran.tables["answers"][0]["params"])
        assert len(params) == KEYS and len(rows) == 8 * len(set(params.values()))


# --- what these queries should say, by another way than SQL


def port_errors() -> list[dict[str, Any]]:
    return rows_of("pe_alert")


def rows_of(operation: str) -> list[dict[str, Any]]:
    """All rows of the table that an operation looks at."""
    import pyarrow as pa

    planned = plan_of("duckdb", operation)
    assert not isinstance(planned, str)
    (table,) = planned["tables"]
    rows = _core.generate(json.dumps(table), planned["seed"], planned["epoch_ns"], 0, PORTS * SWEEPS)
    found: list[dict[str, Any]] = pa.RecordBatchReader.from_stream(rows).read_all().to_pylist()
    return found


def asked(operation: str) -> list[tuple[Any, ...]]:
    """The oracle's answer to all rows."""
    planned = plan_of("sqlite", operation)
    assert not isinstance(planned, str)
    expected = planned["labels"]["oracle"]
    answering = oracle.Oracle(expected["engine"])
    (table,) = expected["tables"]
    document = planned["tables"][0]
    stream = _core.generate(json.dumps(document), planned["seed"], planned["epoch_ns"], 0, table["rows"])
    answering.create(table)
    answering.load(table, document, stream)
    statement = expected["operations"][operation]
    ends = {"t0": "2000-01-01T00:00:00Z", "t1": "2100-01-01T00:00:00Z"}
    return list(answering.ask(statement["text"], [ends[name] for name in statement["params"]]))


def test_the_counters_of_this_test_stop_at_their_width_and_fall() -> None:
    for column, full in (("link_integrity_errors", 15), (WIDE, FULL)):
        seen = by_port(port_errors(), column)
        assert any(a == b == full for counts in seen for a, b in pairwise(counts)), column
        assert any(b < a for counts in seen for a, b in pairwise(counts)), column
        assert max(map(max, seen)) == full
    # One rises beyond its width in all, over its clears: no sum may be kept in 32 bits.
    assert any(
        sum(max(0, b - a) for a, b in pairwise(counts)) > 2**32 for counts in by_port(port_errors(), WIDE)
    )
    waits = by_port(rows_of("pc_last"), "xmit_wait")
    assert any(counts[-1] == FULL for counts in waits) and any(
        0 < v < FULL for counts in waits for v in counts
    )


def by_port(rows: list[dict[str, Any]], column: str) -> list[list[int]]:
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row in rows:
        found[row["guid"], row["port"]].append(row[column])
    return list(found.values())


def rises() -> dict[tuple[int, int], list[int]]:
    """(guid, port) -> growth of each error counter: the sum of what it rose by from sweep to sweep."""
    before: dict[tuple[int, int], list[int]] = {}
    grown: dict[tuple[int, int], list[int]] = {}
    for row in port_errors():
        key = (row["guid"], row["port"])
        shown = [v for name, v in row.items() if name not in ("guid", "port", "added_on", "time_diff_s")]
        last = before.get(key, shown)
        so_far = grown.setdefault(key, [0] * len(shown))
        grown[key] = [s + max(0, now - then) for s, now, then in zip(so_far, shown, last, strict=True)]
        before[key] = shown
    return grown


def test_an_alert_tells_the_rises_of_a_counter_and_not_its_span() -> None:
    expected = {(*key, *by) for key, by in rises().items() if any(by)}
    assert set(asked("pe_alert")) == expected
    assert len(expected) > PORTS / 2


def test_the_worst_switches_are_those_whose_counters_rose_most() -> None:
    expected: dict[int, int] = defaultdict(int)
    for (guid, _port), by in rises().items():
        expected[guid] += sum(by)
    assert asked("pe_sum") == sorted(expected.items(), key=lambda of: (-of[1], of[0]))
