"""Studies whose sessions go over shards: what is planned, what the core is told, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Instance, Release, Target
from inrush.errors import InrushError
from inrush.plan.planned import PlannedRun
from inrush.run.call import StudyCall
from inrush.run.prepare import prepare
from inrush.targets.deployment import Deployment, at_deployment
from tests.terminal import Inrush
from tests.test_by_key_run import STUDY, WORKLOAD

START = "postgresql,shards=4"


def planned(*overrides: str, named: str = "keylookup-shards") -> list[PlannedRun]:
    return prepare(
        StudyCall(named, "xs" if "/" not in named else None, overrides, start=(START,))
    ).plan.block(1)


def shards_of(run: PlannedRun) -> dict[str, Any]:
    found: dict[str, Any] = run.plan["target"]["shards"]  # type: ignore[typeddict-item]
    return found


def test_a_point_is_over_as_many_shards_as_its_factor_says_or_over_all_that_are_started() -> None:
    by_point = {run.point: shards_of(run) for run in planned()}
    assert {point: len(of["urls"]) for point, of in by_point.items()} == {
        f"postgresql shards={n} way={way} threads=2": n for n in (1, 2) for way in ("coordinator", "straight")
    }
    # Straight, the core places rows by the key; a coordinator does so itself.
    assert all(
        of.get("keys") == ([[["k", "int8"]]] if "straight" in p else None)
        for p, of in map(listed, by_point.items())
    )
    all_of_them = planned("shards.way=straight", "threads=2", named="keylookup-threads")
    assert {len(shards_of(run)["urls"]) for run in all_of_them} == {4}
    assert len({run.hash for run in planned()}) == 4, "what a run does is another thing on each way"


def listed(of: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Tuples as JSON has them."""
    point, shards = of
    if "keys" in shards:
        shards = {**shards, "keys": [[list(part) for part in key] for key in shards["keys"]]}
    return point, shards


def test_a_table_of_the_coordinator_has_a_part_on_each_shard_and_no_key_of_its_own() -> None:
    by_way = {
        way: next(r for r in planned("shards=2") if f"way={way}" in r.point)
        for way in ("coordinator", "straight")
    }
    made = {
        way: [s for s in run.plan["segments"][0]["statements"] if "CREATE TABLE" in s]
        for way, run in by_way.items()
    }  # type: ignore[typeddict-item]
    (at_all,), (own,) = made["coordinator"], made["straight"]
    assert "PRIMARY KEY" in own and "PARTITION" not in own
    spread, alone = at_all.split(" ELSE ")
    assert (
        "PARTITION BY HASH" in spread
        and "PRIMARY KEY" not in spread
        and spread.count("CREATE FOREIGN TABLE") == 2
    )
    assert "PRIMARY KEY" in alone and "FOREIGN" not in alone


def instance(k: int) -> Instance:
    return Instance(
        "postgresql",
        Path(f"/d{k}"),
        f"postgresql://h/{k}",
        1,
        100 + k,
        Path("/d/log"),
        Release("postgresql", "15", Path("/")),
    )


@pytest.mark.parametrize("way", ["coordinator", "straight"])
def test_the_core_is_told_where_the_shards_are_and_each_is_watched_as_a_part_of_the_server(
    way: str, tmp_path: Path
) -> None:
    run = next(r for r in planned("shards=2") if f"way={way}" in r.point)
    first, *rest = [Target("postgresql", i.url, {}, i) for i in map(instance, range(5))]
    placed = at_deployment(run.plan, Deployment(server("postgresql"), first, shards=tuple(rest)), tmp_path)
    assert placed["target"]["url"] == "postgresql://h/0"
    assert placed["target"]["shards"]["urls"] == ["postgresql://h/1", "postgresql://h/2"]  # type: ignore[typeddict-item]
    assert placed["watch"]["processes"] == {
        "server": [100, 101, 102],
        "server/coordinator": [100],
        "server/shard_0": [101],
        "server/shard_1": [102],
    }, "shards that the point does not use have no part in it"


@pytest.mark.parametrize(
    ("study", "overrides", "start", "says"),
    [
        ("quickstart", [], START, "sessions of this study run on one server; say how they reach shards, -P shards.way="),
        ("keylookup-shards", [], "postgresql", "its sessions go over shards"),
        ("keylookup-shards", ["shards=8"], START, "up to 8 shards (shards.count); start so many"),
        ("keylookup-threads", ["shards.way=straight"], "mysql,shards=2", "no coordinator"),
        ("keylookup-threads", ["shards.way=straight"], "clickhouse,shards=2", "do not go over shards of clickhouse"),
        ("keylookup-threads", ["shards.way=straight"], "timescaledb,shards=2", "do not go over shards of timescaledb"),
        ("keylookup-lists", ["shards.way=straight"], START, "operation look_many is none: straight to shards go rows and calls by key alone"),
        ("telemetry-keepup", ["shards.way=straight"], START, "straight to shards go rows and calls by key alone"),
        ("telemetry-queries", ["shards.way=straight"], START, "straight to shards go rows and calls by key alone"),
        ("keylookup-phases", ["shards.way=straight"], START, "over shards go sessions alone: its steps are done on one server"),
        ("keylookup-threads", ["shards.way=round_about"], START, "choose from: coordinator, straight"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_over_shards_is_one_line_before_anything_starts(
    study: str, overrides: list[str], start: str, says: str, inrush: Inrush
) -> None:
    words = [word for one in overrides for word in ("-P", one)]
    said = inrush("run", study, "--scale", "xs", "--start", start, *words)
    assert said.code == 2, said
    assert says in said.err and len(said.err.strip().splitlines()) == 1, said.err


def test_a_write_by_key_has_no_way_through_a_coordinator(tmp_path: Path) -> None:
    (tmp_path / "workload.toml").write_text(WORKLOAD)
    (tmp_path / "by-key.toml").write_text(STUDY.replace("ENGINE", "postgresql").replace("DEPTHS", "[1]"))
    named = str(tmp_path / "by-key.toml")
    with pytest.raises(InrushError, match="set: a coordinator has no ON CONFLICT") as refused:
        planned("shards.way=coordinator", named=named)
    assert "\n" not in str(refused.value)
    assert len(planned("shards.way=straight", named=named)) == 1


def test_calls_that_change_rows_are_no_transaction_over_shards(tmp_path: Path) -> None:
    """Two of them would wait for each other for ever: seen on real servers with 64 in flight."""
    (tmp_path / "workload.toml").write_text(WORKLOAD)
    (tmp_path / "by-key.toml").write_text(STUDY.replace("ENGINE", "postgresql").replace("DEPTHS", "[64]"))
    named = str(tmp_path / "by-key.toml")
    with pytest.raises(
        InrushError, match="role putters has 64 calls of put in flight: through a coordinator"
    ) as refused:
        planned("shards.way=coordinator", named=named)
    assert "\n" not in str(refused.value)
    assert len(planned("shards.way=straight", named=named)) == 1
    deep = planned("depth=64", "shards.way=coordinator", "engines=postgresql", named="keylookup-depth")
    assert len(deep) == 3, "reads hold nothing"
