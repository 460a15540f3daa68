"""What can happen to a load between its ends and to its shards: afterwards every row is there, once."""

from __future__ import annotations

import os
import random
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.engines.base.instance import Instance, Stop, Target
from inrush.engines.servers.life import servant
from inrush.errors import InrushError, UsageError
from inrush.load import run as loads
from inrush.load.call import Call
from inrush.load.check import Loaded
from inrush.load.process import End
from inrush.load.run import load
from inrush.plan import ends
from tests.engines.servers import SETTINGS, control, need, own_server, with_database
from tests.engines.test_load import COLUMNS, call, count, documents, rows_file, silent, table

__all__ = ["table"]

#: Nothing to read and nothing to write on a dead connection: closed by a reset.
RESET = struct.pack("ii", 1, 0)


class Proxy:
    """Between client and load server. Cuts every connection after some bytes: by a reset, or by silence."""

    def __init__(self, server: str) -> None:
        host, _, port = server.rpartition(":")
        self.server = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        #: Bytes from the client that still pass, and how they stop; None: all do.
        self.cut: tuple[int, str] | None = None
        self.cuts = 0
        #: Those that fell silent: open until the end, or it would be no silence.
        self.held: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.listener.close()
        for end in self.held:
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server, mute = socket.create_connection(self.server), threading.Event()
                for ends in ((client, server, mute, True), (server, client, mute, False)):
                    threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(
        self, source: socket.socket, into: socket.socket, mute: threading.Event, counted: bool
    ) -> None:
        cut, passed = self.cut, 0
        with suppress(OSError):
            while data := source.recv(4096):
                if mute.is_set():
                    return  # both stay open, and nobody hears anybody
                passed += len(data)
                if counted and cut is not None and passed >= cut[0]:
                    self.cuts += 1
                    if cut[1] == "silence":
                        self.held += [source, into]
                        mute.set()
                        return
                    for end in (source, into):
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    break
                into.sendall(data)
        if not mute.is_set():
            for end in (source, into):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()


@pytest.mark.ci
def test_a_network_that_is_cut_at_random_points_stores_every_row_once(
    postgresql: Target, table: str, tmp_path: Path
) -> None:
    rows, folder = 100_000, tmp_path / "loads"
    files = [rows_file(tmp_path / f"{n}.csv", n * rows, rows, bad=n) for n in range(2)]
    control(postgresql, f"CREATE TABLE {table} ({COLUMNS})")
    wanted, shards, targets = documents(call(table, files, into=postgresql.url, parallel=2), folder)
    (folder / "rejects").mkdir(parents=True)
    rng = random.Random(11)
    finished: Any = None
    document = ends.server_plan(wanted, shards.twin, targets, "127.0.0.1:0", "t")
    with End(document, tmp_path / "s.log", {}) as server:
        proxy = Proxy(server.wait_for("listening", silent)["address"])
        for n in range(20):
            proxy.cut = (rng.randrange(1, 300_000), ("reset", "silence")[n % 2])
            with pytest.raises(InrushError, match=r"127\.0\.0\.1") as failed:
                finished = client(ends, wanted, shards, proxy.address, folder, tmp_path)
            assert "\n" not in str(failed.value)
        proxy.cut = None
        finished = client(ends, wanted, shards, proxy.address, folder, tmp_path)
        assert proxy.cuts >= 20
        proxy.close()
    assert count(postgresql, table) == (2 * rows, 2 * rows, 2 * rows * (2 * rows - 1) // 2)
    assert finished["rows_stored"] + finished["rows_before"] == 2 * rows
    assert finished["rejected"] == 1


def client(made: Any, wanted: Any, shards: Any, address: str, folder: Path, tmp_path: Path) -> Any:
    """The client's last word."""
    document = made.client_plan(wanted, shards.twin, made.link_plan(address, "t"), str(folder / "rejects"))
    with End({**document, "silence_ns": 3 * 10**9}, tmp_path / "c.log", {}) as end:
        return end.wait_for("finished", silent)


@pytest.fixture
def own_shards(folder: Path) -> Iterator[list[Instance]]:
    """Servers of the test's own, because they will be killed."""
    need("postgresql")
    own = own_server("postgresql")
    found = [own.start(folder / f"shard{k}", SETTINGS["postgresql"]) for k in range(2)]
    yield found
    for instance in found:
        own.stop(instance, Stop.KILL)


class Loading(threading.Thread):
    """The same command again and again until it has come to its end."""

    def __init__(self, wanted: Call, folder: Path) -> None:
        super().__init__(daemon=True)
        self.wanted, self.folder = wanted, folder
        self.done: Loaded | None = None
        self.broken: BaseException | None = None
        self.messages: list[str] = []
        self.stored = 0

    def run(self) -> None:
        try:
            while self.done is None:
                try:
                    self.done = load(self.wanted, self.folder, self.note, self._seen)
                except UsageError:
                    raise
                except InrushError as error:
                    self.messages.append(str(error))
                    time.sleep(0.1)
        except BaseException as error:
            self.broken = error

    def note(self, text: str) -> None:
        """What a load says beside its progress."""

    def _seen(self, event: dict[str, Any]) -> None:
        if event["event"] == "progress" and event["role"] == "client":
            self.stored = event["rows_stored"] + event["rows_before"]


@pytest.mark.slow
@pytest.mark.timeout(900)  # a server starts twenty times
def test_kills_spread_over_the_shards_store_every_row_once(
    own_shards: list[Instance], tmp_path: Path, whole: bool
) -> None:
    rows, own, rng = 40_000, own_server("postgresql"), random.Random(5)
    files = [rows_file(tmp_path / f"{n}.csv", n * rows, rows, bad=n) for n in range(2)]
    for instance in own_shards:
        control(Target("postgresql", instance.url), f"CREATE TABLE t ({COLUMNS})")
    wanted = call(
        "t", files, shards=tuple(i.url for i in own_shards), key=("id",), parallel=2, connections=2,
        patience_s=3.0, bytes_per_s=sum(f.stat().st_size for f in files) / 200.0,
    )  # fmt: skip
    loading = Loading(wanted, tmp_path / "loads")
    loading.start()
    kills = 20 if whole else 6
    for n in range(kills):
        before = loading.stored
        wait_until(lambda: loading.stored > before or loading.done or loading.broken)  # noqa: B023
        assert loading.done is None and loading.broken is None, (n, loading.broken)
        time.sleep(rng.random() / 3)
        k = n % 2
        # It ends the load for the last time: the command after it need not be slow any more.
        if n == kills - 1:
            loading.wanted = replace(wanted, bytes_per_s=None)
        own.stop(own_shards[k], Stop.KILL)
        # Now and then longer than the load's patience: then the same command goes on.
        time.sleep(7.0 if n % 10 == min(9, kills - 2) else 0.0)
        own_shards[k] = own.start(own_shards[k].data, SETTINGS["postgresql"])
    loading.join(300)
    assert loading.broken is None and loading.done is not None
    assert loading.done.proven and loading.done.rejected == 1
    assert loading.done.rows_stored + loading.done.rows_before == 2 * rows
    counts = [count(i.url, "t") for i in own_shards]
    assert all(c[0] > 0 for c in counts)
    assert [sum(c[n] for c in counts) for n in range(3)] == [2 * rows, 2 * rows, rows * (2 * rows - 1)]
    assert any("same command" in m for m in loading.messages), loading.messages
    assert control(Target("postgresql", own_shards[0].url), "SELECT 1") == [["1"]]


def wait_until(condition: Callable[[], object], limit_s: float = 120.0) -> None:
    until = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of 64 MB that the servers' user may write on."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk to fill")
    path = folder / "small"
    path.mkdir()
    owner = f"uid={servant().uid},gid={servant().gid}"
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size=64m,mode=700,{owner}", "tmpfs", str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode != 0:
        pytest.skip(f"no disk of our own to fill: {made.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


@pytest.mark.slow
def test_a_shard_that_goes_before_the_proof_is_said_in_a_line_and_the_same_command_proves(
    own_shards: list[Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, victim = own_server("postgresql"), own_shards[1]
    wanted = call(
        "t", [rows_file(tmp_path / "a.csv", 0, 2_000)], shards=tuple(i.url for i in own_shards), key=("id",)
    )

    proven = loads.proven

    def killed_before(*words: Any) -> Loaded:
        own.stop(victim, Stop.KILL)
        return proven(*words)

    with monkeypatch.context() as patched:
        patched.setattr(loads, "proven", killed_before)
        with pytest.raises(InrushError, match=f"{victim.port}.*not proven: the same command") as failed:
            load(wanted, tmp_path / "loads", silent, silent)
    assert "\n" not in str(failed.value)
    own.start(victim.data, SETTINGS["postgresql"])
    done = load(wanted, tmp_path / "loads", silent, silent)
    assert (done.rows_stored, done.rows_before, done.proven) == (0, 2_000, True)


@pytest.mark.slow
def test_a_shard_whose_disk_is_full_ends_the_load_and_goes_on_when_there_is_room(
    own_shards: list[Instance], small_disk: Path, tmp_path: Path
) -> None:
    rows, full, other = 60_000, Target("postgresql", own_shards[0].url), own_shards[1].url
    control(full, f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    control(full, "CREATE DATABASE small TABLESPACE small")
    ballast = small_disk / "ballast"
    with ballast.open("wb") as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 16))
            file.flush()
    shards = (with_database(full.url, "small"), other)
    files = [rows_file(tmp_path / "a.csv", 0, rows)]
    wanted = call("t", files, shards=shards, key=("id",), patience_s=3.0)
    with ballast.open("r+b") as file:  # room for the tables and some rows, not for all of them
        file.truncate(ballast.stat().st_size - (1 << 20))
    with pytest.raises(InrushError, match=r"No space left on device.*same command goes on") as failed:
        load(wanted, tmp_path / "loads", silent, silent)
    assert "/small" in str(failed.value)
    before = [count(url, "t") for url in shards]
    assert 0 < sum(c[0] for c in before) < rows
    ballast.unlink()
    done = load(wanted, tmp_path / "loads", silent, silent)
    assert done.proven and done.rows_before > 0 and done.rows_stored + done.rows_before == rows
    counts = [count(url, "t") for url in shards]
    assert [sum(c[n] for c in counts) for n in range(3)] == [rows, rows, rows * (rows - 1) // 2]
