"""Files that change, end early, go, or are not what their names say, while `inrush load` reads them: one clear line each,
nothing lost, nothing stored twice."""

from __future__ import annotations

import gzip
import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inrush.errors import CoreError, InrushError, UsageError
from inrush.load import identity, ledger, spool
from inrush.load.call import Call
from inrush.load.expand import expand
from inrush.load.identity import Content
from inrush.load.input import open_inputs
from inrush.load.ledger import Header
from inrush.load.run import load
from inrush.study.files import arrow_stream

#: Of each file.
ROWS = 4_000


def silent(*_: Any) -> None: ...


def lines(first: int, rows: int = ROWS) -> str:
    return "".join(f"{i}\tname {i}\n" for i in range(first, first + rows))


class Place:
    """A database with an empty table, and two files for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = [folder / "a.tsv", folder / "b.tsv"]
        for n, file in enumerate(self.files):
            file.write_text(lines(n * ROWS))
        self.ask("CREATE TABLE t (id bigint, name text)")

    def ask(self, *statements: str) -> list[Any]:
        """The answer of the last one."""
        with closing(sqlite3.connect(self.folder / "t.db")) as connection, connection:
            return [list(connection.execute(statement)) for statement in statements][-1]

    def load(self, on_event: Callable[[Any], None] = silent, **words: Any) -> Any:
        call = Call(
            tuple(map(str, self.files)),
            "t",
            f"sqlite:///{self.folder}/t.db",
            **{"chunk_rows": 200, "flush_rows": 200, **words},
        )
        return load(call, self.folder / "loads", silent, on_event)

    def is_whole(self) -> bool:
        return self.ask("SELECT count(*), count(DISTINCT id), sum(id) FROM t") == [
            (2 * ROWS, 2 * ROWS, 2 * ROWS * (2 * ROWS - 1) // 2)
        ]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def grown(file: Path) -> None:
    with file.open("a") as out:
        out.write("-1\tanother\n")


def replaced(file: Path) -> None:
    other = file.with_name("other")
    other.write_text(lines(10**6))
    other.rename(file)


def overwritten(file: Path) -> None:
    """Of the same length."""
    text = file.read_text().replace("name", "eman")
    file.write_text(text)


@contextmanager
def at_rest() -> Iterator[None]:
    """The processes of the load see a file as it was before, or as it is behind it, and never between two steps of a change."""
    pids = [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def as_if_not(file: Path) -> None:
    """Of the same length, with the time of the last write that the file had."""
    stat = file.stat()
    overwritten(file)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def copied_over(file: Path) -> None:
    """As `rsync -t` does it."""
    other, stat = file.with_name("other"), file.stat()
    other.write_text(file.read_text().replace("name", "eman"))
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.rename(file)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (cut, "changed while it was loaded"),
        (grown, "changed while it was loaded"),
        (replaced, "changed while it was loaded"),
        (overwritten, "it was written to"),
        (as_if_not, "it, its name or its rights were changed"),
        (copied_over, "another file is in its place"),
        (Path.unlink, "cannot be read any more"),
    ],
)
@pytest.mark.ci
def test_what_is_read_of_a_file_after_it_changed_is_not_stored_and_with_its_content_the_load_goes_on(
    place: Place, fault: Callable[[Path], None], said: str
) -> None:
    last, content, done = place.files[1], place.files[1].read_text(), []

    def on_event(event: Any) -> None:
        # The second file is being read.
        if event.get("role") == "client" and event.get("rows_stored", 0) > ROWS and not done:
            with at_rest():
                done.append(fault(last))

    with pytest.raises(InrushError) as failed:
        place.load(on_event, bytes_per_s=40_000.0)
    message = str(failed.value)
    assert done and message.startswith(f"{last}: ") and said in message and "repeat the command" in message
    assert "\n" not in message and "plan:" not in message
    [(stored, strange)] = place.ask(
        f"SELECT count(*), sum(id < 0 OR id >= {2 * ROWS} OR name <> 'name ' || id) FROM t"
    )
    assert ROWS < stored < 2 * ROWS and strange == 0
    last.write_text(content)
    again = place.load()
    assert (again.verdict, again.rows_stored, again.rows_before) == ("proven", 2 * ROWS - stored, stored)
    assert place.is_whole()


@pytest.mark.parametrize("turned", [False, True])
def test_an_import_that_goes_on_with_its_files_in_another_order_keeps_its_rejected_rows(
    place: Place, turned: bool
) -> None:
    for n, every in enumerate((100, 40)):
        rows = lines(n * ROWS).splitlines(keepends=True)
        rows[10::every] = [f"none {n}\tname\n"] * len(rows[10::every])
        place.files[n].write_text("".join(rows))
    first, done = place.files[0], []
    content = first.read_text()

    def on_event(event: Any) -> None:
        if event.get("role") == "client" and event.get("rows_stored", 0) > ROWS // 2 and not done:
            done.append(first.write_text("another"))

    with pytest.raises(InrushError):
        place.load(on_event, bytes_per_s=60_000.0, parallel=2, reject_limit=1_000)
    stored = place.ask("SELECT count(*) FROM t")[0][0]
    assert done and 0 < stored < 2 * ROWS
    first.write_text(content)
    if turned:
        names = [place.folder / name for name in ("of b.tsv", "of a.tsv")]
        place.files = [old.rename(new) for old, new in zip(reversed(place.files), names, strict=True)]
    again = place.load(reject_limit=1_000)
    assert again.rows_before == stored and again.verdict == "proven"
    _, *rejected = again.rejects.read_text().splitlines()
    assert again.rejected == len(rejected) == ROWS // 100 + ROWS // 40
    assert [sum(f",none {n}" in row for row in rejected) for n in (0, 1)] == [ROWS // 100, ROWS // 40]
    assert len({row.partition(".tsv,")[2] for row in rejected}) == len(rejected)


def test_a_changed_file_given_again_is_another_import_whose_stored_files_are_refused_in_a_short_line(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    place.files = [tmp_path / f"{n}.tsv" for n in range(8)]
    for n, file in enumerate(place.files):
        file.write_text(lines(n * ROWS, 10))
    assert place.load().verdict == "proven"
    grown(place.files[0])
    with pytest.raises(UsageError) as refused:
        place.load()
    assert "and so were 4 more of 8 files; leave such files out" in str(refused.value)
    assert str(refused.value).count(" was stored by import ") == 3
    place.files = place.files[:1]
    with pytest.raises(UsageError, match=r"it has grown since import .* stored 10 rows of it"):
        place.load()


def test_a_file_that_changes_while_it_is_looked_at_is_loaded_from_nowhere(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inrush import _core

    # Of a short file the digest is taken with its first rows.
    place.files[1].write_text(lines(ROWS, 20_000))

    def digest(path: str, *more: Any) -> Any:
        found = real(path, *more)
        grown(place.files[1])
        return found

    real = _core.file_digest
    monkeypatch.setattr(_core, "file_digest", digest)
    with pytest.raises(UsageError, match=r"b\.tsv: it changed while it was looked at"):
        place.load()
    assert place.ask("SELECT count(*) FROM t") == [(0,)]


def packed(text: str, kind: str) -> bytes:
    if kind == "gz":
        return gzip.compress(text.encode())
    return bytes(pa.compress(text.encode(), codec="zstd", asbytes=True))


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_packed_file_that_ends_early_stores_nothing_and_leaves_nothing(place: Place, kind: str) -> None:
    whole = packed(lines(0), kind)
    place.files = [place.folder / f"a.tsv.{kind}"]
    place.files[0].write_bytes(whole[:-9])
    with pytest.raises(UsageError, match=r"cannot be unpacked \(.*; it ends early, or is damaged"):
        place.load()
    assert list((place.folder / "loads" / "spool").iterdir()) == []
    assert place.ask("SELECT count(*) FROM t") == [(0,)]
    place.files[0].write_bytes(whole)
    assert place.load().rows_stored == ROWS


def test_a_packed_file_that_changes_while_it_is_unpacked_is_not_kept_under_what_it_held(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.files = [place.folder / "a.tsv.gz"]
    place.files[0].write_bytes(packed(lines(0), "gz"))

    def unpacking(path: Path, packing: str) -> Any:
        path.write_bytes(packed(lines(10**6), "gz"))
        return real(path, packing)

    real = spool.unpacking
    monkeypatch.setattr(spool, "unpacking", unpacking)
    with pytest.raises(UsageError, match=r"a\.tsv\.gz: it changed while it was looked at"):
        place.load()
    assert list((place.folder / "loads" / "spool").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.tsv.gz", b"1\tx\n", "is no gzip file, as its name says: it begins with b'1"),
        ("a.tsv.gz", b"", "is no gzip file, as its name says: it is empty"),
        ("a.csv.zst", b"\x1f\x8b" + b"\0" * 9, "is no zstd file, as its name says: it holds gzip"),
        ("a.parquet", b"id,name\n1,x\n", "is no Parquet file, as its name says"),
        ("a.parquet", b"PAR1" + b"\0" * 99, "Parquet"),
        ("a.csv", b"\x01\xff\0" * 999, "is not text"),
        ("a.csv", b"", "is empty"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused_in_a_line(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as refused:
        open_inputs([str(tmp_path / name)], tmp_path / "spool")
    assert str(refused.value).startswith(f"{tmp_path / name}: ") and said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_full_disk_is_named_with_what_was_unpacked_to_it_and_nothing_is_left_on_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.files = [place.folder / "a.tsv.gz"]
    place.files[0].write_bytes(packed(lines(0), "gz"))

    def full(source: Any, out: Any) -> None:
        out.write(b"1\tx\n")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool, "copy", full)
    with pytest.raises(CoreError) as failed:
        place.load()
    into = place.folder / "loads" / "spool"
    assert f"a.tsv.gz: unpacked: cannot be written to {into}/" in str(failed.value)
    assert " (No space left on device, " in str(failed.value)
    assert "INRUSH_RESULTS" in str(failed.value)
    assert list(into.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_named_with_the_parquet_file_and_nothing_is_left_on_it(tmp_path: Path) -> None:
    parquet, small = tmp_path / "a.parquet", tmp_path / "small"
    pq.write_table(pa.table({"id": pa.array(range(600_000))}), parquet)
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], check=False).returncode:
        pytest.skip("this root may mount nothing")
    try:
        with pytest.raises(CoreError) as failed:
            arrow_stream(parquet, {"id": "i64"}, small / "spool")
        assert list((small / "spool").iterdir()) == []
    finally:
        subprocess.run(["umount", "-l", small], check=True)
    assert str(failed.value).startswith(f"{parquet}: ") and "no space left" in str(failed.value)


def test_a_parquet_file_that_is_damaged_inside_stores_nothing(tmp_path: Path) -> None:
    parquet = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": pa.array(range(60_000))}), parquet)
    content = bytearray(parquet.read_bytes())
    content[1_000:9_000] = b"\xff" * 8_000
    parquet.write_bytes(bytes(content))
    with pytest.raises(UsageError, match=r"a\.parquet: not readable as Parquet"):
        arrow_stream(parquet, {"id": "i64"}, tmp_path / "spool")
    assert list((tmp_path / "spool").iterdir()) == []


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything."""
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody and come back")
def test_a_file_or_folder_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(0o755)
    closed = tmp_path / "closed"
    closed.mkdir()
    for n in range(3):
        (closed / f"{n}.tsv").write_text(lines(n, 10))
    (tmp_path / "a.tsv").write_text(lines(0, 10))
    (tmp_path / "a.tsv").chmod(0)
    closed.chmod(0)
    with as_nobody():
        with pytest.raises(UsageError, match=r"a\.tsv: cannot be read \(Permission denied\)"):
            open_inputs([str(tmp_path / "a.tsv")], tmp_path / "spool")
        for word in (f"{closed}/*.tsv", f"{closed}/1.tsv"):
            with pytest.raises(UsageError, match=r"cannot be read \(Permission denied\)"):
                expand([word])
    closed.chmod(0o755)


def test_words_that_lead_nowhere_are_a_short_line() -> None:
    with pytest.raises(UsageError) as refused:
        expand([f"/nowhere/{n}.tsv" for n in range(1_000)])
    assert str(refused.value).endswith("/nowhere/4.tsv: there is no such file; and 995 more")


def test_files_of_one_content_keep_their_numbers_in_order() -> None:
    header = Header("x", "x", 0, "t", ("d", "e", "d"), ("1", "2", "3"), 1, "", 0, 0, 1)
    contents = [Content("c", "d", 1), Content("a", "e", 1), Content("b", "d", 1)]
    assert identity.numbers(header, contents) == (0, 1, 2)
    assert identity.numbers(header, contents[::-1]) == (0, 1, 2)
    assert identity.numbers(header, [contents[1], contents[0], contents[2]]) == (1, 0, 2)


def test_a_document_of_the_ledger_is_encoded_as_ever() -> None:
    text = "".join(map(chr, range(32, 127))) + "%22 %2522 100%"
    assert ledger.encoded(text) == quote(text, safe=",: []{}")
    assert ledger.decoded(ledger.encoded(text)) == text


# --- what is unpacked


def kept(place: Place) -> list[Path]:
    return [path for path in (place.folder / "loads").rglob("*") if path.parent.parent.name == "spool"]


def test_what_was_unpacked_is_for_its_owner_alone_and_gone_when_the_load_has_ended(place: Place) -> None:
    place.files = [place.folder / "a.tsv.gz"]
    place.files[0].write_bytes(packed(lines(0), "gz"))
    modes: list[tuple[int, int]] = []

    def on_event(event: Any) -> None:
        modes.extend(
            (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) for path in kept(place)
        )

    assert place.load(on_event, bytes_per_s=40_000.0).verdict == "proven"
    assert modes and set(modes) == {(0o600, 0o700)}
    assert not (place.folder / "loads" / "spool").exists()


@pytest.mark.parametrize("failure", [None, UsageError("--dates dmy: write iso"), CoreError("none")])
def test_what_one_command_has_unpacked_outlives_another_one_of_the_same_files(
    tmp_path: Path, failure: Exception | None
) -> None:
    with spool.spool_of(["a.gz"], tmp_path / "spool") as first:
        (first / "a.gz.1").write_text("1\n")
        (first / f"{spool.OF_STDIN}1").write_text("1\n")
        with suppress(UsageError, CoreError), spool.spool_of(["a.gz"], tmp_path / "spool") as second:
            assert second == first
            if failure is not None:
                raise failure
        assert sorted(path.name for path in first.iterdir()) == ["a.gz.1", f"{spool.OF_STDIN}1"]
    assert not (tmp_path / "spool").exists()


def test_a_file_that_a_killed_process_of_the_same_number_left_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / f"a-{os.getpid()}.part").write_text("half")
    with spool.written(tmp_path / "a", "a") as out:
        out.write(b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole"


def test_a_file_that_changes_under_its_first_look_is_not_called_something_else(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inrush.study import sniff

    monkeypatch.setattr(sniff, "look_at", lambda *_: ["it changed while it was looked at"])
    with pytest.raises(UsageError, match=r"a\.tsv: it changed while it was looked at$"):
        sniff.sniff(place.files[0])


def test_what_was_unpacked_stays_for_the_command_that_goes_on_and_for_no_other(place: Place) -> None:
    place.files = [place.folder / "a.tsv.gz"]
    place.files[0].write_bytes(packed(lines(0), "gz"))
    place.ask("CREATE TRIGGER no BEFORE INSERT ON t WHEN NEW.id = 3000 BEGIN SELECT raise(ABORT, 'no'); END")
    with pytest.raises(InrushError):
        place.load()
    assert len(kept(place)) == 1
    place.ask("DROP TRIGGER no")
    assert place.load().verdict == "proven" and kept(place) == []
    place.files[0].write_bytes(packed(lines(9 * ROWS), "gz"))
    with pytest.raises(UsageError):
        place.load(columns="a,b,c", header="no")
    assert kept(place) == []


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_chunk_that_ends_elsewhere_than_the_ledger_has_it_is_refused(place: Place, elsewhere: bool) -> None:
    """Chunk 3 is missing, so that the chunks behind it are sent again: by its number alone chunk 4 would be taken for stored,
    whatever rows it has by now."""
    place.load()
    place.ask(
        "DELETE FROM inrush_load_ledger WHERE file_no = 0 AND chunk_no = 3",
        "DELETE FROM t WHERE id BETWEEN 600 AND 799",
    )
    if elsewhere:
        moved = "goes_on = replace(goes_on, '\"stored\":1000,', '\"stored\":1001,')"
        place.ask(f"UPDATE inrush_load_ledger SET {moved} WHERE file_no = 0 AND chunk_no = 4")
        with pytest.raises(
            InrushError, match="chunk 4 of file 1 ends at another place than the one that the ledger has"
        ):
            place.load()
    else:
        assert place.load().proven and place.is_whole()
