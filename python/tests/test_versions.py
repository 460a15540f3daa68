"""Versions of servers: the year they are of, the oldest that is taken, and programs that the user names by their folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.engines import ENGINES, server
from inrush.engines.base import versions
from inrush.engines.base.instance import Target
from inrush.engines.servers import by_path
from inrush.engines.servers.own_server import OwnServer
from inrush.errors import TargetError
from inrush.targets import ready
from inrush.targets.deployment import Deployment

#: As servers say theirs.
SAID = {
    "postgresql": ("PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu", "15.18 of 2022"),
    "mysql": ("9.7.4-2 (Debian)", "9.7.4 of 2026"),
    "mariadb": ("11.8.9-MariaDB-0+deb13u1 Debian n/a", "11.8.9 of 2025"),
    "clickhouse": ("18.16.1", "18.16.1 of 2018"),
    "influxdb": ("1.6.7~rc0", "1.6.7 of 2018"),
    "valkey": ("8.1.1", "8.1.1 of 2025"),
    "questdb": ("QuestDB 9.3.4", "9.3.4 of 2026"),
}
OLD = {
    "postgresql": "PostgreSQL 9.6.24 on x86_64-pc-linux-gnu, compiled by gcc",
    "timescaledb": "PostgreSQL 14.9, TimescaleDB 2.11",
    "mysql": "5.7.44-log MySQL Community Server",
    "mariadb": "10.3.39-MariaDB",
    "clickhouse": "1.1.54390",
    "influxdb": "1.0.2",
    "valkey": "5.0.14",
    "questdb": "QuestDB 7.3",
    "ndb": "8.0.36",
}


@pytest.mark.parametrize("engine", SAID)
def test_a_version_is_shown_with_its_year(engine: str) -> None:
    said, shown = SAID[engine]
    assert versions.shown(said, server(engine).year_of(said)) == shown
    assert server(engine).too_old(said) == ""


def test_a_version_of_no_known_year_stands_alone() -> None:
    assert versions.shown("99.1", server("postgresql").year_of("99.1")) == "99.1"
    assert server("clickhouse").year_of("26.9.1") == 2026
    assert server("postgresql").too_old("unknown") == "", "what says no version is not old"


@pytest.mark.parametrize(
    "engine", [name for name in ENGINES if isinstance(server(name).lifecycle, OwnServer)]
)
def test_a_server_older_than_the_least_is_refused_by_its_name(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = server(engine)
    monkeypatch.setattr(Deployment, "ask", lambda self, statement: [["version", OLD[engine]]])
    there = Deployment(twin, Target(engine, f"{engine}://h"))
    (problem,) = ready.asked(there, None, print)  # type: ignore[arg-type]
    assert (
        f"://h: {twin.title} {versions.number_of(OLD[engine])} is too old: inrush works with "
        f"{twin.least_version} and later"
    ) in str(problem)


def test_programs_in_a_folder_are_taken_for_those_that_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = server("clickhouse").lifecycle
    assert isinstance(own, OwnServer)
    monkeypatch.setenv(by_path.variable("clickhouse"), str(tmp_path))
    with pytest.raises(
        TargetError, match=r"INRUSH_CLICKHOUSE_BIN is .*, which holds no clickhouse-server or clickhouse"
    ):
        own.fetch()
    program = tmp_path / "clickhouse"
    program.write_text("#!/bin/sh\necho 'ClickHouse client version 26.9.1.12 (official build).'\n")
    program.chmod(0o755)
    release = own.fetch()
    assert (release.version, own.program(release), own.fetched()) == ("26.9.1.12", program, release)
    assert release.source == f"INRUSH_CLICKHOUSE_BIN={tmp_path}"
    program.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(TargetError, match="clickhouse does not say its version"):
        own.fetch()
