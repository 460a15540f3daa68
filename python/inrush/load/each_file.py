"""`inrush load --process-per-file`: each file through a load server and a client of its own, one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inrush.border.load import ClientPlan, ServerPlan
from inrush.errors import CoreError, InrushError, TargetError
from inrush.load import proof
from inrush.load.check import with_meanwhile
from inrush.load.look import begun_of
from inrush.load.process import End
from inrush.load.rejects import with_column, with_names, with_remedy
from inrush.load.resumed import Resumed
from inrush.load.series import LoadSeries
from inrush.load.shards import Shards
from inrush.load.time_left import stored_bytes
from inrush.plan import ends

Doc = dict[str, Any]
OnEvent = Callable[[Doc], None]

#: What a client says of its files that is added up.
COUNTS = ("rows_stored", "rows_before", "rows_of_others", "rejected", "bytes", "bytes_of_others")
#: What its progress says of all that it has read so far.
SO_FAR = ("bytes", "rows_sent", "rows_stored", "rows_of_others", "rejected", "seconds")


@dataclass
class EachFile:
    """The files of one import. `said` is of the shards, by all load servers together."""

    wanted: ends.Wanted
    shards: Shards
    document: ServerPlan
    own: Path
    note: Callable[[str], None]
    on_event: OnEvent
    series: LoadSeries | None = None
    said: list[Doc] = field(default_factory=list)
    _before: Resumed | None = None
    #: Of the import, when the first load server began.
    _rows_then: int = 0
    #: What the progress of clients that have ended came to.
    _so_far: dict[str, float] = field(default_factory=lambda: dict.fromkeys(SO_FAR, 0.0))

    def load(self, server: End, client: End) -> Doc:
        """Counts and sums as of `run.run_clients`. server, client: for the first file, started ahead."""
        counts: Doc = dict.fromkeys(COUNTS, 0)
        sums: list[Any] = []
        for n in range(len(self.wanted.files)):
            with ExitStack() as stack:
                if n:
                    server, client = (stack.enter_context(end) for end in self.started())
                read, stored = self.one(n, server, client)
            if self.series is not None:
                self.series.client_ended(read)
            for name in COUNTS:
                counts[name] += int(read[name])
            sums.append(read["sums"])
            self.said = added(self.said, stored["shards"])
        found = with_meanwhile(counts, self._rows_then)
        if self._before is not None:
            self._before.end(found["rows_stored"] + found["rows_of_others"])
        return {**found, "sums": proof.of_lines(self.wanted.items, sums) if self.wanted.items else None}

    def started(self) -> Iterator[End]:
        yield End(None, self.own / f"server-{os.getpid()}.log", self.shards.secrets)
        yield End(None, self.own / f"client-{os.getpid()}.log", {})

    def one(self, n: int, server: End, client: End) -> tuple[Doc, Doc]:
        latest = dict.fromkeys(SO_FAR, 0.0)

        def on_event(event: Doc) -> None:
            if event["event"] == "progress" and event["role"] == "client":
                if self.series is not None:
                    self.series.look({**event, "stored_bytes": stored_bytes(event)})
                latest.update({name: float(event[name]) for name in SO_FAR if name in event})
                event = {
                    **event,
                    **{name: event[name] + self._so_far[name] for name in SO_FAR if name in event},
                }
            self.on_event(event)

        def client_plan(listening: Doc) -> ClientPlan:
            if n == 0:
                self._rows_then = int(listening["resumed_rows"])
            if n == 0 and self.series is not None:
                self.series.begin(self._rows_then)
            if n == 0 and listening["resumed_files"]:
                self._before = Resumed(self.note, self.wanted.import_id, self._rows_then)
                self.on_event = self._before.watched(self.on_event)
            way = ends.link_plan(listening["address"], self.document["token"])
            return ends.client_plan(self.wanted, self.shards.twin, way, str(self.own / "rejects"), [n])

        try:
            with names_said(self.wanted):
                found = self.through(server, client, client_plan, on_event)
        except InrushError:
            # As of one load server for all files: a line of the ledger follows its rows where there are no transactions.
            if not self.shards.loading.transactional:
                server.settle()
            raise
        self._so_far = {name: self._so_far[name] + latest[name] for name in SO_FAR}
        return found

    def through(
        self, server: End, client: End, client_plan: Callable[[Doc], ClientPlan], on_event: OnEvent
    ) -> tuple[Doc, Doc]:
        """The last words of client and server. client_plan: by what the server said when it listened."""
        server.begin(self.document, self.own / "server.log")
        listening = server.wait_for("listening", on_event)
        client.begin(client_plan(listening), self.own / "client.log")
        read = client.wait_for("finished", on_event, server)
        return read, server.stop(on_event)


def added(before: Sequence[Doc], more: Sequence[Doc]) -> list[Doc]:
    """Rows and commits of each shard."""
    if not before:
        return [dict(shard) for shard in more]
    return [
        {**a, **{of: a[of] + b[of] for of in ("rows", "rows_of_others", "commits")}}
        for a, b in zip(before, more, strict=True)
    ]


@contextmanager
def names_said(wanted: ends.Wanted) -> Iterator[None]:
    """What an end fails with names files as the user does, and says what to do."""
    names = dict(zip(wanted.numbers, (i.shown for i in begun_of(wanted).inputs), strict=True))
    try:
        yield
    except (TargetError, CoreError) as failed:
        message = with_column(str(failed), [column.name for column in wanted.table.columns])
        raise type(failed)(with_remedy(with_names(message, names))) from None
