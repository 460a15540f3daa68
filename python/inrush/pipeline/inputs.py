"""The input files of a pipeline run: rows of the generator as text, made once for all runs that read the same."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from inrush.border.pipeline import InputFiles
from inrush.border.plan import FileRows, TablePlan
from inrush.engines import page_cache


@dataclass(frozen=True)
class Inputs:
    paths: tuple[Path, ...]
    bytes: int
    #: Bytes of them that the kernel held in memory when the clock started.
    cached_bytes: int


def made(inputs: InputFiles, seed: int, epoch_ns: int, note: Callable[[int, int], None]) -> list[Path]:
    """The files with the rows of `rows_of`. note: how many of how many are there."""
    folder = Path(inputs["folder"]) / key_of(inputs, seed, epoch_ns)
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for n, (first, rows) in enumerate(rows_of(inputs)):
        # A last file with fewer rows is no file of a run in which others follow it.
        path = folder / (f"{n:06}.csv" if rows == inputs["rows_per_file"] else f"{n:06}-{rows}.csv")
        if not path.is_file():
            write(path, inputs["table"], seed, epoch_ns, first, rows)
        found.append(path)
        note(n + 1, inputs["files"])
    return found


def rows_of(inputs: InputFiles) -> list[tuple[int, int]]:
    """First row and number of rows of each file: equally many, the last one perhaps fewer."""
    rows, files = inputs["rows_per_file"], inputs["files"]
    total = inputs.get("rows", rows * files)
    return [(n * rows, min(rows, total - n * rows)) for n in range(files)]


def source_of() -> FileRows:
    """How the files say what they hold: no header, nothing quoted, no NULL (the generator makes none of these)."""
    return {
        "kind": "files",
        "paths": [],
        "format": "csv",
        "delimiter": ",",
        "header": False,
        "null": None,
        "reject_path": "",
        "reject_limit": 0,
    }


def key_of(inputs: InputFiles, seed: int, epoch_ns: int) -> str:
    """Equal for runs with the same rows in their files: neither the engine nor the number of files is in it."""
    table = inputs["table"]
    columns = [{k: v for k, v in c.items() if k != "wire"} for c in table["columns"]]
    identity = [table["stream"], columns, table["source"], seed, epoch_ns, inputs["rows_per_file"]]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def write(path: Path, table: TablePlan, seed: int, epoch_ns: int, first: int, rows: int) -> None:
    """On the disk when it returns, so that dropping it from memory is possible."""
    import pyarrow as pa
    import pyarrow.csv as csv

    from inrush import _core

    stream = pa.RecordBatchReader.from_stream(_core.generate(json.dumps(table), seed, epoch_ns, first, rows))
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as out:
        with csv.CSVWriter(out, stream.schema, write_options=options) as into:
            for batch in stream:
                into.write_batch(batch)
        out.flush()
        os.fsync(out.fileno())
    unfinished.rename(path)


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
