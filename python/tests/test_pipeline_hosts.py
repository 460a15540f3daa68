"""A pipeline's run over hosts, here as processes of this machine: shares, files, clocks, the proof, and who is named."""

from __future__ import annotations

import io
import json
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.ipc as ipc
import pytest

from inrush.agent.clocks import Clock
from inrush.agent.parent import Lines, Parent
from inrush.agent.place import Client, Hear, Here, Host, Part, processes_document
from inrush.agent.process import Process
from inrush.border.words import Word
from inrush.errors import CoreError
from inrush.load.pipeline import hosts, run, shares, tables
from inrush.load.pipeline.hosts_watched import device_marks, watched
from inrush.load.pipeline.journal import lines, on_one_clock, said_ns
from inrush.load.pipeline.over_shards import RunLoadOverShards
from inrush.load.pipeline.part import ServerPart
from inrush.results.parts import Shift
from inrush.results.schema import SCHEMAS
from tests.test_pipeline import ends, placed, planned


def ran(
    folder: Path, *overrides: str, place: Here | None = None
) -> tuple[int, list[Mapping[str, Any]], Path]:
    folder.mkdir(exist_ok=True)
    plan = placed("sqlite", folder, "pipeline.pipeline_bytes_per_s=0", *overrides)
    parts, said = folder / "parts", list[Mapping[str, Any]]()
    parts.mkdir(exist_ok=True)
    code = hosts.work(plan, parts, list, said.append, place or Here(parts, hosts.PART))  # type: ignore[arg-type]
    return code, said, parts


def rows(parts: Path, name: str) -> list[dict[str, Any]]:
    with ipc.open_stream(parts / f"{name}.arrows") as table:
        found: list[dict[str, Any]] = table.read_all().to_pylist()
    return found


@pytest.mark.ci
def test_every_row_of_two_clients_is_proven(tmp_path: Path) -> None:
    code, said, parts = ran(tmp_path, "pipeline.client_hosts=2")
    assert code == 0, said
    assert all(row["holds"] for row in rows(parts, "proofs"))
    assert sorted(row["file"] for row in rows(parts, "files")) == [0, 1, 2, 3]
    assert {row["pipeline"] for row in rows(parts, "files")} == {0, 1}
    (whole,) = rows(parts, "repetitions")
    assert whole["rows"] == 4 * 1_626 and whole["ops"] == 4 and whole["cpu_ns"] > 0
    assert sum(row["rows"] for row in rows(parts, "intervals")) == whole["rows"]
    roles = {row["role"] for row in rows(parts, "resources")}
    assert {"client", "client/1", "client/2", "load_server", "host/1", "host/2", "host/3"} <= roles
    document = processes_document(parts)["hosts"]
    assert document["clients"] == 2 and document["ways"] == []
    assert not [*parts.glob("*-files")]


def test_the_end_that_failed_first_is_named_and_what_was_recorded_is_kept(tmp_path: Path) -> None:
    class Killing(Here):
        """Ends the load server's process when the first file has begun."""

        def start(self, process: int, plan: Part, folder: Path, hear: Hear) -> Client:
            def heard(event: Any) -> None:
                hear(event)
                if process > 0 and event["event"] == "said" and event["of"]["event"] == "begins":
                    self.server.kill()

            started = super().start(process, plan, folder, heard)
            if process == 0:
                self.server = started
            return started

    (tmp_path / "parts").mkdir()
    place = Killing(tmp_path / "parts", hosts.PART)
    slow = ("pipeline.shard_rows_per_s=500", "pipeline.chunk_rows=100", "pipeline.flush_rows=100")
    began = time.monotonic()
    code, said, parts = ran(tmp_path, *slow, place=place)
    assert code == 1 and time.monotonic() - began < 60
    (failed,) = [event for event in said if event["event"] == "failed"]
    assert failed["message"].startswith("the load server"), failed
    # At once: what is dropped behind it may wait.
    (failing,) = (event for event in said if event["event"] == "failing")
    assert failing["message"] == failed["message"] and said.index(failing) < said.index(failed)
    (whole,) = rows(parts, "repetitions")
    assert whole["rows"] < 4 * 1_626 and rows(parts, "proofs") == []
    assert [row["ended_by"] for row in rows(parts, "segments") if row["kind"] == "load"] == ["error"]
    assert "ways" in processes_document(parts)["hosts"]


@pytest.mark.parametrize(
    ("first", "behind", "named"),
    [
        # Its worker is lost: what the load server says behind it is not waited for.
        ((1, "fleet"), (0, "load"), "client 1: 1"),
        # It has lost its connection, for its load server is gone.
        ((1, "load"), (0, "fleet"), "the load server: 0"),
        ((0, "load"), (1, "fleet"), "the load server: 0"),
    ],
)
def test_a_lost_worker_is_named_and_a_client_gives_way_to_its_load_server(
    first: tuple[int, str], behind: tuple[int, str], named: str, tmp_path: Path
) -> None:
    over = hosts.OverHosts(
        placed("sqlite", tmp_path), "pipelines", tmp_path, tmp_path, Here(tmp_path, hosts.PART)
    )
    for process, kind in (first, behind):
        over.heard.put((process, {"event": "failed", "kind": kind, "message": str(process)}))
    with pytest.raises(CoreError, match=f"^{named}$"):
        over.next()


@pytest.mark.slow
def test_nothing_of_a_load_that_failed_goes_on_when_its_tables_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Losing(Here):
        """Ends its client when the first file has begun."""

        started: ClassVar[list[Process[Any]]] = []

        def start(self, process: int, plan: Part, folder: Path, hear: Hear) -> Client:
            def heard(event: Any) -> None:
                hear(event)
                if process > 0 and event["event"] == "said" and event["of"]["event"] == "begins":
                    self.started[process].kill()

            started = super().start(process, plan, folder, heard)
            assert isinstance(started, Process)
            self.started.append(started)
            return started

    at_drop, at_end = list[bool](), list[bool]()

    def of_parts() -> list[bool]:
        return [Path(f"/proc/{started.pid}").exists() for started in Losing.started]

    def dropped(self: RunLoadOverShards) -> None:
        at_drop.extend(of_parts())

    monkeypatch.setattr(RunLoadOverShards, "drop", dropped)
    write = run.RunWithLoads.write

    def written(self: run.RunWithLoads, loads: Any) -> None:
        at_end.extend(of_parts())
        write(self, loads)

    monkeypatch.setattr(run.RunWithLoads, "write", written)
    (tmp_path / "parts").mkdir()
    slow = ("pipeline.shard_rows_per_s=500", "pipeline.chunk_rows=100", "pipeline.flush_rows=100")
    code, said, _ = ran(tmp_path, *slow, place=Losing(tmp_path / "parts", hosts.PART))
    assert code == 1 and [event for event in said if event["event"] == "failed"]
    assert at_drop and not any(at_drop)
    assert at_end == [False, False]


class Ending:
    """A part that ends when it is told to, and whose load server says on the way that it failed."""

    log = None

    def __init__(self, over: hosts.OverHosts, process: int, told: list[int]) -> None:
        self.over, self.process, self.told = over, process, told

    def send(self, word: Word) -> None:
        assert word == {"do": "end"}
        self.told.append(self.process)
        if self.process != shares.SERVER:
            lost = {"event": "failed", "kind": "load", "message": "a client is gone"}
            self.over.heard.put((shares.SERVER, lost))
        self.over.heard.put((self.process, {"event": "ended"}))

    def kill(self) -> None:
        """It ends when it is told to."""

    def close(self) -> int:
        assert self.process != shares.SERVER or self.over.running == {shares.SERVER}, "clients first"
        return 1 if self.process == shares.SERVER else 0


def test_a_load_that_is_stopped_ends_clients_first_and_is_no_failure(tmp_path: Path) -> None:
    plan = placed("sqlite", tmp_path, "pipeline.client_hosts=2")
    over, told = (
        hosts.OverHosts(plan, "pipelines", tmp_path, tmp_path, Here(tmp_path, hosts.PART)),
        list[int](),
    )
    over.processes = {process: Ending(over, process, told) for process in over.every}
    over.running = {*over.every}
    over.end()
    assert told == [1, 2, 0] and over.cut
    # The same is one where all clients had done.
    over.processes = {process: Ending(over, process, told) for process in over.every}
    over.running, over.done = {*over.every}, {*over.clients}
    with pytest.raises(CoreError, match="a client is gone"):
        over.end()


def test_a_run_that_is_stopped_says_so(tmp_path: Path) -> None:
    plan = placed("sqlite", tmp_path, "pipeline.pipeline_bytes_per_s=0", "pipeline.shard_rows_per_s=500")
    parts, said = tmp_path / "parts", list[Mapping[str, Any]]()
    parts.mkdir()

    def words() -> list[str]:
        return [{"do": "stop"}] * any(
            event["event"] == "progress" and event["phase"] == "measure" for event in said
        )

    assert hosts.work(plan, parts, words, said.append, Here(parts, hosts.PART)) == 0, said[-1]
    assert said[-1] == {"event": "finished", "ended_by": "stop"}


def test_the_place_is_left_whatever_fails_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Left(Here):
        left = False

        def end(self) -> None:
            self.left = True

    def full(self: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(hosts.OverHosts, "write_document", full)
    monkeypatch.setattr(
        run, "made", lambda plan, parts, words, on_event, environment: environment("pipelines", parts)
    )
    place = Left(tmp_path, hosts.PART)
    with pytest.raises(OSError, match="No space"):
        hosts.work(placed("sqlite", tmp_path), tmp_path, list, print, place)
    assert place.left


def test_of_an_end_that_crashed_the_path_of_its_log_is_said_and_none_of_its_lines(tmp_path: Path) -> None:
    part = ServerPart({}, tmp_path / "parts", Parent(Lines(0), io.StringIO()))
    part.folder.mkdir()
    program = "import sys; print('row 1; secret', file=sys.stderr, flush=True); sys.exit(3)"
    part.ends["server-0"] = end = Process(
        {"does": "end"}, part.folder / "server-0.log", command=(sys.executable, "-c", program)
    )
    end.close()
    with pytest.raises(CoreError, match="its process ended with code 3; its log there: ") as failed:
        part.heard("server-0", {"event": "ended"})
    said, log = str(failed.value), Path(str(failed.value).rpartition(" ")[2])
    try:
        assert "secret" not in said and "secret" in log.read_text()
    finally:
        shutil.rmtree(log.parent)


# Shares.


@pytest.mark.parametrize(("hosts_wanted", "pipelines"), [(1, 4), (2, 3), (3, 2), (4, 4)])
def test_pipelines_and_files_are_dealt_out_whole(hosts_wanted: int, pipelines: int) -> None:
    how: Any = {"count": pipelines, "client_hosts": hosts_wanted}
    clients = range(shares.clients_at(how))
    assert len(clients) == min(hosts_wanted, pipelines)
    assert sorted(p for c in clients for p in shares.pipelines_of(c, how)) == [*range(pipelines)]
    assert sorted(n for c in clients for n in shares.files_at(c, how, 12)) == [*range(12)]
    for client in clients:
        share = len(shares.files_at(client, how, 12)) / len(shares.pipelines_of(client, how))
        assert share == 12 / pipelines


def test_client_hosts_are_part_of_the_plan_only_where_there_are_several(tmp_path: Path) -> None:
    assert "client_hosts" not in ends(placed("sqlite", tmp_path))["pipelines"]
    assert ends(placed("sqlite", tmp_path, "pipeline.client_hosts=2"))["pipelines"]["client_hosts"] == 2
    assert "on" not in ends(placed("sqlite", tmp_path))["pipelines"]
    named = ends(placed("sqlite", tmp_path, "pipeline.clients_on=['a']"))["pipelines"]
    assert named["on"] == ("", "a"), "the load server may be on any worker"
    refused = planned(
        "sqlite", "pipeline-parallel", "pipeline.client_hosts=2", "pipeline.device_bytes_per_s=1000000"
    )
    assert "do not share a bucket" in refused.unsupported[0].reason


def test_a_client_that_shares_the_load_servers_network_has_no_way_to_it(tmp_path: Path) -> None:
    class Spread(Here):
        keys = ("kernel net-1", "kernel net-1", "kernel net-2")

        def address(self, process: int) -> str:
            return "10.0.0.1"

        def host(self, process: int) -> Host:
            return Host(self.keys[process])

    plan = placed("sqlite", tmp_path, "pipeline.client_hosts=2")
    over = hosts.OverHosts(plan, "pipelines", tmp_path, tmp_path, Spread(tmp_path, hosts.PART))
    assert over.beyond() == [2]


# What was watched.


def part_watched(folder: Path, busy_s: float) -> None:
    """A client's part with one disk, and its host's."""
    folder.mkdir()
    looks = [
        {"role": role, "t_ns": 0, "metric": metric, "device": device, "value": value}
        for role, metric, device, value in (
            ("load_client", "dev_busy_s", "sda", busy_s), ("host", "dev_busy_s", "sda", busy_s), ("load_client", "cpu_s", "", 1.0),
            ("load_client", "cpu_s", "sda", 0.5),
        )
    ]  # fmt: skip
    tables.write(folder, {"resources": looks})


def test_a_device_has_its_host_in_front_where_it_is_another_and_is_in_no_sum(tmp_path: Path) -> None:
    parts = {}
    for process, busy_s in ((0, 0.1), (1, 0.6), (2, 0.6)):
        part_watched(tmp_path / str(process), busy_s)
        parts[process] = tmp_path / str(process), Shift(0)
    workers = [{"boot": "ours"}, {"boot": "b"}, {"boot": "b"}]
    marks = device_marks(workers, "ours")
    assert marks == {1: "host/2:", 2: "host/2:"}, "two workers of one kernel have one disk"
    found = watched(SCHEMAS["resources"].empty_table(), parts, marks).to_pylist()
    disks = {(r["role"], r["device"], r["value"]) for r in found if r["metric"] == "dev_busy_s"}
    assert disks == {
        ("load_client", "sda", 0.1), ("host/1", "sda", 0.1), ("client/1", "host/2:sda", 0.6), ("host/2", "sda", 0.6),
        ("client/2", "host/2:sda", 0.6), ("host/3", "sda", 0.6),
    }  # fmt: skip
    cpu = {(r["role"], r["device"]): r["value"] for r in found if r["metric"] == "cpu_s"}
    assert cpu["load_client", ""] == 2.0 and cpu["load_client", "sda"] == 1.0
    assert device_marks([], "ours") == {}


# Clocks.


def test_a_journal_of_two_hosts_is_written_on_one_clock_with_its_looks_added_up(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    said = [
        {"said": "go", "t_ns": 100, "zero_ns": 0},
        {"said": "begins", "t_ns": 1_105, "file": 0, "pipeline": 0, "host": 1},
        {"said": "begins", "t_ns": 5_103, "file": 1, "pipeline": 1, "host": 2},
        {"said": "look", "t_ns": 1_150, "rows": 5, "bytes": 50, "of": "1/client-0", "host": 1},
        # Heard later than the next one, though it was before it.
        {"said": "look", "t_ns": 5_140, "rows": 3, "bytes": 30, "of": "2/client-0", "host": 2},
        {"said": "file", "start_ns": 1_105, "sent_ns": 1_170, "end_ns": 1_180, "file": 0, "host": 1},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in said))
    clocks = {1: Clock(ahead_ns=1_000), 2: Clock(ahead_ns=5_000)}
    found = [*lines(on_one_clock(path, clocks, tmp_path / "one"))]
    assert [(line["said"], said_ns(line)) for line in found] == [
        ("go", 100), ("begins", 103), ("begins", 105), ("look", 140), ("look", 150), ("file", 180),
    ]  # fmt: skip
    assert [(line["rows"], line["bytes"]) for line in found if line["said"] == "look"] == [(3, 30), (8, 80)]
    assert found[-1]["start_ns"] == 105 and not any("host" in line or "of" in line for line in found)
