"""What real servers are asked before the first run: who they are, and whether a study may work there."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from inrush import _core
from inrush.border.plan import Statement
from inrush.engines import server
from inrush.engines.base import protocol_probe as greeting
from inrush.engines.base.instance import Target
from inrush.engines.ndb import Ndb
from inrush.errors import UsageError
from inrush.run.call import StudyCall
from inrush.run.preflight import admit
from inrush.run.prepare import prepare
from inrush.targets.deployment import Deployment

from .servers import with_database

SERVERS = (
    "postgresql",
    "timescaledb",
    "mysql",
    "mariadb",
    "clickhouse",
    "influxdb",
    "valkey",
    "questdb",
    "ndb",
)
#: A study that can be made there; `quickstart` where none is named.
STUDIES = {"influxdb": "telemetry-keepup", "valkey": "telemetry-lookups", "ndb": "keylookup-depth"}


@pytest.mark.parametrize("engine", SERVERS)
def test_a_server_is_ready_keeps_nothing_and_is_no_other(
    request: pytest.FixtureRequest, engine: str, tmp_path: Path
) -> None:
    there: Target = request.getfixturevalue(engine)
    twin, url = server(engine), there.url
    port = greeting.Port("127.0.0.1", urlsplit(url).port or 0)
    for expected in greeting.Protocol:
        assert greeting.heard(port, expected) is twin.protocol
    found = prepare(StudyCall(STUDIES.get(engine, "quickstart"), "xs", targets=(url,)))
    (line,) = admit(found, tmp_path, tmp_path)
    assert line.startswith(f"{url}: reachable, version ") and "tables can be made" in line
    assert "unknown" not in line
    deployment = Deployment(twin, Target(engine, url))
    if engine in HOMES:
        assert [row for row in deployment.ask(HOMES[engine]) if "inrush_check_" in str(row)] == []


#: Without `ndb`, which lists nothing: see the test below.
HOMES = {
    **dict.fromkeys(("postgresql", "timescaledb"), "SELECT nspname FROM pg_namespace"),
    **dict.fromkeys(("mysql", "mariadb"), "SELECT schema_name FROM information_schema.schemata"),
    "clickhouse": "SELECT name FROM system.databases",
    "influxdb": "SHOW DATABASES",
    "valkey": "KEYS *",
    "questdb": "SELECT table_name FROM tables()",
}


def test_the_home_that_a_cluster_is_tried_with_is_made_and_dropped(
    ndb: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    as_shipped = Ndb.lock

    def lock(twin: Ndb, name: str, holder: str) -> tuple[Statement, ...]:
        made.append(name)
        return as_shipped(twin, name, holder)

    found = prepare(StudyCall(STUDIES["ndb"], "xs", targets=(ndb.url,)))
    deployment = Deployment(server("ndb"), Target("ndb", ndb.url))
    with monkeypatch.context() as patched:
        patched.setattr(Ndb, "lock", lock)
        admit(found, tmp_path, tmp_path)
    (home,) = made
    with pytest.raises(_core.CoreFailure) as gone:
        deployment.ask(server("ndb").ask_holder(home))
    assert gone.value.args[0] == "statement"


@pytest.mark.parametrize(
    ("engine", "says"), [("postgresql", "does not exist"), ("mysql", "Unknown database")]
)
def test_a_database_that_is_not_there_is_said_before_the_first_run(
    request: pytest.FixtureRequest, engine: str, says: str, tmp_path: Path
) -> None:
    there: Target = request.getfixturevalue(engine)
    url = f"{with_database(there.url, 'nowhere')}"
    found = prepare(StudyCall("quickstart", "xs", targets=(url,)))
    with pytest.raises(UsageError, match=f"{says}.*create it, or name another one in the URL"):
        admit(found, tmp_path, tmp_path)
