"""What of a server's files the kernel holds in memory, and how it is made to forget them."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from inrush.engines.base.instance import Cold, NotCold

DROP = Path("/proc/sys/vm/drop_caches")
#: Left in memory by a run that is cold: at most this share of the data, and what directories and a log may take.
COLD_SHARE = 0.01
COLD_BYTES = 1 << 20
#: Bytes mapped at a time: a table of 100 GB needs no address space of its own.
WINDOW_BYTES = 1 << 30
#: What SQLite and DuckDB keep beside a database's file, by its name; the last is a folder of DuckDB's.
BESIDE = ("", "-wal", "-shm", "-journal", ".wal", ".tmp")


@dataclass(frozen=True)
class Cached:
    size_bytes: int
    cached_bytes: int


def can_drop() -> bool:
    return os.access(DROP, os.W_OK)


def drop() -> None:
    """Writes back and forgets the kernel's page cache, of the whole machine."""
    os.sync()
    DROP.write_text("3\n")


def forget(place: Path) -> None:
    """Writes back and forgets the files of a place, and no other: it needs no right but to write them.

    A place is a folder, with all files below it, or the file of a database, with what its engine keeps beside it.
    """
    for file in _files(place):
        with contextlib.suppress(FileNotFoundError):
            fd = os.open(file, os.O_RDWR)
            try:
                os.fsync(fd)  # the kernel keeps what is not written yet
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(fd)


def holders(place: Path) -> list[int]:
    """Process ids that have a file of a place open, of those that we may look at."""
    files = {file.resolve() for file in _files(place)}
    held = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # gone meanwhile, or another user's
            if link.readlink() in files:
                held.add(int(link.parts[2]))
    return sorted(held)


def cold_files(place: Path) -> Cold | NotCold:
    """What makes an engine cold that has no server: it has closed its files, and the kernel forgets them."""
    if pids := holders(place):
        return NotCold(f"process {pids[0]} has files of {place} open, and may hold their pages itself")
    try:
        before = of(place)
        forget(place)
        after = of(place)
    except PermissionError as e:
        return NotCold(
            f"{e.filename}: this user may not write it, and the kernel says of no other file what it holds in memory; "
            "give the right to write it, or leave the step out"
        )
    if not is_cold(after):
        return NotCold(
            f"{after.cached_bytes:,} of the {after.size_bytes:,} bytes of {place} were still in memory although the kernel was "
            "asked to forget them; this filesystem does not let go of pages"
        )
    return Cold(
        f"database closed, its files written back and forgotten by the kernel; of {after.size_bytes:,} bytes "
        f"{before.cached_bytes:,} were in memory before, {after.cached_bytes:,} after"
    )


def is_cold(left: Cached) -> bool:
    """Whether so little is in memory that reads come from the device."""
    return left.cached_bytes <= COLD_BYTES + COLD_SHARE * left.size_bytes


def of(place: Path) -> Cached:
    """The files of a place, and how much of them is in memory. Files that end meanwhile count as nothing.

    The kernel reports it for files that we own or may write; for others it reports that all is in memory.
    """
    total = Cached(0, 0)
    for file in _files(place):
        with contextlib.suppress(FileNotFoundError):
            one = of_file(file)
            total = Cached(total.size_bytes + one.size_bytes, total.cached_bytes + one.cached_bytes)
    return total


def of_file(file: Path) -> Cached:
    """Source: mincore(2)."""
    fd = os.open(file, os.O_RDONLY)
    try:
        size = os.fstat(fd).st_size
        return Cached(
            size, sum(_resident(fd, at, min(WINDOW_BYTES, size - at)) for at in range(0, size, WINDOW_BYTES))
        )
    finally:
        os.close(fd)


def _resident(fd: int, offset: int, length: int) -> int:
    """Bytes in memory of one stretch of a file."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    at = libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, fd, offset)
    if at == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    pages = -(-length // mmap.PAGESIZE)
    resident = (ctypes.c_ubyte * pages)()
    try:
        if libc.mincore(ctypes.c_void_p(at), ctypes.c_size_t(length), resident) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
    finally:
        libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(length))
    # The last page counts whole though the file may end in it: a stretch is never more than it is long.
    return min(length, sum(page & 1 for page in bytes(resident)) * mmap.PAGESIZE)


def _files(place: Path) -> Iterable[Path]:
    if not place.is_dir():
        # An engine names what lies beside it by the name that it was given, or by the file behind a link.
        names = {near.with_name(near.name + end) for near in (place, place.resolve()) for end in BESIDE}
        yield from (path for path in sorted(names) if path.is_file() and not path.is_symlink())
        place = place.with_name(place.name + BESIDE[-1])
    for folder, _, below in os.walk(place):
        for name in below:
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                yield path
