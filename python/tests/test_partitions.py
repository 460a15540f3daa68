"""Tables that an engine cuts by time as the workload says."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from inrush.engines import server
from inrush.errors import Problem, UsageError
from inrush.plan.plan import plan_study
from inrush.study.reading import parse_study
from inrush.study.toml import read_toml
from inrush.study.workload_file import parse_workload
from inrush.workload import Table
from tests.strategies import SHIPPED, small_tree, workload_tree

MONTH_S = 2_635_200


def cut(partitions: Any, **table: Any) -> tuple[Table, list[str]]:
    """The table `port_errors` of the small workload with these partitions, and what is wrong with it."""
    tree, problems = workload_tree(), list[Problem]()
    tree["tables"]["port_errors"].update({"partitions": partitions, **table})
    workload = parse_workload(tree, "w.toml", "w", problems)
    return workload.tables["port_errors"], [str(p) for p in problems]


def created(engine: str, partitions: Any, layout: str = "none") -> str:
    table, problems = cut(partitions)
    assert problems == []
    return "; ".join(server(engine).plan_table(table, layout, "n").create)


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_mysql_has_every_partition_from_the_epoch_on_and_one_for_what_is_later(engine: str) -> None:
    made = created(engine, {engine: {"every_s": 86_400, "count": 2}})
    assert made.endswith(
        " PARTITION BY RANGE COLUMNS(\"added_on\") (PARTITION p1 VALUES LESS THAN ('2026-01-02 00:00:00'), "
        "PARTITION p2 VALUES LESS THAN ('2026-01-03 00:00:00'), PARTITION later VALUES LESS THAN (MAXVALUE))"
    )


def test_an_engine_heeds_its_own_partitions_alone() -> None:
    for engine in ("postgresql", "sqlite", "duckdb", "mariadb", "clickhouse", "timescaledb"):
        own = {"mysql": {"every_s": MONTH_S, "count": 12}}
        assert created(engine, own) == created(engine, {})


def test_timescaledb_has_chunks_of_that_length() -> None:
    assert f"INTERVAL '{MONTH_S} s'" in created("timescaledb", {"timescaledb": {"every_s": MONTH_S}})
    assert f"INTERVAL '{MONTH_S} s'" not in created("timescaledb", {})


def test_clickhouse_cuts_whole_numbers_of_the_columns_unit() -> None:
    made = created("clickhouse", {"clickhouse": {"every_s": MONTH_S}})
    assert f' PARTITION BY intDiv("added_on", {MONTH_S * 1_000}) ' in made


def test_what_cannot_be_meant_is_refused_when_it_is_read() -> None:
    _, problems = cut({"mysqll": {"every_s": 60}, "mysql": {"every_s": 0.5}, "mariadb": {"count": 3}})
    assert len(problems) == 3
    assert any("unknown engine; did you mean `mysql`" in p for p in problems)
    assert any("a whole number of seconds" in p for p in problems)
    assert any("mariadb" in p and "every_s" in p for p in problems)
    _, problems = cut({"mysql": {"every_s": 60, "count": 100_000}})
    assert any("partitions.mysql.count" in p for p in problems)


@pytest.mark.parametrize(
    ("own", "key"),
    [
        ({"every_s": 1e9, "count": 1000}, "count"),
        ({"every_s": 1e12}, "every_s"),
        ({"every_s": 1e17}, "every_s"),
    ],
)
@pytest.mark.parametrize("engine", ["mysql", "timescaledb"])
def test_partitions_end_in_years_that_a_time_can_have(engine: str, own: dict[str, Any], key: str) -> None:
    _, problems = cut({engine: own})
    (problem,) = problems
    assert f"partitions.{engine}.{key}" in problem
    assert "the last partition would end after the year 9999; cut fewer or shorter ones" in problem


def test_the_last_second_of_the_year_9999_is_in_reach() -> None:
    seconds = 251_634_988_800  # from 2026-01-01 to 9999-12-31 00:00:00
    table, problems = cut({"mysql": {"every_s": seconds / 2, "count": 2}})
    assert problems == []
    made = "; ".join(server("mysql").plan_table(table, "none", "n").create)
    assert "VALUES LESS THAN ('9999-12-31 00:00:00')" in made
    _, problems = cut({"mysql": {"every_s": seconds / 2 + 86_400, "count": 2}})
    assert len(problems) == 1


def test_data_time_zero_is_a_whole_second() -> None:
    """Rows begin at whole seconds: a fraction was rounded for rows and cut for partitions."""
    for epoch, problem in (("2026-01-01T00:00:00.6Z", True), ("2026-01-01T02:00:00+02:00", False)):
        tree, problems = workload_tree(), list[Problem]()
        tree["epoch"] = epoch
        tree["tables"]["port_errors"]["partitions"] = {"mysql": {"every_s": 86_400, "count": 1}}
        workload = parse_workload(tree, "w.toml", "w", problems)
        assert [("epoch" in str(p) and "a whole second" in str(p)) for p in problems] == [True] * problem
        if not problem:
            made = "; ".join(server("mysql").plan_table(workload.tables["port_errors"], "none", "n").create)
            assert "('2026-01-02 00:00:00')" in made


def test_a_table_without_a_time_has_no_partitions() -> None:
    columns = [{"name": "k", "type": "i64", "gen": "sequence"}]
    _, problems = cut({"mysql": {"every_s": 60, "count": 3}}, columns=columns, identity=["k"], layouts={})
    assert any("no time that is never NULL" in p for p in problems)


@pytest.mark.parametrize(
    ("engine", "own", "remedy"),
    [
        ("sqlite", {"every_s": 60}, "SQLite does not cut tables by `partitions`; remove the line"),
        ("mysql", {"every_s": 60}, "MySQL makes every partition beforehand; say how many, count = 12"),
        (
            "timescaledb",
            {"every_s": 60, "count": 3},
            "TimescaleDB makes partitions as rows come; remove `count`",
        ),
    ],
)
def test_what_an_engine_cannot_do_is_refused_when_it_is_planned(
    engine: str, own: dict[str, Any], remedy: str
) -> None:
    with pytest.raises(UsageError) as found:
        planned(engine, own, "none")
    assert remedy in str(found.value)
    assert f"partitions.{engine}" in str(found.value)


def test_a_key_without_the_time_cannot_be_the_key_of_a_cut_table() -> None:
    own = {"every_s": 60, "count": 3}
    planned("mysql", own, "pk")
    with pytest.raises(UsageError, match="contains it; add it to `identity`, or take another layout"):
        planned("mysql", own, "pk", ["guid"])
    planned("mysql", own, "none", ["guid"])


def planned(engine: str, own: dict[str, Any], layout: str, identity: list[str] | None = None) -> None:
    workload = copy.deepcopy(workload_tree())
    workload["tables"]["port_errors"]["partitions"] = {engine: own}
    if identity is not None:
        workload["tables"]["port_errors"]["identity"] = identity
    roles = {"writers": small_tree()["roles"]["writers"]}
    tree = small_tree(engines=[engine], layout=layout, roles=roles, stop=[])
    study = parse_study(tree, workload, name="small", file="small.toml", workload_file="w.toml")
    plan_study(study, {engine: server(engine)})


def test_a_pipeline_is_refused_for_the_same_reasons() -> None:
    workload = copy.deepcopy(workload_tree("pipeline"))
    tree = read_toml(SHIPPED / "pipeline" / "filesize.toml")
    tree["engines"] = ["mysql"]
    (name,) = {tree["pipeline"]["table"]}
    workload["tables"][name]["partitions"] = {"mysql": {"every_s": 60}}
    study = parse_study(tree, workload, name="p", file="p.toml", workload_file="w.toml")
    with pytest.raises(UsageError, match="makes every partition beforehand"):
        plan_study(study, {"mysql": server("mysql")})
