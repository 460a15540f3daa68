"""Before a study runs: which settings make rows survive the same on all its engines?"""

from __future__ import annotations

import pytest

from inrush.engines import ENGINES, server
from inrush.engines.survives import Survives
from inrush.targets.durability import to_make_equal

SERVERS = ("postgresql", "mysql", "clickhouse", "influxdb")


def ways(**engines: str) -> list[str]:
    return to_make_equal(engines, {e: server(e).survive_by for e in engines})


def test_every_level_that_an_engine_has_is_offered_with_the_settings_of_the_others() -> None:
    up, down = ways(postgresql="POWER_LOSS", mysql="POWER_LOSS", clickhouse="PROCESS_CRASH")
    assert up.startswith(
        "for rows that survive power loss on all, --start clickhouse,merge_tree.fsync_after_insert=1"
    )
    assert "--start mysql,innodb_flush_log_at_trx_commit=2, --start postgresql,fsync=off" in down


def test_what_no_setting_brings_about_is_said() -> None:
    _, down = ways(influxdb="POWER_LOSS", clickhouse="PROCESS_CRASH")
    assert down == "for rows that survive a crash of the process on all, influxdb has no setting for it"


@pytest.mark.parametrize("engine", [e for e in ENGINES if server(e).survive_by])
def test_a_way_names_its_engine_and_a_level_that_the_twin_tells(engine: str) -> None:
    for level, way in server(engine).survive_by.items():
        assert level in Survives and (way == "as shipped" or engine in way.format(engine=engine))
