"""The input files of a load: rows of the generator as text, made once for all runs that read the same."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inrush.border.pipeline import InputFiles
from inrush.border.plan import FileRows, TablePlan
from inrush.engines.servers import page_cache
from inrush.errors import CoreError
from inrush.load.spool import seen
from inrush.study.files import key_of_cut


@dataclass(frozen=True)
class Inputs:
    paths: tuple[Path, ...]
    bytes: int
    #: Bytes of them that the kernel held in memory when the clock started.
    cached_bytes: int


@dataclass(frozen=True)
class OneFile:
    """The rows of one file."""

    path: Path
    first: int
    rows: int


def made(
    inputs: InputFiles,
    seed: int,
    epoch_ns: int,
    note: Callable[[int, int], None],
    numbers: Collection[int] | None = None,
) -> list[Path]:
    """The files with the rows of `rows_of`. note: how many of how many are there. numbers: of those that are made; None: all."""
    folder = Path(inputs["folder"]) / key_of_cut(inputs, seed, epoch_ns)
    folder.mkdir(parents=True, exist_ok=True)
    each = inputs.get("rows_per_file")
    files = []
    for n, (first, rows) in enumerate(rows_of(inputs, seed, epoch_ns)):
        if numbers is not None and n not in numbers:
            continue
        # A last file with fewer rows is no file of a run in which others follow it.
        path = folder / (f"{n:06}.csv" if each in (None, rows) else f"{n:06}-{rows}.csv")
        files.append(OneFile(path, first, rows))
    as_made, there = Stamps(folder), 0
    for is_there, some in itertools.groupby(files, lambda cut: as_made.hold(cut.path)):
        whole = list(some)
        paths = (path for run in runs(whole) for path in write(run, inputs["table"], seed, epoch_ns))
        for path in (cut.path for cut in whole) if is_there else paths:
            if not is_there:
                as_made.keep(path)
            there += 1
            note(there, len(files))
    return [cut.path for cut in files]


def runs(files: Sequence[OneFile]) -> Iterator[list[OneFile]]:
    """Files that follow one another, together: they are cut out of one stream."""
    held: list[OneFile] = []
    for cut in files:
        if held and held[-1].first + held[-1].rows != cut.first:
            yield held
            held = []
        held.append(cut)
    if held:
        yield held


class Stamps:
    """The files in a folder as they were made: one that was changed since is made anew."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "made"
        lines = self.path.read_text().splitlines() if self.path.is_file() else []
        #: Of a file that was made twice the later one; a line that a kill has cut is none.
        self.known = {name: stamp for name, _, stamp in (line.partition(" ") for line in lines)}

    def hold(self, path: Path) -> bool:
        return path.is_file() and self.known.get(path.name) == stamp(path)

    def keep(self, path: Path) -> None:
        with self.path.open("a") as out:
            out.write(f"{path.name} {stamp(path)}\n")


def stamp(path: Path) -> str:
    """All but the number on the disk, as `Stamp.differs` compares it."""
    return " ".join(map(str, seen(path)[:3]))


def rows_of(inputs: InputFiles, seed: int, epoch_ns: int) -> list[tuple[int, int]]:
    """First row and number of rows of each file: as the table itself lies in files, or equally many, the last one perhaps fewer."""
    if "rows_per_file" not in inputs:
        from inrush import _core

        cuts = _core.file_rows(json.dumps(inputs["table"]), seed, epoch_ns)
        return [(first, end - first) for first, end in itertools.pairwise(cuts)]
    rows, total = inputs["rows_per_file"], inputs["rows"]
    return [(n * rows, min(rows, total - n * rows)) for n in range(inputs["files"])]


def source_of() -> FileRows:
    """How the files say what they hold: no header, nothing quoted, no NULL (the generator makes none of these)."""
    return {
        "kind": "files",
        "paths": [],
        "format": "csv",
        "header": False,
        "reject_path": "",
        "reject_limit": 0,
    }


def write(files: Sequence[OneFile], table: TablePlan, seed: int, epoch_ns: int) -> Iterator[Path]:
    """Files that follow one another, each on the disk when it is given, so that dropping it from memory is possible.

    They are cut out of one stream: of a table that lies in many files a stream for each would look at all of them.
    """
    import pyarrow as pa
    import pyarrow.csv as csv

    from inrush import _core

    first, rows = files[0].first, sum(cut.rows for cut in files)
    stream = pa.RecordBatchReader.from_stream(_core.generate(json.dumps(table), seed, epoch_ns, first, rows))
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    held: pa.RecordBatch | None = None
    for cut in files:
        unfinished, left = cut.path.with_suffix(".part"), cut.rows
        with making(unfinished), unfinished.open("wb") as out:
            with csv.CSVWriter(out, stream.schema, write_options=options) as into:
                while left:
                    if held is None or not held.num_rows:
                        held = stream.read_next_batch()
                    some = held.slice(0, left)
                    into.write_batch(some)
                    held, left = held.slice(some.num_rows), left - some.num_rows
            out.flush()
            os.fsync(out.fileno())
        unfinished.rename(cut.path)
        yield cut.path


@contextmanager
def making(path: Path) -> Iterator[None]:
    """Names a file that cannot be written, and leaves nothing of it to fill the disk. Raises CoreError."""
    try:
        yield
    except OSError as e:
        path.unlink(missing_ok=True)
        raise CoreError(f"making input file {path}: {os.strerror(e.errno) if e.errno else e}") from None


def cooled(paths: Sequence[Path], cold: bool) -> Inputs:
    """The kernel forgets the files where that is asked for; no right is needed for one's own."""
    cached = 0
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        try:
            if cold:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)
        cached += page_cache.of_file(path).cached_bytes
    return Inputs(tuple(paths), sum(p.stat().st_size for p in paths), cached)
