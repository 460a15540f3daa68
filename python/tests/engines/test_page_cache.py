"""What the kernel holds of a server's files, by the kernel's own word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inrush.engines.base.instance import Cold, NotCold
from inrush.engines.servers import page_cache
from inrush.engines.servers.page_cache import Cached

PAGE = os.sysconf("SC_PAGE_SIZE")


def test_what_was_just_written_is_in_memory_to_the_byte(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "a").write_bytes(b"x" * (10 * PAGE + 7))
    (folder / "b").write_bytes(b"")
    (folder / "link").symlink_to(folder / "deep" / "a")
    assert page_cache.of(folder) == Cached(10 * PAGE + 7, 10 * PAGE + 7)


def test_what_the_kernel_forgot_is_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "WINDOW_BYTES", 16 * PAGE)  # several stretches of one file
    file = folder / "a"
    file.write_bytes(b"x" * 100 * PAGE)
    assert page_cache.of_file(file).cached_bytes == 100 * PAGE
    fd = os.open(file, os.O_RDONLY)
    os.fsync(fd)
    for _ in range(1000):  # a page that is in use at this moment stays until it is asked again
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        if page_cache.of_file(file) == Cached(100 * PAGE, 0):
            break
    os.close(fd)
    assert page_cache.of_file(file) == Cached(100 * PAGE, 0)


def test_a_database_of_the_users_is_forgotten_and_what_else_lies_in_its_folder_is_not(folder: Path) -> None:
    own = [folder / name for name in ("mine.db", "mine.db-wal", "mine.db-shm", "mine.db.wal")]
    (folder / "mine.db.tmp").mkdir()
    own.append(folder / "mine.db.tmp" / "spilled")
    other = [folder / "mine.db2", folder / "other.db", folder / "notes.txt"]
    for file in (*own, *other):
        file.write_bytes(os.urandom(64 * PAGE))
    with other[0].open("rb"):  # what others do with other files is their own affair
        done = page_cache.cold_files(folder / "mine.db")
    assert isinstance(done, Cold)
    assert f"of {len(own) * 64 * PAGE:,} bytes" in done.how
    assert all(page_cache.of_file(file).cached_bytes == 64 * PAGE for file in other)
    (folder / "link.db").symlink_to(own[0])
    assert page_cache.of(folder / "link.db").size_bytes == 4 * 64 * PAGE, "the files behind a link"
    with own[1].open("rb"):
        held = page_cache.cold_files(folder / "mine.db")
    assert isinstance(held, NotCold) and f"process {os.getpid()} has files of" in held.reason


def test_a_file_that_we_may_not_write_is_one_clear_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "mine.db"
    file.write_bytes(b"x" * PAGE)

    def refused(path: Path, flags: int) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refused)
        done = page_cache.cold_files(file)
    assert isinstance(done, NotCold)
    assert done.reason.startswith(f"{file}: this user may not write it")
    assert "\n" not in done.reason


def test_a_little_in_memory_is_cold_and_much_is_not() -> None:
    assert page_cache.is_cold(Cached(1 << 34, 1 << 27))
    assert page_cache.is_cold(Cached(1 << 20, 1 << 20)), "less than a log takes"
    assert not page_cache.is_cold(Cached(1 << 34, 1 << 30))
