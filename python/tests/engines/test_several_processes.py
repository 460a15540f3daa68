"""A server of several processes is one instance: begun in their order, named each, ended the other way round."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inrush.engines.base.instance import Release, Stop, Target
from inrush.engines.base.twin import Twin
from inrush.engines.servers import life, origin
from inrush.engines.servers.own_server import OwnServer, ServerPlace, ServerProcess
from inrush.errors import TargetError
from inrush.targets import instances
from inrush.targets.deployment import Deployment, freeze
from inrush.targets.standing import neighbours

#: Says in a common diary when it begins and when it has been asked to end. Any user can run a shell.
PROGRAM = """
trap 'sleep 0.2; echo "$0 ended" >>"$1"; exit 0' TERM
if [ "$2" = "$0" ]; then echo "no room for me"; exit 7; fi
echo "$0 began" >>"$1"
while :; do sleep 0.02; done
"""
NAMES = ("first", "part_1", "part_2")


class SeveralLife(OwnServer):
    name = title = "valkey"
    refuses = "none"

    def fetch(self, version: str | None = None) -> Release:
        return Release(self.name, "1.0", Path("/"))

    def fetched(self, version: str | None = None) -> Release | None:
        return self.fetch()

    def url_of(self, port: int) -> str:
        return f"valkey://127.0.0.1:{port}/"

    def make(self, place: ServerPlace) -> None: ...

    def command(self, place: ServerPlace) -> Sequence[str | Path]:
        raise AssertionError("it has processes")

    def processes(self, place: ServerPlace) -> Sequence[ServerProcess]:
        diary = place.home / "diary"

        def told(name: str) -> bool:
            return diary.is_file() and f"{name} began" in diary.read_text()

        return [
            ServerProcess(
                ["/bin/sh", "-c", PROGRAM, name, diary, self.refuses],
                place.log if name == "first" else place.data / f"{name}.log",
                lambda name=name: told(name),  # type: ignore[misc]
                name,
            )
            for name in NAMES
        ]

    def is_ready(self, place: ServerPlace) -> bool:
        return True

    def known_settings(self, release: Release) -> frozenset[str] | None:
        return None


class SeveralTwin(Twin):
    name = title = "valkey"
    schemes = ("valkey",)

    def __init__(self) -> None:
        self.lifecycle = SeveralLife()


SeveralTwin.__abstractmethods__ = frozenset()


@pytest.fixture
def twin(monkeypatch: pytest.MonkeyPatch) -> SeveralTwin:
    made = SeveralTwin()  # type: ignore[abstract]
    monkeypatch.setattr(instances, "startable", lambda: [made])
    return made


def lines(data: Path) -> list[str]:
    return (data / "files" / "diary").read_text().splitlines()


def silent(_: str) -> None: ...


def shown(twin: Twin, data: Path, notes: list[str]) -> list[tuple[Any, ...]]:
    rows = instances.status([twin.name], data, notes.append).rows
    return [(row["role"], row["running"], row["pid"] is not None, row["url"] is not None) for row in rows]


def test_they_begin_in_their_order_and_the_first_ends_last(folder: Path) -> None:
    own = SeveralLife()
    instance = own.start(folder / "own", {})
    assert tuple(instance.processes) == NAMES and instance.pid == instance.processes["first"]
    assert lines(instance.data) == [f"{name} began" for name in NAMES]
    assert instance.log_of("first").name == "server.log" and instance.log_of("part_1").name == "part_1.log"
    target = Target(own.name, instance.url, {}, instance)
    assert target.processes == {
        "server": list(instance.processes.values()),
        **{f"server/{name}": [pid] for name, pid in instance.processes.items()},
    }
    own.stop(instance, Stop.CLEAN)
    ended = lines(instance.data)[3:]
    assert sorted(ended[:2]) == ["part_1 ended", "part_2 ended"] and ended[2:] == ["first ended"]
    assert not life.working_in(folder)
    again = own.start(folder / "own", {})
    own.stop(again, Stop.KILL)
    assert again.url == instance.url and len(lines(instance.data)) == 9, "who is killed says nothing"
    assert not life.working_in(folder)


def test_one_that_dies_at_the_start_ends_the_others_and_its_log_is_shown(folder: Path) -> None:
    own = SeveralLife()
    own.refuses = "part_2"
    with pytest.raises(
        TargetError, match=r"(?s)own: part_2 ended .*code 7; .*part_2.log ends with\n  no room for me"
    ):
        own.start(folder / "own", {})
    assert not life.working_in(folder) and not origin.running(folder / "own")


def test_status_names_each_and_stop_ends_all(folder: Path, twin: SeveralTwin) -> None:
    rows = instances.start([twin.name], folder, silent).rows
    assert [row["role"] for row in rows] == list(NAMES) and len({row["pid"] for row in rows}) == 3
    assert {row["url"] for row in rows} == {rows[0]["url"]} and rows[0]["url"]
    notes: list[str] = []
    assert shown(twin, folder, notes) == [(name, True, True, True) for name in NAMES] and not notes
    # The first one dies: what is left of the server is still its own, and is ended by `stop`.
    os.kill(rows[0]["pid"], signal.SIGKILL)
    while life.started_at(rows[0]["pid"]) is not None:
        time.sleep(0.01)
    assert shown(twin, folder, notes)[0] == ("first", False, False, False)
    assert len(notes) == 1 and "the first has ended by itself" in notes[0]
    assert [row["running"] for row in instances.stop([twin.name], folder, silent).rows] == [False] * 3
    assert not life.working_in(folder)


def test_what_a_killed_inrush_left_is_named_and_ended(folder: Path, twin: SeveralTwin) -> None:
    data = folder / twin.name
    script = "from pathlib import Path; from tests.engines.test_several_processes import SeveralLife\n"
    script += f"import os, signal; SeveralLife().start(Path({str(data)!r}), {{}}); os.kill(os.getpid(), signal.SIGKILL)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", script], env=environment, check=False).returncode == -9
    left = origin.running(data)
    notes: list[str] = []
    assert shown(twin, folder, notes) == [(name, True, True, True) for name in NAMES]
    assert f"processes {list(left.values())}" in notes[0] and "left by an inrush that was killed" in notes[0]
    os.kill(left["part_1"], signal.SIGKILL)
    instance = SeveralLife().start(data, {})
    assert not {*left.values()} & {*instance.pids} and set(instance.pids) <= life.working_in(data).keys()
    SeveralLife().stop(instance, Stop.CLEAN)
    assert not life.working_in(folder)


def test_it_counts_as_one_server_on_its_data_and_none_of_it_is_a_neighbour(folder: Path) -> None:
    own = SeveralLife()
    instance = own.start(folder / "own", {})
    deployment = Deployment(SeveralTwin(), Target(own.name, instance.url, {}, instance))  # type: ignore[abstract]
    assert deployment.data_servers() == [instance.pid]
    assert not {*(neighbours(deployment) or {})} & {*instance.pids}
    assert freeze(deployment, "0.05")["how"] == "SIGSTOP to 3 processes for 0.05 s"
    own.stop(instance, Stop.CLEAN)
