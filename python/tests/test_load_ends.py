"""The ends of a load: hashing threads of the load server, and ends of its own for each file. On SQLite, two files as shards."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inrush.border.load import LoadPlan
from inrush.errors import CoreError, TargetError, UsageError
from inrush.load.call import Call
from inrush.load.check import Loaded
from inrush.load.process import End
from inrush.load.run import load

FILES, ROWS = 4, 1_500


def files_in(folder: Path) -> tuple[str, ...]:
    paths = [folder / f"{n}.csv" for n in range(FILES)]
    for n, path in enumerate(paths):
        rows = range(n * ROWS, (n + 1) * ROWS)
        path.write_text("id,name\n" + "".join(f"{k},name {k % 97}\n" for k in rows))
    return tuple(str(path) for path in paths)


def loaded(folder: Path, on_event: Any = lambda _: None, **how: Any) -> Loaded:
    shards = tuple(f"sqlite:///{folder}/{name}.db" for name in "ab")
    call = Call(
        files_in(folder), "t", shards=shards, key=("id",), create=True, verify=True, chunk_rows=100, **how
    )
    return load(call, folder / "loads", lambda _: None, on_event)


def check(done: Loaded) -> None:
    assert (done.rows_stored, done.rejected, done.proven) == (FILES * ROWS, 0, True), done.why
    assert all(shard["rows"] > FILES * ROWS / 4 for shard in done.shards[:2]), "the hash spreads keys"


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[LoadPlan]:
    """The plans of all ends that were started."""
    plans: list[LoadPlan] = []
    begin = End.begin

    def noted(self: End, document: LoadPlan, log: Path) -> None:
        plans.append(document)
        begin(self, document, log)

    monkeypatch.setattr(End, "begin", noted)
    return plans


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_that_hashing_threads_place_are_all_stored_once(
    tmp_path: Path, begun: list[LoadPlan], threads: int
) -> None:
    check(loaded(tmp_path, parallel=3, hash_threads=threads, replica=True))
    assert [plan.get("hash_threads") for plan in begun if plan["role"] == "server"] == [threads]


def test_copies_on_the_shard_of_their_rows_are_found_though_all_of_them_are_there(tmp_path: Path) -> None:
    """As a load server would leave them that stores copies where the rows are."""
    check(loaded(tmp_path, replica=True))
    with sqlite3.connect(tmp_path / "a.db") as of_a:
        of_a.execute("ATTACH ? AS b", (str(tmp_path / "b.db"),))
        of_a.execute("CREATE TEMP TABLE mine AS SELECT * FROM main.t_replica")
        of_a.executescript(
            "DELETE FROM main.t_replica; INSERT INTO main.t_replica SELECT * FROM b.t_replica;"
            "DELETE FROM b.t_replica; INSERT INTO b.t_replica SELECT * FROM mine;"
        )
    of_a.close()
    again = loaded(tmp_path, replica=True)
    assert (again.verdict, again.proven) == ("different", False)
    assert "the copies on b are not those of a: other sums" in again.why.replace(
        f"sqlite:///{tmp_path}/", ""
    ).replace(".db", "")


def test_without_them_the_plan_is_what_it_was(tmp_path: Path, begun: list[LoadPlan]) -> None:
    check(loaded(tmp_path))
    assert not any("hash_threads" in plan for plan in begun)


def test_each_file_has_a_load_server_and_a_client_of_its_own(tmp_path: Path, begun: list[LoadPlan]) -> None:
    seen: list[Mapping[str, Any]] = []
    done = loaded(tmp_path, seen.append, process_per_file=True, hash_threads=2)
    check(done)
    assert Counter(plan["role"] for plan in begun) == {"server": FILES, "client": FILES}
    clients = [plan for plan in begun if plan["role"] == "client"]
    assert [[f["number"] for f in plan["files"]] for plan in clients] == [[n] for n in range(FILES)]
    assert sum(shard["rows"] for shard in done.shards) == FILES * ROWS, "those of all load servers"
    again = loaded_again(tmp_path)
    assert (again.rows_stored, again.rows_before) == (0, FILES * ROWS), "the ledger has every file"


def loaded_again(folder: Path) -> Loaded:
    shards = tuple(f"sqlite:///{folder}/{name}.db" for name in "ab")
    call = Call(files_in(folder), "t", shards=shards, key=("id",), chunk_rows=100, process_per_file=True)
    return load(call, folder / "loads", lambda _: None, lambda _: None)


def test_progress_is_of_all_files_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last that each client says is of what all before it have stored, too."""
    from inrush.load import each_file

    said: list[Mapping[str, Any]] = []
    events = iter(
        [{"event": "progress", "role": "client", "bytes": 10, "rows_stored": 5, "seconds": 1.0}] * FILES
    )

    def through(*words: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        words[-1](next(events))
        counts = dict.fromkeys(each_file.COUNTS, 0)
        return {**counts, "rows_stored": 5, "bytes": 10, "sums": ""}, {"shards": []}

    monkeypatch.setattr(each_file.EachFile, "through", through)
    monkeypatch.setattr(each_file, "proven", lambda *_: None, raising=False)
    wanted = type("Wanted", (), {"files": range(FILES), "items": ()})()
    monkeypatch.setattr(each_file, "names_said", nothing)
    monkeypatch.setattr(each_file.EachFile, "started", lambda _: iter((nothing(), nothing())))
    each = each_file.EachFile(wanted, None, {}, tmp_path, print, said.append)  # type: ignore[arg-type]
    counts = each.load(None, None)  # type: ignore[arg-type]
    assert [event["bytes"] for event in said] == [10, 20, 30, 40]
    assert [event["seconds"] for event in said] == [1.0, 2.0, 3.0, 4.0]
    assert counts["rows_stored"] == 5 * FILES


class nothing:
    """In place of a process, and of what is done around it."""

    def __init__(self, *_: object) -> None: ...

    def __enter__(self) -> nothing:
        return self

    def __exit__(self, *_: object) -> None: ...


def test_a_load_server_that_dies_is_the_failure_and_not_its_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, servers = End.begin, list[End]()

    def killed(self: End, plan: LoadPlan, log: Path) -> None:
        if plan["role"] == "server":
            servers.append(self)
        elif plan["files"][0]["number"] == 1:
            servers[-1].kill()
        begin(self, plan, log)

    monkeypatch.setattr(End, "begin", killed)
    with pytest.raises((CoreError, TargetError), match="load server"):
        loaded(tmp_path, process_per_file=True)
    monkeypatch.undo()
    done = loaded_again(tmp_path)
    assert done.rows_stored + done.rows_before == FILES * ROWS
    assert done.rows_before >= ROWS, "the first file was stored before"


def test_a_shard_that_refuses_rows_ends_a_load_with_hashing_threads(tmp_path: Path) -> None:
    """Its writers take no more, and the threads that wait for room in their queues say so to every client."""
    for name in "ab":
        with sqlite3.connect(tmp_path / f"{name}.db") as made:
            made.execute("CREATE TABLE t (id BIGINT NOT NULL, name TEXT NOT NULL CHECK (name <> 'name 5'))")
    shards = tuple(f"sqlite:///{tmp_path}/{name}.db" for name in "ab")
    how = {"chunk_rows": 50, "flush_rows": 50, "parallel": 3, "hash_threads": 2, "reject_limit": 0}
    call = Call(files_in(tmp_path), "t", shards=shards, key=("id",), patience_s=1.0, **how)  # type: ignore[arg-type]
    with pytest.raises((CoreError, TargetError), match="CHECK"):
        load(call, tmp_path / "loads", lambda _: None, lambda _: None)


def test_hashing_threads_belong_to_a_load_server_that_is_there_already(tmp_path: Path) -> None:
    call = Call(files_in(tmp_path), "t", server="127.0.0.1:1", token_file="x", hash_threads=2)
    with pytest.raises(UsageError, match="inrush load-server"):
        load(call, tmp_path / "loads", lambda _: None, lambda _: None)
