"""Packed files and standard input as files that can be read more than once, in the folder of this tool's loads.

They hold what the input holds: only their owner may read them.
"""

from __future__ import annotations

import codecs
import fcntl
import hashlib
import lzma
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from inrush.border.load import FileStamp
from inrush.errors import CoreError, UsageError
from inrush.load.expand import STDIN
from inrush.study.parquet import OF_ENCRYPTED, OF_PARQUET

#: First bytes of a compressed file -> how it is packed.
PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
#: Ending of a name -> what its first bytes then are.
ENDINGS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".parquet": "Parquet"}
#: How the names of what comes through standard input begin.
OF_STDIN = "stdin-"


@contextmanager
def spool_of(command: Sequence[str], folder: Path) -> Iterator[Path]:
    """A folder for what one command unpacks, which only its owner may read; it is gone when the command has done its work.

    Where rows may be stored and more are to come, it stays: the same command goes on with it. command: what it is known by.
    """
    key = hashlib.sha256("\0".join(command).encode(errors="surrogateescape")).hexdigest()[:16]
    spool = folder / key
    at = folder / f"{key}.lock"
    lock = shared(at)
    try:
        spool.mkdir(mode=0o700, exist_ok=True)
        yield spool
    except UsageError:
        with suppress(BlockingIOError), alone(lock, at):
            shutil.rmtree(spool, ignore_errors=True)
        raise
    except BaseException:
        with suppress(BlockingIOError), alone(lock, at):
            # What came through a pipe comes again with the command.
            for piped in spool.glob(f"{OF_STDIN}*"):
                piped.unlink(missing_ok=True)
            with suppress(OSError):  # something is there to go on with
                spool.rmdir()
        raise
    else:
        with suppress(BlockingIOError), alone(lock, at):
            shutil.rmtree(spool, ignore_errors=True)
        with suppress(OSError):  # another command has something there
            folder.rmdir()
    finally:
        lock.close()


def shared(path: Path) -> IO[bytes]:
    """A lock that every command with the same files has while it works: the folder is there as long as one of them is."""
    while True:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            lock = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        except FileNotFoundError:  # another command has removed the folder just now
            continue
        fcntl.flock(lock, fcntl.LOCK_SH)
        # Meanwhile the last command that had it may have removed it.
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(lock.fileno())):
                return lock
        lock.close()


@contextmanager
def alone(lock: IO[bytes], at: Path) -> Iterator[None]:
    """Where no other command has the lock; it is gone afterwards. Raises BlockingIOError where another has it."""
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    yield
    at.unlink(missing_ok=True)


def spooled(name: str, spool: Path, encoding: str = "") -> Path:
    """The file itself, or what it holds once unpacked, as UTF-8.

    encoding: of its text; empty: UTF-8, or none. Raises UsageError for a file that cannot be read, unpacked or decoded, or is not
    what its name says, CoreError without room.
    """
    if name == STDIN:
        return of_stdin(spool, encoding)
    path = Path(name)
    try:
        before = seen(path)
        with path.open("rb") as file:
            head = file.read(6)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    packing = packing_of(head)
    refuse_misnamed(path, head, packing)
    if encoding and head.startswith(OF_PARQUET):
        raise UsageError(f"{path}: --encoding is of texts, and this is Parquet; leave it out")
    if packing is None and not encoding:
        return path
    # By what it holds: another file may have its name, size and time.
    into = spool / ".".join([path.name, digest_of(path), *([encoding] if encoding else [])])
    if not into.is_file():
        with written(into, f"{path}: unpacked" if packing else f"{path}: as UTF-8") as out:
            unpack(path, str(path), packing, out, encoding)
            refuse_changed(path, str(path), before)
    return into


def packing_of(head: bytes) -> str | None:
    return next((kind for start, kind in PACKED.items() if head.startswith(start)), None)


def unpack(path: Path, shown: str, packing: str | None, out: IO[bytes], encoding: str = "") -> None:
    try:
        with unpacking(path, packing) if packing else path.open("rb") as packed:
            copy(packed, Decoded(out, shown, encoding) if encoding else out)
    except (EOFError, lzma.LZMAError, Unpackable) as error:
        raise UsageError(
            f"{shown}: cannot be unpacked ({error}); it ends early, or is damaged: fetch it again"
        ) from error


class Decoded:
    """Writes text of this encoding as UTF-8. Raises UsageError at bytes that are none of it."""

    def __init__(self, out: IO[bytes], shown: str, encoding: str) -> None:
        self.out, self.shown, self.encoding = out, shown, encoding
        self.decoder = codecs.getincrementaldecoder(encoding)("strict")
        self.lines = 1

    def write(self, block: bytes, final: bool = False) -> None:
        try:
            text = self.decoder.decode(block, final)
        except UnicodeDecodeError as error:
            line = self.lines + error.object[: error.start].count(b"\n")
            bad = error.object[error.start : error.end].hex(" ")
            raise UsageError(
                f"{self.shown}: line {line:,}: {bad} is no character of {self.encoding}; give the encoding that the file has"
            ) from error
        self.lines += text.count("\n")
        self.out.write(text.encode())

    def end(self) -> None:
        self.write(b"", True)


def encoding_problem(name: str) -> str:
    """Why this is no encoding of texts; empty where it is one."""
    try:
        # UTF-8 with a mark at its begin is read as it is.
        codecs.lookup(name).incrementaldecoder and "".encode(name)
    except (LookupError, ValueError):
        return (
            f"--encoding {name}: is not known; for instance windows-1252, latin-1, utf-16, cp850, shift-jis"
        )
    return ""


def of_stdin(spool: Path, encoding: str = "") -> Path:
    """What comes through standard input, packed or not."""
    piped = spool / f"{OF_STDIN}{secrets.token_hex(8)}"
    with written(piped, "standard input") as out:
        copy(sys.stdin.buffer, out)
    with piped.open("rb") as file:
        packing = packing_of(file.read(6))
    if packing is not None or encoding:
        into = piped.with_name(f"{piped.name}.unpacked")
        with written(into, "standard input: unpacked") as out:
            unpack(piped, "standard input", packing, out, encoding)
        piped.unlink()
        piped = into
    return piped.rename(spool / f"{OF_STDIN}{digest_of(piped)}")


class Unpackable(Exception):
    """What is read is no packed file: an OSError of a library, which is none of a disk."""


def copy(source: IO[bytes], out: IO[bytes] | Decoded) -> None:
    """Raises Unpackable where `source` cannot be read, OSError where `out` cannot be written."""
    while True:
        try:
            block = source.read(1 << 20)
        except OSError as error:
            raise Unpackable(str(error)) from error
        if not block:
            if isinstance(out, Decoded):
                out.end()
            return
        out.write(block)


@contextmanager
def written(into: Path, what: str) -> Iterator[IO[bytes]]:
    """A file that has its name once it is whole; of one that is not, nothing is left. Raises CoreError without room."""
    # By chance, not by process: in a container a later process has the number of one that was killed.
    unfinished = into.with_name(f"{into.name}-{secrets.token_hex(8)}.part")
    try:
        into.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            yield out
        unfinished.rename(into)
    except OSError as error:
        raise no_room(what, into.parent, error) from error
    finally:
        unfinished.unlink(missing_ok=True)


def no_room(what: str, folder: Path, error: OSError) -> CoreError:
    free = shutil.disk_usage(folder).free if folder.is_dir() else 0
    return CoreError(
        f"{what}: cannot be written to {folder} ({error.strerror or error}, {free / 1e6:,.0f} MB free); nothing is stored of it. "
        "Make room, or let INRUSH_RESULTS name a folder on a larger disk"
    )


def refuse_misnamed(path: Path, head: bytes, packing: str | None) -> None:
    """Raises UsageError for a file whose name ends as that of a packed or Parquet file, and which is none."""
    said = ENDINGS.get(path.suffix.lower())
    found = "Parquet" if head.startswith((OF_PARQUET, OF_ENCRYPTED)) else packing
    if said in (None, found):
        return
    what = "it is empty" if not head else f"it holds {found}" if found else f"it begins with {head[:6]!r}"
    raise UsageError(f"{path}: is no {said} file, as its name says: {what}; fetch it again, or rename it")


def is_packed_by_name(name: str) -> bool:
    return name.lower().endswith(tuple(ENDINGS))


class Stamp(NamedTuple):
    """A file as it was. Twin of rust/rows/src/rows/files/stamp.rs, which says why these are four."""

    bytes: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    def differs(self, now: Stamp) -> bool:
        return self[:3] != now[:3]

    def document(self) -> FileStamp:
        return {
            "bytes": self.bytes,
            "mtime_ns": self.mtime_ns,
            "ctime_ns": self.ctime_ns,
            "inode": self.inode,
        }


def seen(path: Path | str) -> Stamp:
    stat = os.stat(path)  # noqa: PTH116  of 10^5 files
    return Stamp(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)


def refuse_changed(path: Path, shown: str, before: Stamp) -> None:
    """Raises UsageError for a file that is not as it was. before: as of `seen`."""
    try:
        now = seen(path)
    except OSError as error:
        raise UsageError(f"{shown}: cannot be read any more ({error.strerror or error})") from error
    if before.differs(now):
        raise UsageError(
            f"{shown}: it changed while it was looked at ({before.bytes:,} bytes then, {now.bytes:,} now), and nothing is stored of it; "
            "give the command again when nothing writes to it"
        )


def digest_of(path: Path) -> str:
    from inrush import _core

    digest: str = _core.file_digest(str(path))[0]
    return digest


def unpacking(path: Path, packing: str) -> IO[bytes]:
    """What the file holds, as a stream."""
    if packing == "xz":
        return lzma.open(path, "rb")
    import pyarrow as pa

    unpacked: IO[bytes] = pa.input_stream(str(path), compression=packing)
    return unpacked
