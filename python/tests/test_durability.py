"""Before a study runs: which settings make rows survive the same on all its engines?"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.engines import ENGINES, server
from inrush.engines.base.durability_level import Survives
from inrush.engines.base.instance import Target
from inrush.errors import UsageError
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study
from inrush.targets import deployments, durability
from inrush.targets.ask import connected
from inrush.targets.deployment import Deployment
from inrush.targets.durability import START, as_said, in_both, to_make_equal
from tests.terminal import Inrush

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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


def test_an_embedded_database_is_opened_once_for_all_that_is_asked_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def counted(address: Mapping[str, Any]) -> Any:
        opened.append(str(address["engine"]))
        return connected(address)

    def by_itself(*_: object) -> None:
        raise AssertionError("a statement opened the database again")

    monkeypatch.setattr(durability, "connected", counted)
    monkeypatch.setattr(_core, "control", by_itself)
    study = load_study("telemetry-quickstart", "xs")
    plan = plan_study(study, {engine: server(engine) for engine in study.engines})
    for engine in ("duckdb", "sqlite"):
        run = next(r for r in plan.runs if r.plan["target"]["engine"] == engine)
        found = durability.ask(run.plan, Deployment(server(engine), Target(engine, "")), tmp_path)
        assert found is not None and found.survives is Survives.POWER_LOSS
    assert opened == ["duckdb", "sqlite"]


def test_a_setting_is_said_as_the_command_line_takes_it_and_as_the_studys_own_file_does() -> None:
    engines = {"postgresql": "PROCESS_CRASH", "sqlite": "PROCESS_CRASH", "duckdb": "POWER_LOSS"}
    settings = {e: server(e).survive_by for e in engines}
    shipped, _ = to_make_equal(engines, settings)
    assert "--start postgresql,fsync=on" in shipped and "-P options.sqlite.synchronous=FULL" in shipped
    assert ".toml" not in shipped and "start.postgresql" not in shipped
    up, down = to_make_equal(engines, settings, "mine.toml")
    assert "-P options.sqlite.synchronous=FULL (or, in mine.toml, options.sqlite.synchronous = 'FULL')" in up
    assert (
        "(or --start postgresql and, in mine.toml, start.postgresql = { fsync = 'on', full_page_writes = 'on', "
        "synchronous_commit = 'on' })"
    ) in up
    assert down.endswith("options.duckdb.'set.fsync_mode' = 'NONE' in mine.toml")


@pytest.mark.parametrize("engine", [e for e in ENGINES if server(e).survive_by])
def test_the_files_form_of_a_setting_is_one_that_a_study_has(engine: str) -> None:
    """It is read as TOML, and sets what the command line would."""
    for way in server(engine).survive_by.values():
        if way == "as shipped":
            continue
        said = in_both(way.format(engine=engine), "s.toml")
        start = START.match(said)
        if start is None:
            line = re.sub(r"\)| in s.toml", "", said[said.rindex("options.") :])
            assert list(tomllib.loads(line)["options"]) == [engine]
            continue
        document = tomllib.loads(said[said.index("start.") :].removesuffix(")"))
        settings = dict(setting.split("=") for setting in start["settings"].split(","))
        assert document == {"start": {engine: settings}}


class Started(Exception):
    """A server was started."""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--start", "clickhouse", "--start", "mysql", "--start", "influxdb"),
            (
                "clickhouse: process crash; influxdb: power loss; mysql: power loss",
                "influxdb has no setting for it",
            ),
        ),
        (
            ("--start", "postgresql,fsync=false", "--start", "mysql"),
            ("mysql: power loss; postgresql: process crash",),
        ),
        (
            ("sqlite", "-P", "options.sqlite.synchronous=OFF", "--start", "mariadb"),
            ("sqlite: process crash",),
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_before_a_server_is_started(
    inrush: Inrush, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: tuple[str, ...]
) -> None:
    def started(*_: object, **__: object) -> None:
        raise Started

    monkeypatch.setattr(deployments, "started", started)
    refused = inrush("run", "telemetry-batch", "--scale", "xs", *words)
    assert refused.code == 2 and all(part in refused.err for part in said), refused.err
    assert inrush.store.studies() == []


@pytest.mark.parametrize(
    "words",
    [
        ("--start", "postgresql", "--start", "mysql", "--start", "mariadb"),
        ("--start", "postgresql,fsync=off", "--start", "mysql,innodb_flush_log_at_trx_commit=2"),
        ("--start", "clickhouse", "--start", "mysql", "--unequal-durability"),
    ],
)
def test_engines_that_are_equal_or_compared_all_the_same_are_started(
    inrush: Inrush, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    def started(*_: object, **__: object) -> None:
        raise UsageError("a server was started")

    monkeypatch.setattr(deployments, "started", started)
    begun = inrush("run", "telemetry-batch", "--scale", "xs", *words)
    assert begun.code == 2 and "a server was started" in begun.err, begun.err


def test_a_switch_is_read_however_it_is_written() -> None:
    assert [as_said(v, "on") for v in ("on", "TRUE", "1", "no", "off", "local")] == [
        "on",
        "on",
        "on",
        "off",
        "off",
        "local",
    ]
    assert (as_said("0", "ON"), as_said("2", "1"), as_said("1", "1")) == ("OFF", "2", "1")
