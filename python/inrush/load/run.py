"""A load from its first look at the files to its last count: processes, progress, proof."""

from __future__ import annotations

import gc
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from inrush.border import plan as border
from inrush.border.load import ImportPlan, LinkPlan, ServerPlan
from inrush.errors import FileChanged, InrushError, Problem, UsageError, from_core, problems_of, refuse
from inrush.load import create, grown, proof, readback, sequences
from inrush.load.call import Call
from inrush.load.check import Loaded, checked, good_rows, rows_by_ledger, with_meanwhile
from inrush.load.databases import need_databases
from inrush.load.discover import with_shards
from inrush.load.each_file import COUNTS, EachFile, names_said
from inrush.load.expand import expand
from inrush.load.input import LOOK_ROWS, Input, open_inputs, refuse_zone_of_parquet
from inrush.load.look import begun_of
from inrush.load.merge import drop_stages
from inrush.load.preflight import call_problems
from inrush.load.prepare import prepare
from inrush.load.process import End
from inrush.load.rejects import called_of, merge_rejects, reasons_of
from inrush.load.remote import RemoteShards, link
from inrush.load.resumed import Resumed
from inrush.load.rounding import with_rounding
from inrush.load.series import LoadSeries, sizes_watched
from inrush.load.shards import Shards, shards_at, shards_of
from inrush.load.spool import spool_of
from inrush.load.time_left import with_time_left
from inrush.plan import ends
from inrush.plan.ledger import replica_load
from inrush.study.found import SAMPLE_ROWS
from inrush.study.said import read_said
from inrush.targets.spoken import foreign_protocols
from inrush.times import Times

Doc = dict[str, Any]
OnEvent = Callable[[Doc], None]

#: Looking at the first rows of files; from the first row read to the last one stored; holding the table against them.
PARTS = ("sampling_s", "storing_s", "proof_s")


def found_shards(
    call: Call, note: Callable[[str], None], look: Callable[[], Sequence[Input]] = tuple
) -> tuple[Call, Shards]:
    """Where the rows go, by the command line or by the coordinator that it names. Raises UsageError, TargetError.

    look: at the files. A database that is missing is made with `--create`, after what the files can be refused for.
    """
    from inrush import _core

    shards = shards_of(call, note)
    spoken = foreign_protocols([(shards.twin, target.url) for target in shards.targets])
    refuse(Problem.sentence(why) for why in spoken if why is not None)
    need_databases(shards, call.create, note, lambda: create.refuse_files(call, look(), shards.loading))
    try:
        found = with_shards(call, shards, note)
    except _core.CoreFailure as failure:
        raise from_core(*failure.args) from None
    if found is call:
        return call, shards
    # The user was warned of what they wrote; what a coordinator says is not theirs to change.
    behind = shards_at(found.shards, lambda _: None)
    if behind.twin.cluster is not None and behind.twin.cluster.configured:
        behind.secrets = shards.secrets
    return found, behind


def load(call: Call, folder: Path, note: Callable[[str], None], on_event: OnEvent) -> Loaded:
    """Loads until every row is stored or rejected. folder: of this tool's loads, for rejects and spooled input.

    Raises UsageError, TargetError, CoreError, Interrupted; what was acknowledged by then is stored and not loaded again.
    """
    if wrong := [*call_problems(call)]:
        raise UsageError([*wrong, *problems_of(partial(expand, call.files))])
    names = expand(call.files)
    place = (call.into or "", *call.shards, call.server or "", call.table)
    times = Times(PARTS)
    with spool_of([*names, *place], folder / "spool") as spool:
        done = load_from(names, call, folder, spool, note, on_event, times)
    return replace(done, merging=call.merging, seconds=times.whole_s, costs={**done.costs, **times.parts()})


def load_from(
    names: Sequence[str],
    call: Call,
    folder: Path,
    spool: Path,
    note: Callable[[str], None],
    on_event: OnEvent,
    times: Times,
) -> Loaded:
    """`load` of these files. spool: for what is unpacked of them."""

    @cache
    def look() -> list[Input]:
        folder.mkdir(parents=True, exist_ok=True)
        said = read_said(call.header, call.columns, call.format, call.written)
        with times.part("sampling_s"):
            rows = SAMPLE_ROWS if call.create else LOOK_ROWS
            inputs = open_inputs(names, spool, rows, said, encoding=call.encoding)
            refuse_zone_of_parquet(inputs, call.timezone)
            return inputs

    shards: Shards | RemoteShards
    if call.server:
        shards = RemoteShards(link(str(call.server), call.token_file, call.ca, call.fingerprint))
    else:
        call, shards = found_shards(call, note, look)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        stack.enter_context(without_collecting())

        def ahead(role: str, environment: Mapping[str, str]) -> End:
            """Its interpreter starts while we look at files and tables."""
            return stack.enter_context(End(None, folder / f"{role}-{os.getpid()}.log", environment))

        load_server = None if isinstance(shards, RemoteShards) else ahead("server", shards.secrets)
        client = ahead("client", {})
        inputs = look()
        targets = shards.documents()
        with shards.held_open():
            wanted = prepare(call, inputs, shards, targets, spool, note)
        own = folder / wanted.import_id
        own.mkdir(parents=True, exist_ok=True)
        series = LoadSeries(own) if call.series is not None else None
        if series is not None:
            stack.callback(series.close)
            # Of files with ends of their own the progress is that of all together: there each client is looked at.
            if isinstance(shards, RemoteShards) or not call.process_per_file:
                on_event = series.watched(on_event)
        on_event = with_time_left(on_event, sum(i.stamp.bytes for i in inputs))
        (own / "rejects").mkdir(exist_ok=True)
        wanted = replace(wanted, rejects=str(own / "rejects"))
        storing = Storing(call, wanted, targets, client, own, note, on_event, series, times)
        if isinstance(shards, RemoteShards):
            return storing.through(shards)
        assert load_server is not None, "it was started for shards of our own"
        if call.process_per_file:
            return storing.file_by_file(shards, load_server)
        counts, said = storing.by_one_server(shards, load_server)
    with shards.held_open(), times.part("proof_s"):
        return proven(wanted, shards, targets, counts, own, said)


@dataclass(frozen=True)
class Storing:
    """What is the same whichever load servers store the rows."""

    call: Call
    wanted: ends.Wanted
    targets: Sequence[tuple[str, border.Target]]
    client: End
    own: Path
    note: Callable[[str], None]
    on_event: OnEvent
    series: LoadSeries | None
    times: Times

    def through(self, shards: RemoteShards) -> Loaded:
        """Through the load server on another host, which the call names."""
        wanted, series = self.wanted, self.series
        setup = ends.import_plan(wanted, shards.twin, self.targets)
        if series is not None:  # what earlier calls had stored, its load server knows
            series.begin(0)
        with self.times.part("storing_s"), rows_said(wanted, shards, self.targets, None):
            places = [target for _, target in self.targets]
            rows_then = sum(rows_by_ledger(shards, places, wanted.import_id, wanted.ledger))
            counts = run_clients(
                self.call,
                wanted,
                shards,
                self.client,
                None,
                shards.link,
                self.own,
                self.on_event,
                setup,
                series,
            )
            counts = with_meanwhile(counts, rows_then)
        self.write_series()
        with self.times.part("proof_s"):
            return proven(wanted, shards, self.targets, counts, self.own)

    def file_by_file(self, shards: Shards, load_server: End) -> Loaded:
        """Each file through a client and a load server of its own."""
        wanted, series = self.wanted, self.series
        document = self.server_plan(shards, secrets.token_hex(16))
        each = EachFile(wanted, shards, document, self.own, self.note, self.on_event, series)
        with ExitStack() as looking:
            if series is not None:
                looking.enter_context(sizes_watched(series, shards, wanted, self.targets))
            with self.times.part("storing_s"), rows_said(wanted, shards, self.targets, None):
                counts = each.load(load_server, self.client)
        self.write_series()
        with shards.held_open(), self.times.part("proof_s"):
            return proven(wanted, shards, self.targets, counts, self.own, each.said)

    def by_one_server(self, shards: Shards, load_server: End) -> tuple[Doc, Sequence[Doc]]:
        """Counts of the clients, and what the load server said of each shard when it ended."""
        wanted, series, on_event, token = self.wanted, self.series, self.on_event, secrets.token_hex(16)
        load_server.begin(self.server_plan(shards, token), self.own / "server.log")
        listening = load_server.wait_for("listening", on_event)
        before, rows_then = None, int(listening["resumed_rows"])
        if listening["resumed_files"]:
            before = Resumed(self.note, wanted.import_id, rows_then)
            on_event = before.watched(on_event)
        way = ends.link_plan(listening["address"], token)
        with ExitStack() as looking:
            if series is not None:
                series.begin(rows_then)
                looking.enter_context(sizes_watched(series, shards, wanted, self.targets))
            looking.enter_context(self.times.part("storing_s"))
            looking.enter_context(rows_said(wanted, shards, self.targets, load_server))
            counts = run_clients(
                self.call, wanted, shards, self.client, load_server, way, self.own, on_event, series=series
            )
            counts = with_meanwhile(counts, rows_then)
        self.write_series()
        if before is not None:
            before.end(counts["rows_stored"] + counts["rows_of_others"])
        with self.times.part("storing_s"):
            last = load_server.stop(on_event)
        return counts, last["shards"]

    def server_plan(self, shards: Shards, token: str) -> ServerPlan:
        return ends.server_plan(
            self.wanted, shards.twin, self.targets, "127.0.0.1:0", token, hash_threads=self.call.hash_threads
        )

    def write_series(self) -> None:
        if self.series is not None:
            self.series.write(Path(str(self.call.series)), len(self.targets))


@contextmanager
def rows_said(
    wanted: ends.Wanted,
    shards: Shards | RemoteShards,
    targets: Sequence[tuple[str, border.Target]],
    load_server: End | None,
) -> Iterator[None]:
    """A load that ends because a file changed says how many of its rows are stored. load_server: of this load alone."""
    from inrush import _core

    try:
        yield
    except InrushError as failed:
        # Without transactions the line of a chunk follows its rows: a server that is killed between them leaves rows that no
        # ledger has. And what is on its way is not stored yet.
        if load_server is not None and (isinstance(failed, FileChanged) or not shards.loading.transactional):
            load_server.settle()
        if not isinstance(failed, FileChanged):
            raise
        if load_server is not None:
            load_server.kill()  # an embedded database has one process at a time
        places = [target for _, target in targets]
        try:
            with shards.held_open():
                stored = sum(rows_by_ledger(shards, places, wanted.import_id, wanted.ledger))
        except _core.CoreFailure:
            raise failed from None
        raise grown.with_rows(failed, stored, wanted.target_table) from None


@contextmanager
def without_collecting() -> Iterator[None]:
    """The documents of 10^5 files have no cycles, and looking for some goes through all of them again and again."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _nothing_loaded(found: proof.LoadVerdict, rejected: int, first: str) -> proof.LoadVerdict:
    why = f"{rejected:_} of {rejected:_} rows rejected, the first: {first}"
    return replace(found, verdict="nothing", why=why)


def proven(
    wanted: ends.Wanted,
    shards: Shards | RemoteShards,
    targets: Sequence[tuple[str, border.Target]],
    counts: Doc,
    own: Path,
    said: Sequence[Doc] | None = None,
) -> Loaded:
    """What was done, and what the ledgers have of it. said: of the shards, by a load server of our own."""
    from inrush import _core

    try:
        drop_stages(wanted, shards, targets)
        in_ledger = rows_by_ledger(shards, [target for _, target in targets], wanted.import_id, wanted.ledger)
        places = ends.replica_places(targets) if wanted.replica_table else []
        load, beside = replica_load(wanted.import_id), [target for _, target in places]
        on_replicas = rows_by_ledger(shards, beside, load, wanted.ledger)
        begun, verified, verify_s = begun_of(wanted), None, 0.0
        found = checked(wanted, shards, targets, counts, in_ledger, on_replicas if places else None)
        if begun.verify:
            began = time.monotonic()
            verified, found = readback.verified(wanted, shards, targets, found)
            # Where the sums say enough, nothing is read back.
            verify_s = 0.0 if verified is None else time.monotonic() - began
        warned = (*begun.of.warned, *sequences.lines(wanted, shards, targets))
        columns = {column.name: column.type for column in begun.inputs[0].sniffed.columns}
        found = with_rounding(found, wanted.table, wanted.files, columns, begun.verify)
    except _core.CoreFailure as failure:
        kind, message = failure.args
        message += "; every row is stored or rejected, but not proven: the same command does that"
        raise from_core(kind, message) from None
    if said is None:
        counted = zip([*targets, *places], in_ledger + on_replicas, strict=True)
        said = [{"name": name, "rows": rows} for (name, _), rows in counted]
    copied = on_replicas if places else None
    called = called_of(begun.inputs, [file["path"] for file in wanted.files])
    rejects = merge_rejects(own, called, [column.name for column in wanted.table.columns])
    reasons = reasons_of(rejects) if rejects is not None and counts["rejected"] else None
    if reasons is not None and good_rows(counts) == 0 and found.verdict in ("proven", "counted"):
        found = _nothing_loaded(found, counts["rejected"], reasons.first)
    return Loaded(
        wanted.import_id,
        counts["rows_stored"],
        counts["rows_before"],
        counts["rows_of_others"],
        counts["rejected"],
        counts["bytes"],
        0.0,  # it is still going on
        len(wanted.files),
        tuple(said),
        rejects,
        sum(in_ledger),
        None if copied is None else sum(copied),
        found.verdict,
        found.why,
        found.columns,
        verified,
        {"digest_s": begun.of.digest_s, "verify_s": verify_s},
        reasons.most if reasons is not None else "",
        found.merged,
        warned,
    )


def run_clients(
    call: Call,
    wanted: ends.Wanted,
    shards: Shards | RemoteShards,
    client: End,
    load_server: End | None,
    way: LinkPlan,
    own: Path,
    on_event: OnEvent,
    setup: ImportPlan | None = None,
    series: LoadSeries | None = None,
) -> Doc:
    """All files by `client`; to a load server on another host also the first by it and each other one by a process of its own.

    Counts of rows and bytes, and `sums`: of all rows, in the order of the items; None where a ledger lacks those of before.
    """
    groups: list[list[int] | None] = (
        [[n] for n in range(len(wanted.files))] if call.process_per_file else [None]
    )
    counts: Doc = dict.fromkeys(COUNTS, 0)
    sums: list[Any] = []
    for n, files in enumerate(groups):
        document = ends.client_plan(wanted, shards.twin, way, str(own / "rejects"), files, setup)
        with End(None, own / "client.log", {}) if n else client as end:
            end.begin(document, own / "client.log")
            with names_said(wanted):
                last = end.wait_for("finished", on_event, load_server)
        if series is not None:
            series.client_ended(last)
        for name in counts:
            counts[name] += int(last[name])
        sums.append(last["sums"])
    return {**counts, "sums": proof.of_lines(wanted.items, sums) if wanted.items else None}
