"""Records by their key beside peers: what a round comes to, and that nothing wrong has a rate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from benches.bench import needs
from benches.keylookups import cluster, race


def tables(**changed: Any) -> dict[str, list[Any]]:
    """Of a run with a load, one key a call for 2 s, and lists of four keys for 1 s."""
    ns = 10**9

    def totals(role: str, ok: int, seconds: int) -> dict[str, Any]:
        return {
            "role": role,
            "ok": ok,
            "ops": ok,
            "errors": 0,
            "start_ns": 5 * ns,
            "end_ns": (5 + seconds) * ns,
        }

    def latency(role: str) -> dict[str, Any]:
        return {
            "role": role, "kind": "latency", "grouping_power": 7, "bucket": [100, 200], "count": [99, 1],
            "min_ns": 100, "max_ns": 200, "sum_ns": 0,
        }  # fmt: skip

    def cpu(value: float) -> dict[str, Any]:
        return {"role": "client", "metric": "repetition_cpu_s", "value": value}

    return {
        "proofs": [{"holds": True}],
        "repetitions": [totals("load_record", 9, 1), totals("one_128", 1000, 2), totals("list_4", 100, 1)],
        "resources": [cpu(9.0), cpu(0.5), {**cpu(7.0), "metric": "cpu_s"}, cpu(0.1)],
        "hist": [latency("one_128"), latency("list_4")],
        "failures": [],
        **changed,
    }


def test_a_step_has_its_own_rate_cpu_and_percentiles() -> None:
    found = race.steps(tables())
    assert set(found) == {"one_128", "list_4"}
    assert found["one_128"][:2] == (500, 2000)
    assert found["list_4"][:2] == (400, 4000), "of keys, not of calls"
    assert (found["list_4"].p50_ms, found["list_4"].p99_ms) == (100 / 1e6, 100 / 1e6)


def test_rows_that_are_missing_and_answers_that_are_wrong_have_no_rate() -> None:
    with pytest.raises(RuntimeError, match="missing or wrong"):
        race.steps(tables(proofs=[{"holds": True}, {"holds": False}]))
    wrong = tables()
    wrong["repetitions"][1]["errors"] = 1
    with pytest.raises(RuntimeError, match="one_128: 1 of 1000 failed"):
        race.steps(wrong)


def test_every_batch_of_the_curve_is_a_step_and_a_published_figure() -> None:
    names = list(race.steps_of(race.planned("batches", "valkey")))
    assert sorted(names) == sorted(f"{way}_{n}" for n in race.BATCHES for way in ("list", "together"))
    assert tuple(race.published()) == race.BATCHES
    assert (race.published()[1], race.published()[256]) == (8313, 356050)


def test_a_batch_of_the_curve_has_so_many_keys_or_calls_and_one_table_serves_all() -> None:
    plan = race.planned("batches", "postgresql")
    params = {o["name"]: len(o["params"]) for o in plan["operations"] if o["kind"] == "query"}
    assert params == {f"record_list_{n}": n for n in race.BATCHES} | {f"record_{n}": 1 for n in race.BATCHES}
    roles = {s["roles"][0]["name"]: s["roles"][0] for s in plan["segments"] if race.reads(s)}
    for n in race.BATCHES:
        assert roles[f"list_{n}"]["operations"][0]["operation"] == f"record_list_{n}"
        assert (
            roles[f"together_{n}"]["depth"] == n and roles[f"together_{n}"]["schedule"]["refill"] == "round"
        )
    (table,) = plan["tables"]
    texts = [o["text"] for o in plan["operations"] if o["kind"] == "query"]
    assert all(table["name"] in str(text) for text in texts)
    assert sum(s["kind"] == "drive" and not race.reads(s) for s in plan["segments"]) == 1


@pytest.mark.parametrize("turn", [0, 1])
def test_a_round_makes_what_is_compared_and_the_peer_works_before_it_or_after_it(
    turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    @contextmanager
    def executed(_engine: str, plan: Any, paused: Callable[[], None]) -> Iterator[None]:
        for segment in plan["segments"]:
            if segment["kind"] == "pause":
                paused()
            elif race.reads(segment):
                seen.append(segment["roles"][0]["name"])
        yield None

    def pgbench(table: str, columns: str, connections: int) -> race.Read:
        seen.append(f"pgbench {table.split('.')[-1]} {columns} {connections}")
        return race.Read(1.0, 2.0)

    monkeypatch.setattr(race.ingest, "executed", executed)
    monkeypatch.setattr(race, "pgbench", pgbench)
    monkeypatch.setattr(
        race, "steps", lambda _: {"one_128": race.Read(3.0, 4.0), "short_one_128": race.Read(5.0, 6.0)}
    )
    round_ = race.Round("depth", "postgresql", [("short", 4)])
    places = [round_.place(name) for name in ("one_128", "short_one_128", race.peer_of("short", 4))]
    for _ in range(turn + 1):
        seen.clear()
        figures = round_()
    assert [figures[place : place + 2] for place in places] == [(3, 4), (5, 6), (1, 2)]
    ours, theirs = ["one_128", "short_one_128"], ['pgbench "short" id, c0, c1 4']
    assert seen == (theirs + ours if turn == 0 else ours + theirs)


def test_every_step_that_is_compared_is_in_the_study() -> None:
    names = set(race.steps_of(race.planned("depth", "mysql")))
    depths = {f"{word}_{depth}" for word in race.CONNECTIONS for depth in (1, *race.DEPTHS)}
    refills = {f"{word}{step}" for word in race.CONNECTIONS for step in race.REFILLS.values()}
    assert depths | refills <= names
    by_name = {
        s["roles"][0]["name"]: s["roles"][0]
        for s in race.planned("depth", "mysql")["segments"]
        if s["kind"] == "drive"
    }
    for word, sessions in race.CONNECTIONS.items():
        for how, step in race.REFILLS.items():
            role = by_name[f"{word}{step}"]
            assert (role["sessions"], role["depth"]) == (sessions, race.PIPELINE)
            assert role["schedule"].get("refill", "each") == how


def test_a_bench_starts_the_servers_that_its_comparisons_need() -> None:
    engines = ("postgresql", "mysql", "mariadb", "valkey", "clickhouse", "influxdb")
    asked = lambda only: [engine for engine in engines if needs(engine, only)]  # noqa: E731
    assert asked("keylookups") == ["postgresql", "mysql", "mariadb", "valkey"]
    assert asked("keylookups mysql") == ["mysql"]
    assert asked("keylookups postgresql, one connection") == ["postgresql"]
    assert asked("valkey look-ups") == ["valkey"]
    assert asked("") == list(engines)


#: As flexAsynch 9.7.2 prints it, after 3 s of reads.
SHOWN = """Executing reads
--------------------------------------------------
Total number of transactions is 442260
Execution time is 3000 milliseconds
Total transactions per second 147420
Mean executions per round is 1

NDBT_ProgramExit: 0 - OK
"""


def test_calls_that_flexasynch_counts_twice_are_taken_off_where_it_counts_so() -> None:
    reads = cluster.found("read", SHOWN, 0.5)
    assert reads.per_s == pytest.approx(147_420 * 64 / 65)
    assert reads.per_cpu_s == pytest.approx(442_260 * 64 / 65 / 0.5)
    assert cluster.found("insert", SHOWN, 0.5).per_s == 147_420, "each row once"
    with pytest.raises(RuntimeError, match="no rate of read"):
        cluster.found("read", "NDBT_ProgramExit: 0 - OK", 0.5)


def test_the_table_is_the_one_that_flexasynch_makes() -> None:
    plan = cluster.planned()
    (table,) = plan["tables"]
    assert table["name"] == "TEST_DB.TAB7_0"
    assert [c["name"] for c in table["columns"]] == ["DISTKEY", *(f"COL{k}" for k in range(25))]
    assert {c["wire"] for c in table["columns"]} == {"Unsigned"}
    assert table["identity"] == ["DISTKEY", "COL0"]
    assert plan["target"]["options"]["distribution"] == "first"
    # Row r is one of thread r / (rows of a thread), which counts its own from 0.
    of_a_thread = cluster.ROUNDS_OF_A_THREAD * cluster.PARALLEL
    distkey, col0 = (table["columns"][at]["gen"] for at in (0, 1))
    assert (distkey["start"], distkey["step"], table["source"]["series"]) == (0, 1, 1)
    assert (col0["from"], col0["to"], col0.get("every", 1)) == (0, of_a_thread - 1, 1)
    assert of_a_thread * cluster.THREADS == cluster.ROWS
    roles = {r["name"]: r for s in plan["segments"] if race.reads(s) for r in s["roles"]}
    assert list(roles) == ["read", *(c for c in cluster.CALLS if c != "read")]
    assert {(r["sessions"], r["depth"]) for r in roles.values()} == {(cluster.THREADS, cluster.PARALLEL)}
    for call in ("insert", "delete"):
        assert roles[call]["work"]["count"] == cluster.ROWS, "as many as flexAsynch's"


def test_clusters_are_started_by_their_comparisons_alone() -> None:
    assert not any(needs(engine, "keylookups ndb, 2 data nodes") for engine in race.CURVES)
    assert needs("postgresql", "keylookups postgresql")
