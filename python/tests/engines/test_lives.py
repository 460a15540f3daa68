"""Every server that inrush can start: ready when it says so, found again, stopped, in every case gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from inrush.engines import ENGINES, server
from inrush.engines.base.instance import Cold, Instance, Stop, Target
from inrush.engines.servers import life, page_cache, ports
from inrush.engines.servers.own_server import OwnServer
from inrush.errors import TargetError, UsageError
from inrush.targets.server_processes import found_server

from .servers import AS_ANOTHER, SETTINGS, each_kind, need, own_server

STARTED = [name for name in ENGINES if server(name).lifecycle is not None]
#: What `own_server` does with any server is tested on those that start within seconds.
ANY_SERVER = pytest.mark.parametrize(
    "own", each_kind(STARTED, {*AS_ANOTHER, "mysql", "ndb", "questdb"}), indirect=True
)
#: NDB's life has tests of its own (test_ndb_life); a start of QuestDB is one of Java.
SWIFT = pytest.mark.parametrize("own", each_kind(STARTED, {*AS_ANOTHER, "ndb", "questdb"}), indirect=True)
# A data folder is made anew in most of these: seconds on a quiet machine, much more on a busy one.
pytestmark = pytest.mark.timeout(600)
#: A value that no server takes. NDB's start fails in words of its own (test_ndb_life).
WRONG = {
    "postgresql": {"shared_buffers": "many"},
    "timescaledb": {"shared_buffers": "many"},
    "mysql": {"default_storage_engine": "none"},
    "mariadb": {"default_storage_engine": "none"},
    "clickhouse": {"mark_cache_size": "many"},
    "influxdb": {"data.index-version": "none"},
    "valkey": {"appendfsync": "sometimes"},
    "questdb": {"shared.worker.count": "many"},
}


@pytest.fixture(params=each_kind(STARTED))
def own(request: pytest.FixtureRequest) -> OwnServer:
    need(request.param)
    return own_server(request.param)


def begun(own: OwnServer, folder: Path) -> Instance:
    return own.start(folder / own.name, SETTINGS[own.name])


def listens(instance: Instance) -> bool:
    return not ports.is_free(instance.port)


@SWIFT
def test_it_comes_back_at_the_same_address_after_a_stop_and_after_a_kill(
    own: OwnServer, folder: Path
) -> None:
    instance = begun(own, folder)
    for how in (Stop.CLEAN, Stop.KILL):
        assert listens(instance) and life.working_in(folder)
        own.stop(instance, how)
        assert not listens(instance) and not life.working_in(folder)
        again = begun(own, folder)
        assert again.url == instance.url and again.pid != instance.pid
        instance = again
    own.stop(instance, Stop.CLEAN)
    own.stop(instance, Stop.CLEAN)  # what has gone may be stopped again


def test_nobody_elses_machine_can_reach_it(own: OwnServer, folder: Path) -> None:
    instance = begun(own, folder)
    listening = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=False)
    if listening.returncode == 0:
        mine = [line.split()[3] for line in listening.stdout.splitlines() if f"pid={instance.pid}," in line]
        assert mine and all(address.startswith("127.0.0.1:") for address in mine), mine
    own.stop(instance, Stop.CLEAN)


@pytest.mark.parametrize("own", [name for name in STARTED if server(name).loading], indirect=True)
def test_the_folder_of_its_data_is_found_by_its_process(own: OwnServer, folder: Path) -> None:
    """As the watcher of a shard does, on the server's host and without asking it."""
    instance = begun(own, folder)
    found = found_server(server(own.name), "127.0.0.1", instance.port, "the worker")
    assert instance.pid in found.pids, found
    at, home = Path(found.folder).resolve(), (instance.data / own.home).resolve()
    assert at == home or home in at.parents, at
    own.stop(instance, Stop.CLEAN)


@pytest.mark.parametrize("own", WRONG, indirect=True)
def test_a_failed_start_shows_the_end_of_its_log_and_leaves_nothing(own: OwnServer, folder: Path) -> None:
    with pytest.raises(TargetError, match=r"(?s)while starting.*server.log ends with\n  \S") as failed:
        own.start(folder / own.name, {**SETTINGS[own.name], **WRONG[own.name]})
    ((name, value),) = WRONG[own.name].items()
    assert name in str(failed.value) or value in str(failed.value), "the log says what was wrong"
    assert not life.working_in(folder)
    own.stop(begun(own, folder), Stop.CLEAN)


def test_an_unknown_setting_is_a_usage_error_that_names_it_and_leaves_nothing(
    own: OwnServer, folder: Path
) -> None:
    with pytest.raises(UsageError, match=rf"^{own.title} \S+ has no setting no_such_setting\b"):
        own.start(folder / own.name, {**SETTINGS[own.name], "no_such_setting": "1"})
    assert not life.working_in(folder)


def test_what_inrush_sets_itself_and_strange_profiles_are_refused(own: OwnServer, folder: Path) -> None:
    taken = sorted(own.reserved)[0]
    with pytest.raises(UsageError, match=f"inrush sets {taken} itself"):
        own.start(folder / own.name, {taken: "1"})
    with pytest.raises(UsageError, match="one of default, tuned"):
        own.start(folder / own.name, {"profile": "fast"})
    with pytest.raises(UsageError, match=f"{own.name}: "):
        own.start(folder / own.name, {"version": "0.1"})
    assert not life.working_in(folder)


@ANY_SERVER
def test_what_a_killed_inrush_left_is_ended_before_the_next_start(own: OwnServer, folder: Path) -> None:
    script = "import sys; from pathlib import Path; from tests.engines.servers import SETTINGS, own_server\n"
    script += f"own = own_server({own.name!r})\n"
    script += f"print(own.start(Path({str(folder / own.name)!r}), SETTINGS[own.name]).pid, flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as inrush:
        assert inrush.stdout is not None
        pid = int(inrush.stdout.readline())
        with pytest.raises(TargetError, match=rf"another inrush \(process {inrush.pid}\)"):
            begun(own, folder)
        inrush.kill()
    assert life.started_at(pid) is not None, "the server goes on alone"
    instance = begun(own, folder)
    assert instance.pid != pid and life.started_at(pid) is None
    own.stop(instance, Stop.CLEAN)


@ANY_SERVER
def test_a_port_that_another_server_has_taken_is_left_to_it(
    own: OwnServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is of the same kind: its answers are no sign that ours is ready."""
    other = begun(own, folder / "other")
    chosen, free = [other.port], ports.free_port
    monkeypatch.setattr(ports, "free_port", lambda: chosen.pop() if chosen else free())
    instance = begun(own, folder)
    assert not chosen and instance.port != other.port
    assert listens(instance) and listens(other)
    own.stop(instance, Stop.CLEAN)
    own.stop(other, Stop.CLEAN)


@ANY_SERVER
def test_two_that_start_in_one_folder_are_one_that_starts(own: OwnServer, folder: Path) -> None:
    data = folder / own.name
    data.mkdir()
    with (
        life.starting_in(data),
        pytest.raises(TargetError, match="another inrush is starting a server there"),
    ):
        begun(own, folder)
    assert not life.working_in(folder)
    own.stop(begun(own, folder), Stop.CLEAN)


@SWIFT
def test_data_of_another_version_are_left_alone(own: OwnServer, folder: Path) -> None:
    own.stop(begun(own, folder), Stop.CLEAN)
    if (record := folder / own.name / own.home / "PG_VERSION").is_file():
        record.write_text("0.9\n")
    (folder / own.name / "made_by").write_text("0.9\n")
    with pytest.raises(TargetError, match=r"made by .* 0\.9 and cannot be opened by .*choose another --data"):
        begun(own, folder)


@ANY_SERVER
def test_half_made_data_are_made_anew(own: OwnServer, folder: Path) -> None:
    home = folder / own.name / own.home
    home.mkdir(parents=True)
    (home / "half").write_text("a kill left this")
    instance = begun(own, folder)
    assert listens(instance) and not (home / "half").exists()
    own.stop(instance, Stop.CLEAN)


@SWIFT
def test_a_cold_server_was_stopped_while_the_kernel_forgot(
    own: OwnServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The real drop is of the whole machine's caches: not for a test.
    dropped: list[dict[int, int]] = []
    monkeypatch.setattr(page_cache, "can_drop", lambda: True)
    monkeypatch.setattr(page_cache, "drop", lambda: dropped.append(life.working_in(folder)))
    monkeypatch.setattr(page_cache, "of", lambda _: page_cache.Cached(1 << 30, 0))
    instance = begun(own, folder)
    before = (instance.pid, instance.url)
    assert isinstance(own.make_cold(Target(own.name, instance.url, {}, instance)), Cold)
    assert dropped == [{}], "dropped once, while nothing ran"
    assert instance.pid != before[0] and instance.url == before[1] and listens(instance)
    own.stop(instance, Stop.CLEAN)


def test_a_test_session_that_is_ended_stops_what_it_started(folder: Path) -> None:
    need("postgresql")
    (folder / "conftest.py").write_text(
        "from tests.engines.conftest import *\nfrom tests.engines.conftest import end_on_sigterm\n"
    )
    (folder / "test_blocks.py").write_text(
        "import sys\ndef test_it(postgresql):\n    sys.__stdout__.write(f'{postgresql.instance.pid}\\n')\n"
        "    sys.__stdout__.flush()\n    sys.stdin.read()\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "INRUSH_POSTGRESQL_URL"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        folder,
        "test_blocks.py",
    ]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as session:
        assert session.stdout is not None
        pid = int(session.stdout.readline())
        assert life.started_at(pid) is not None
        session.send_signal(signal.SIGTERM)
        session.communicate()
    assert life.started_at(pid) is None
