"""What many small files in one folder cost `inrush load`: until the first row is stored, and until the proof.

`python -m benches.many_files --files 100000`: files of ten rows each into a table of SQLite that is there, in a folder of
its own. Seconds of processor time, of the command and of its client and load server, are what another machine would see
too; the wall is what the person waits.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

#: Of a file.
ROWS = 10
TABLE = "t"


def make(folder: Path, files: int) -> None:
    folder.mkdir()
    for n in range(files):
        first = n * ROWS
        text = "".join(f"{i}\tname {i}\t{i * 0.25}\n" for i in range(first, first + ROWS))
        (folder / f"{n:07}.tsv").write_text(text)


def cpu_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


class FirstRow:
    """When a client says first that rows are stored."""

    def __init__(self) -> None:
        self.began_s, self.began_cpu_s = time.monotonic(), cpu_s(resource.RUSAGE_SELF)
        self.wall_s = self.cpu_s = 0.0

    def look(self, event: dict[str, Any]) -> None:
        if self.wall_s == 0.0 and event.get("role") == "client" and event.get("rows_stored", 0) > 0:
            self.wall_s = time.monotonic() - self.began_s
            self.cpu_s = cpu_s(resource.RUSAGE_SELF) - self.began_cpu_s


def measured(here: Path, files: int, say: Callable[[str], None]) -> None:
    from inrush.load.call import Call
    from inrush.load.run import load

    make(here / "in", files)
    with closing(sqlite3.connect(here / "t.db")) as connection:
        connection.execute(f"CREATE TABLE {TABLE} (id bigint, name text, v double)")
    call = Call((f"{here}/in/*.tsv",), TABLE, f"sqlite:///{here}/t.db")
    first = FirstRow()
    done = load(call, here / "loads", lambda _: None, first.look)
    if not done.proven or done.rows_stored != files * ROWS:
        raise SystemExit(f"the load is {done.verdict}: {done.why}")
    with closing(sqlite3.connect(here / "t.db")) as connection:
        [(lines, header)] = connection.execute("SELECT count(*), max(length(sums)) FROM inrush_load_ledger")
    own, ends = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    say(
        f"{files:,} files: first rows stored after {first.cpu_s:.2f} CPU-s of the command, {first.wall_s:.2f} s wall"
    )
    say(
        f"in all {cpu_s(resource.RUSAGE_SELF) - first.began_cpu_s:.2f} CPU-s of the command, "
        f"{cpu_s(resource.RUSAGE_CHILDREN):.2f} of client and load server, {done.seconds:.1f} s wall; "
        f"the proof took {done.costs['proof_s']:.2f} s of them"
    )
    say(
        f"memory: {own.ru_maxrss / 1024:.0f} MB of the command, {ends.ru_maxrss / 1024:.0f} MB of the larger other end"
    )
    say(f"ledger: {lines:,} lines, the longest text {header / 1e6:.1f} MB")
    began_s, began_cpu_s = time.monotonic(), cpu_s(resource.RUSAGE_SELF)
    again = load(call, here / "loads", lambda _: None, lambda _: None)
    if again.rows_before != files * ROWS:
        raise SystemExit("the same command did not find its rows")
    say(
        f"the same command again: {cpu_s(resource.RUSAGE_SELF) - began_cpu_s:.2f} CPU-s, {time.monotonic() - began_s:.1f} s wall"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument(
        "--folder", type=Path, help="for the files; default: the system's for what is temporary"
    )
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=wanted.folder) as here:
        measured(Path(here), wanted.files, print)


if __name__ == "__main__":
    main()
