"""How often a load opens an embedded database, and that nothing of ours has it open beside another opener."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from inrush import _core
from inrush.border.load import LoadPlan
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.errors import InrushError, UsageError
from inrush.load.call import Call
from inrush.load.process import End
from inrush.load.run import load
from inrush.load.shards import Shards, shards_at


class Opened:
    """Counts openings, and those that are open now."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.total = self.now = 0
        control, read_table = _core.Control, _core.read_table
        outer = self

        class Counted:
            def __init__(self, target: str) -> None:
                assert outer.now == 0, "two of one process would not see each other's locks"
                self._of = control(target)
                outer.total, outer.now = outer.total + 1, outer.now + 1

            def ask(self, *words: Any) -> str:
                return self._of.ask(*words)

            def close(self) -> None:
                self._of.close()
                outer.now -= 1

        def once(target: str, *words: Any) -> str:
            assert self.now == 0, "two of one process would not see each other's locks"
            self.total += 1
            return asked(target, *words)

        def scanned(document: str) -> str:
            assert self.now == 0, "the database is open in this process while it is read back"
            self.total += 1
            return read_table(document)

        asked = _core.control
        monkeypatch.setattr(_core, "Control", Counted)
        monkeypatch.setattr(_core, "control", once)
        monkeypatch.setattr(_core, "read_table", scanned)


def loaded(folder: Path, engine: str, **words: Any) -> str:
    file = folder / "a.csv"
    file.write_text("id,v\n1,a\n2,b\n")
    call = Call((str(file),), "t", into=f"{engine}://{folder}/t.db", create=True, **words)
    return load(call, folder / "loads", lambda _: None, lambda _: None).verdict


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_an_embedded_database_is_opened_once_before_and_once_after_the_rows(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, begin, seen = Opened(monkeypatch), End.begin, list[int]()

    def begun(self: End, document: LoadPlan, log: Path) -> None:
        seen.append(opened.now)
        begin(self, document, log)

    monkeypatch.setattr(End, "begin", begun)
    assert loaded(tmp_path, engine) == "proven"
    assert seen == [0, 0], "open while the load server writes"
    assert opened.now == 0
    # What is summed by reading back is one opening more, and the statements behind it another.
    assert opened.total <= 4


def test_a_table_that_is_read_back_is_open_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Opened(monkeypatch)
    assert loaded(tmp_path, "duckdb", verify=True) == "proven"
    assert opened.now == 0


def test_a_refused_load_leaves_the_database_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Opened(monkeypatch)
    with pytest.raises(InrushError):
        loaded(tmp_path, "duckdb", key=("nowhere",))
    assert opened.now == 0
    with duckdb.connect(f"{tmp_path}/t.db") as connection:
        connection.execute("SELECT 1")


def test_what_was_closed_says_so(tmp_path: Path) -> None:
    shards = Shards("sqlite", server("sqlite"), [Target("sqlite", f"sqlite://{tmp_path}/t.db")])
    [(_, target)] = shards.documents()
    with shards.held_open():
        assert shards.ask(target, "SELECT 1 AS n") == [["1"]]
        (connection, _), *_ = (shards._open or {}).values()
    with pytest.raises(_core.CoreFailure, match="was closed"):
        connection.ask("SELECT 1", 1.0)


def test_a_file_with_two_spellings_is_open_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that have one file open in a process do not see each other's locks: rows were lost that way."""
    opened = Opened(monkeypatch)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    urls = [f"duckdb://{tmp_path}/{folder}/t.db" for folder in ("folder", "folder/../folder", "link")]
    shards = Shards("duckdb", server("duckdb"), [Target("duckdb", url) for url in urls])
    with shards.held_open():
        for _, target in shards.documents():
            shards.ask(target, "SELECT 1 AS n")
        assert (opened.now, opened.total) == (1, 1)
        shards._let_go(shards.documents()[2][1])
        assert opened.now == 0, "by whatever name it was opened"


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@pytest.mark.parametrize("other", ["folder/t.db", "folder/../folder/t.db", "link/t.db", "hard.db"])
def test_shards_that_are_one_file_are_refused(
    engine: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "t.db").touch()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    (tmp_path / "hard.db").hardlink_to(tmp_path / "folder" / "t.db")
    one, two = f"{engine}://{tmp_path}/folder/t.db", f"{engine}://{tmp_path}/{other}"
    with pytest.raises(UsageError, match="are one file; give each shard a file of its own") as refused:
        shards_at([one, f"{engine}://{tmp_path}/third.db", two], lambda _: None)
    assert one in str(refused.value) and two in str(refused.value)
    assert len(shards_at([one, f"{engine}://{tmp_path}/third.db"], lambda _: None).targets) == 2
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="are one file"):
        shards_at([one, f"{engine}://folder/t.db"], lambda _: None)


def test_a_file_that_does_not_close_leaves_no_other_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Opened(monkeypatch)
    urls = [f"sqlite://{tmp_path}/{name}.db" for name in "abc"]
    shards = Shards("sqlite", server("sqlite"), [Target("sqlite", url) for url in urls])

    def ask_all() -> None:
        for _, target in shards.documents():
            # One at a time in the count; that several files are open together is what shards are.
            opened.now = 0
            shards.ask(target, "SELECT 1 AS n")

    closed = list[str]()
    with pytest.raises(OSError, match="no space"), shards.held_open():
        ask_all()
        for name, (_, stack) in zip("abc", (shards._open or {}).values(), strict=True):
            stack.callback(closed.append, name)
            if name != "c":
                stack.callback(failing)
    assert sorted(closed) == ["a", "b", "c"]
    with shards.held_open():
        opened.total = 0
        ask_all()
        assert opened.total == 3, "opened again"


def failing() -> None:
    raise OSError("no space")
