"""What listens of every server that inrush starts, by `--start` and by `inrush engines start`: on loopback, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Instance, Target
from inrush.targets import instances
from tests import listening
from tests.listening import assert_nothing_secret_is_read, beyond_loopback

from .servers import SETTINGS, need

ENGINES = [twin.name for twin in instances.startable()]


def sockets_of(instance: Instance) -> list[listening.Socket]:
    """Of its processes, and of all that works in its folder."""
    pids = {one for pid in instance.pids for one in listening.at_work(pid, instance.data)}
    found = listening.of_processes(pids)
    assert {s.pid for s in found} <= pids and any(str(s.port) in instance.url for s in found), found
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_a_server_of_a_study_listens_on_loopback_alone(engine: str, request: pytest.FixtureRequest) -> None:
    target: Target = request.getfixturevalue(engine)
    if target.instance is None:
        pytest.skip(f"INRUSH_{engine.upper()}_URL names a server that inrush has not started")
    assert beyond_loopback(sockets_of(target.instance)) == []
    pids = {pid for one in target.instance.pids for pid in listening.family(one)}
    assert_nothing_secret_is_read(pids, [])


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("words", ["postgresql,shards=2", "clickhouse,shards=2", "ndb,sql=true"])
def test_servers_that_outlive_their_command_listen_on_loopback_alone(words: str, folder: Path) -> None:
    engine = words.partition(",")[0]
    need(engine)
    settings = "".join(f",{name}={value}" for name, value in SETTINGS[engine].items())
    data = folder / "servers"
    try:
        instances.start([words + settings], data, lambda _: None)
        begun = instances.parts(server(engine), data)
        assert len(begun) == (1 if engine == "ndb" else 3)
        assert [s for instance in begun for s in sockets_of(instance) if s.is_beyond_loopback] == []
    finally:
        instances.stop([engine], data, lambda _: None)
