"""What the kernel holds of a server's files, by the kernel's own word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inrush.engines import page_cache
from inrush.engines.page_cache import Cached

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


def test_a_little_in_memory_is_cold_and_much_is_not() -> None:
    assert page_cache.is_cold(Cached(1 << 34, 1 << 27))
    assert page_cache.is_cold(Cached(1 << 20, 1 << 20)), "less than a log takes"
    assert not page_cache.is_cold(Cached(1 << 34, 1 << 30))
