"""What a load of the user's files did over time, as a Parquet file: `inrush load --series FILE.parquet`.

It is written down line by line while the load goes on, so that a load which was killed and goes on has one series, with a gap
in it. The file is made when the load has ended.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.errors import Problem
from inrush.plan import ends
from inrush.targets.passwords import environment
from inrush.targets.sizes import sampled

if TYPE_CHECKING:
    import pyarrow as pa

    from inrush.border.plan import SamplePlan, Target
    from inrush.load.shards import Shards

Doc = dict[str, Any]

#: Length of an interval, and how often sizes are asked for.
INTERVAL_NS, SIZES_NS = 1_000_000_000, 5_000_000_000
#: Rows of a batch of the file.
BATCH_ROWS = 8_192
#: In the folder of the import, until its load has ended.
JOURNAL = "series.jsonl"


def path_problems(path: str | None) -> Iterator[Problem]:
    """Why a file could not be written when the load has ended."""
    if path is None:
        return
    if not path.endswith(".parquet"):
        yield Problem.sentence(f"--series {path}: the series is a Parquet file; name it FILE.parquet")
    if not Path(path).absolute().parent.is_dir():
        yield Problem.sentence(f"--series {path}: there is no folder {Path(path).absolute().parent}; make it")


class LoadSeries:
    """Of one call. Its lines follow those of earlier calls for the same import."""

    def __init__(self, own: Path) -> None:
        self.path = own / JOURNAL
        self._out = self.path.open("a", encoding="utf-8")
        self._one = threading.Lock()
        self._begun = False
        #: Of clients that have ended, and of the one at work: rows, bytes, files.
        self._left, self._now = (0, 0, 0), (0, 0, 0)
        self._sizes: dict[int, int] = {}

    def watched(self, on_event: Callable[[Doc], None]) -> Callable[[Doc], None]:
        """The same events, and what clients say of their progress written down."""

        def event(doc: Doc) -> None:
            if doc["event"] == "progress" and doc["role"] == "client":
                self.look(doc)
            on_event(doc)

        return event

    def begin(self, rows_before: int) -> None:
        self._begun = True
        self._say("go", rows=rows_before, unix_ns=time.time_ns())

    def look(self, doc: Mapping[str, Any]) -> None:
        size = round(doc.get("stored_bytes", doc["bytes"]))
        self._now = int(doc["rows_stored"]), size, int(doc["files_done"])
        self._said()

    def client_ended(self, last: Mapping[str, Any]) -> None:
        """Its last word: all that it read is stored, by it or by another command."""
        own = int(last["rows_stored"]), int(last["bytes"] - last["bytes_of_others"]), int(last["files_done"])
        self._left = tuple(a + b for a, b in zip(self._left, own, strict=True))  # type: ignore[assignment]
        self._now = (0, 0, 0)
        self._said()

    def _said(self) -> None:
        rows, size, files = (a + b for a, b in zip(self._left, self._now, strict=True))
        self._say("look", rows=rows, bytes=size, files=files)

    def sized(self, shard: int, found: Sequence[tuple[str, str]]) -> None:
        """Rows and indexes of the table on a shard, or the file of an embedded engine with what lies beside it."""
        of = ("table", "indexes", "index", "file", "log")
        held = [int(float(v)) for name, v in found if name.partition(":")[0] in of and v not in ("None", "")]
        self._sizes[shard] = sum(held)
        self._say("sizes", bytes=sum(self._sizes.values()), shards=len(self._sizes))

    def _say(self, said: str, **line: Any) -> None:
        text = json.dumps({"said": said, "t_ns": time.monotonic_ns(), **line}, separators=(",", ":"))
        with self._one:
            if self._begun and not self._out.closed:
                self._out.write(text + "\n")
                self._out.flush()

    def close(self) -> None:
        with self._one:
            self._out.close()

    def write(self, path: Path, shards: int) -> None:
        """The whole series, of all calls; what it was made of goes."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.close()
        unfinished = path.with_name(path.name + ".part")
        schema = schema_of()
        with pq.ParquetWriter(unfinished, schema, compression="zstd") as out:
            for some in in_batches(rows_of(self.path, shards)):
                out.write_table(pa.Table.from_pylist(some, schema))
        unfinished.rename(path)
        self.path.unlink()


def schema_of() -> pa.Schema:
    import pyarrow as pa

    whole = ("t_ns", "dt_ns", "rows", "bytes", "files", "cum_rows")
    return pa.schema(
        [("call", pa.uint32()), *((n, pa.uint64()) for n in whole), ("table_bytes", pa.uint64())]
    )


def in_batches(rows: Iterator[Doc]) -> Iterator[list[Doc]]:
    some: list[Doc] = []
    for row in rows:
        some.append(row)
        if len(some) == BATCH_ROWS:
            yield some
            some = []
    if some:
        yield some


def lines(path: Path) -> Iterator[Doc]:
    with path.open(encoding="utf-8", errors="replace") as held:
        for text in held:
            with contextlib.suppress(json.JSONDecodeError):
                yield json.loads(text)


def rows_of(path: Path, shards: int) -> Iterator[Doc]:
    """Intervals of a second or longer, call after call; `t_ns` counts from the first one's begin, by the wall clock.

    The rows of a call that was killed are those that the ledger has when the next one begins.
    """
    calls = [line for line in lines(path) if line["said"] == "go"]
    call, last, at, size = -1, (0, 0, 0, 0), 0, None
    pending: Doc | None = None

    def row(until_ns: int, rows: int, size_now: int, files: int) -> Doc:
        return {
            "call": call, "t_ns": last[0], "dt_ns": until_ns - last[0], "rows": rows - last[1],
            "bytes": size_now - last[2], "files": files - last[3], "cum_rows": rows, "table_bytes": size,
        }  # fmt: skip

    for line in lines(path):
        t_ns = line["t_ns"]
        if line["said"] == "go":
            if pending is not None:
                yield row(pending["at"], max(last[1], line["rows"]), pending["bytes"], pending["files"])
                pending = None
            call += 1
            begin_ns = line["unix_ns"] - calls[0]["unix_ns"]
            begin_ns = max(begin_ns, last[0])
            at, last, size = t_ns - begin_ns, (begin_ns, line["rows"], 0, 0), None
        elif line["said"] == "sizes" and line["shards"] == shards:
            size = line["bytes"]
        elif line["said"] == "look":
            most = calls[call + 1]["rows"] if call + 1 < len(calls) else None
            rows = calls[call]["rows"] + line["rows"]
            rows = max(last[1], rows if most is None else min(rows, most))
            # What a client takes for stored is less again once it reads rows of another length ahead.
            stored, files = max(last[2], line["bytes"]), max(last[3], line["files"])
            pending = {"at": t_ns - at, "rows": rows, "bytes": stored, "files": files}
            if pending["at"] - last[0] >= INTERVAL_NS:
                yield row(pending["at"], rows, stored, files)
                last, size, pending = (pending["at"], rows, stored, files), None, None
    if pending is not None:
        yield row(pending["at"], pending["rows"], pending["bytes"], pending["files"])


@contextlib.contextmanager
def sizes_watched(
    series: LoadSeries, shards: Shards, wanted: ends.Wanted, targets: Sequence[tuple[str, Target]]
) -> Iterator[None]:
    """Sizes of the table on every shard, as long as the block lasts."""
    planned = ends.table_plan(shards.twin, wanted.table, wanted.target_table)
    texts = () if shards.twin.embedded else shards.twin.probes([planned]).sizes
    plan: SamplePlan = {
        "every_ns": SIZES_NS, "probes": [{"into": "sizes", "statement": text} for text in texts]
    }  # fmt: skip
    with contextlib.ExitStack() as looking, environment(shards.secrets):
        for k, (_, target) in enumerate(targets):
            looking.enter_context(sampled(plan, target, partial(series.sized, k)))
        yield
