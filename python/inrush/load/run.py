"""A load from its first look at the files to its last count: processes, progress, proof."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from inrush.border import plan as border
from inrush.border.load import ImportPlan, LinkPlan
from inrush.errors import CoreError, InrushError, RowsMissing, TargetError, UsageError, from_core
from inrush.load import create, imports, proof, readback, reading
from inrush.load.call import Call
from inrush.load.check import Loaded, checked, rows_by_ledger
from inrush.load.databases import need_databases
from inrush.load.discover import with_shards
from inrush.load.input import (
    LOOK_ROWS,
    Input,
    columns_of,
    expand,
    file_document,
    in_units_of,
    limits_of,
    open_inputs,
    table_of,
    times_of,
    type_lines,
    with_required,
    with_types,
)
from inrush.load.look import Begun, begun_of
from inrush.load.names import refuse_long_columns, refuse_long_table
from inrush.load.process import End
from inrush.load.rejects import merge_rejects, reasons_of, with_names, with_remedy
from inrush.load.remote import RemoteShards, link
from inrush.load.resumed import Resumed
from inrush.load.rounding import with_rounding
from inrush.load.shards import Shards, shards_at, shards_of
from inrush.plan import ends
from inrush.study.chosen import Asked, DatesUndecided
from inrush.study.first_line import read_said, shown_line
from inrush.study.found import SAMPLE_ROWS
from inrush.targets.spoken import foreign_protocols
from inrush.workload import Table

Doc = dict[str, Any]
OnEvent = Callable[[Doc], None]


def found_shards(
    call: Call, note: Callable[[str], None], look: Callable[[], Sequence[Input]] = tuple
) -> tuple[Call, Shards]:
    """Where the rows go, by the command line or by the coordinator that it names. Raises UsageError, TargetError.

    look: at the files. A database that is missing is made with `--create`, after what the files can be refused for.
    """
    from inrush import _core

    shards = shards_of(call, note)
    refuse_long_table(shards.loading, call.table, call.replica)
    spoken = foreign_protocols([(shards.twin, target.url) for target in shards.targets])
    if problems := [why for why in spoken if why is not None]:
        raise UsageError("\n".join(problems))
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
    names = expand(call.files)

    @cache
    def look() -> list[Input]:
        folder.mkdir(parents=True, exist_ok=True)
        said = read_said(call.header, call.columns, call.format)
        return open_inputs(names, folder / "spool", SAMPLE_ROWS if call.create else LOOK_ROWS, said)

    shards: Shards | RemoteShards
    if call.server:
        shards = remote_shards(call)
    else:
        call, shards = found_shards(call, note, look)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:

        def ahead(role: str, environment: Mapping[str, str]) -> End:
            """Its interpreter starts while we look at files and tables."""
            return stack.enter_context(End(None, folder / f"{role}-{os.getpid()}.log", environment))

        load_server = None if isinstance(shards, RemoteShards) else ahead("server", shards.secrets)
        client = ahead("client", {})
        inputs = look()
        targets = shards.documents()
        with shards.held_open():
            wanted = prepare(call, inputs, shards, targets, folder, note)
        own = folder / wanted.import_id
        own.mkdir(parents=True, exist_ok=True)
        on_event = with_time_left(on_event, sum(i.bytes for i in inputs))
        began = time.monotonic()
        if isinstance(shards, RemoteShards):
            setup = ends.import_plan(wanted, shards.twin, targets)
            counts = run_clients(call, wanted, shards, client, None, shards.link, own, on_event, setup)
            return proven(wanted, shards, targets, counts, began, own)
        assert load_server is not None, "it was started for shards of our own"
        token = secrets.token_hex(16)
        document = ends.server_plan(wanted, shards.twin, targets, "127.0.0.1:0", token)
        load_server.begin(document, own / "server.log")
        listening = load_server.wait_for("listening", on_event)
        before = None
        if listening["resumed_files"]:
            before = Resumed(note, wanted.import_id, int(listening["resumed_rows"]))
            on_event = before.watched(on_event)
        way = ends.link_plan(listening["address"], token)
        try:
            counts = run_clients(call, wanted, shards, client, load_server, way, own, on_event)
        except InrushError:
            # Without transactions the line of a chunk follows its rows: a server that is killed between them leaves rows
            # that no ledger has.
            if not shards.loading.transactional:
                load_server.settle()
            raise
        if before is not None:
            before.end(counts["rows_stored"])
        last = load_server.stop(on_event)
    with shards.held_open():
        return proven(wanted, shards, targets, counts, began, own, last["shards"])


def remote_shards(call: Call) -> RemoteShards:
    if call.into or call.shards:
        raise UsageError(
            "--into and --shard: the load server says where rows go; leave them out with --server"
        )
    return RemoteShards(link(str(call.server), call.token_file, call.ca, call.fingerprint))


def proven(
    wanted: ends.Wanted,
    shards: Shards | RemoteShards,
    targets: Sequence[tuple[str, border.Target]],
    counts: Doc,
    began: float,
    own: Path,
    said: Sequence[Doc] | None = None,
) -> Loaded:
    """What was done, and what the ledgers have of it. said: of the shards, by a load server of our own."""
    from inrush import _core

    ended = time.monotonic()
    try:
        in_ledger = rows_by_ledger(shards, [target for _, target in targets], wanted.import_id, wanted.ledger)
        places = ends.replica_places(targets) if wanted.replica_table else []
        load = ends.replica_load(wanted.import_id)
        on_replicas = rows_by_ledger(shards, [target for _, target in places], load, wanted.ledger)
        copied = sum(on_replicas) if places else None
        found = checked(wanted, shards, targets, counts, sum(in_ledger), copied)
        proof_s = time.monotonic() - ended
        verified, verify_s = None, 0.0
        begun = begun_of(wanted)
        if begun.verify:
            verified, found = readback.verified(wanted, shards, targets, found)
            # Where the sums say enough, nothing is read back.
            verify_s = 0.0 if verified is None else time.monotonic() - ended - proof_s
        columns = [column.name for column in begun.inputs[0].sniffed.columns]
        found = with_rounding(found, wanted.table, wanted.files, columns, begun.verify)
    except _core.CoreFailure as failure:
        kind, message = failure.args
        raise from_core(
            kind, f"{message}; every row is stored or rejected, but not proven: the same command does that"
        ) from None
    if said is None:
        counted = zip([*targets, *places], in_ledger + on_replicas, strict=True)
        said = [{"name": name, "rows": rows} for (name, _), rows in counted]
    rejects = merge_rejects(own)
    reasons = reasons_of(rejects) if rejects is not None and counts["rejected"] else None
    if reasons is not None and counts["rows_stored"] + counts["rows_before"] == 0:
        why = f"{counts['rejected']:_} of {counts['rejected']:_} rows rejected, the first: {reasons.first}"
        found = (
            replace(found, verdict="nothing", why=why) if found.verdict in ("proven", "counted") else found
        )
    return Loaded(
        wanted.import_id,
        counts["rows_stored"],
        counts["rows_before"],
        counts["rejected"],
        counts["bytes"],
        time.monotonic() - began,
        len(wanted.files),
        tuple(said),
        rejects,
        sum(in_ledger),
        copied,
        found.verdict,
        found.why,
        found.columns,
        verified,
        {"digest_s": begun.of.digest_s, "proof_s": proof_s, "verify_s": verify_s},
        reasons.most if reasons is not None else "",
    )


def with_time_left(on_event: OnEvent, total_bytes: int) -> OnEvent:
    """Adds `stored_bytes` and `left_s` to the client's progress. The client reads ahead of what is stored."""

    def on_progress(event: Doc) -> None:
        if event["event"] == "progress" and event["role"] == "client":
            stored = stored_bytes(event)
            event = {**event, "stored_bytes": stored}
            if stored:
                event["left_s"] = max(0.0, total_bytes - stored) * event["seconds"] / stored
        on_event(event)

    return on_progress


def stored_bytes(event: Doc) -> float:
    """Bytes of the files behind the rows that are stored, as far as all rows are alike. Pure."""
    rows = event["rows_sent"] + event["rejected"]
    done = event["rows_stored"] + event["rejected"]
    return float(event["bytes"]) * min(1.0, done / rows) if rows else 0.0


def prepare(
    call: Call,
    inputs: Sequence[Input],
    shards: Shards | RemoteShards,
    targets: Sequence[tuple[str, border.Target]],
    folder: Path,
    note: Callable[[str], None],
) -> ends.Wanted:
    """Tables and ledgers on every shard, and the plans of both ends."""
    from inrush import _core

    if call.replica and (len(targets) < 2 or not shards.loading.transactional):
        raise UsageError(
            "--replica: it takes two shards at least, of an engine that stores rows and ledger together"
        )
    refuse_long_table(shards.loading, call.table, call.replica)
    refuse_long_columns(shards.loading, [c.name for c in inputs[0].sniffed.columns], inputs[0].shown)
    physical = ends.target_table(call.table)
    try:
        described = describe(shards, targets[0][1], call.table)
        asked = create.asked_of(call, shards.loading)
        table = table_of(inputs, call.table.rpartition(".")[2], described, shards.loading.column_types, asked)
        times, undecided = times_or_not(inputs, table, described, asked)
        columns = columns_of(inputs, table.name, described, asked)
        if shards.loading.null_is_a_type:
            required = {name for name, _, nullable in described if not nullable}
            if not described:
                required = create.without_null(inputs, columns, call.key)
            table = with_required(table, required | set(call.key if len(targets) > 1 else ()))
        known = imports.has_ledgers(shards, targets, call.table)
        for place in targets:  # before a table that holds no rows of its own passes for one that lost them
            refuse_unfit(shards, place, call.table)
        refuse_partial(shards, targets, call.table, bool(described), known)
        absent = not described and not call.create
        if absent and not known:
            raise no_table(targets, call.table)
        ledgers = imports.open_ledgers(shards, targets, call.table)
        of = imports.settle(call, inputs, ledgers, physical if described else None, note)
        if absent:
            raise no_table(targets, call.table)
        if call.verify:
            imports.refuse_verify(ledgers, of, physical if described else None)
        if not described:
            unsure = create.null_line(inputs, call.key) if shards.loading.null_is_a_type else []
            for line in [*type_lines(inputs, table.name, asked), *unsure]:
                note(line)
            create.make_table(call, shards, targets, table, physical, columns)
            described = describe(shards, targets[0][1], call.table)
            table = in_units_of(table, described, shards.loading.column_types)
        table = create.with_declared(table, described)
        as_begun = reading.begun_with(of.headers[0], of.stored)
        times = reading.times_as_begun(times, undecided, asked, as_begun)
        reading.refuse_other_columns([column.name for column in table.columns], as_begun)
        table = with_types(table, as_begun.types)
        for _, target in targets if call.replica else ():
            shards.ask(target, shards.loading.copy_table(ends.replica_table(call.table), physical))
        behind = shards.coordinator if isinstance(shards, RemoteShards) else call.into and call.shards
        # A table that says how its rows are placed is there already.
        if behind and call.create and call.rule is None:
            create.coordinate(call, shards, described, note)
    except _core.CoreFailure as failure:
        raise from_core(*failure.args) from None
    declared = {name: kind for name, kind, _ in described}
    missing = [name for name in call.key if name not in declared]
    if missing:
        raise UsageError(f"--key {','.join(missing)}: table {call.table} has {', '.join(declared)}")
    kinds = {column.name: declared[column.name] for column in table.columns}
    weak = proof.weak_columns(kinds, shards.loading)
    proven_by = readback.load_proof(shards.loading, table, physical, kinds, weak)
    rule = call.rule or create.rule_of(shards.twin, [declared[name] for name in call.key], len(targets))
    documents = [file_document(i, table, folder / "spool") for i in inputs]
    files = reading.files_as_begun(documents, of.numbers, as_begun)
    if inputs[0].sniffed.format != "parquet":
        note(shown_line(files[0]["header"], inputs[0].sniffed.no_header or "the import was begun so"))
    # On one server a key places nothing.
    key = call.key if len(targets) > 1 else ()
    read_so = reading.reading_of(files, of.numbers, times, key, rule)
    reading.refuse_other_places(read_so, as_begun)
    wanted = ends.Wanted(
        table=table,
        target_table=physical,
        key={name: declared[name] for name in call.key},
        rule=rule,
        method=create.method_of(call, shards.twin, table),
        import_id=of.load,
        files=files,
        chunk_rows=of.chunk_rows,
        flush_rows=call.flush_rows,
        connections=call.connections,
        parallel=call.parallel,
        reject_limit=call.reject_limit,
        patience_s=call.patience_s,
        required=tuple(
            name
            for name, _, nullable in described
            if not nullable and name in {c.name for c in table.columns}
        ),
        limits=limits_of(described, table, shards.loading),
        times=times,
        bytes_per_s=call.bytes_per_s,
        shard_rows_per_s=call.shard_rows_per_s,
        replica_table=ends.replica_table(call.table) if call.replica else "",
        numbers=of.numbers,
        items=proven_by.items if of.sums else (),
        ledger=of.ledger,
    )
    # Refuses what cannot be loaded in this way before the ledger says that it was begun.
    ends.import_plan(wanted, shards.twin, targets)
    try:
        types = {c.name: c.type for c in table.columns}
        of = imports.begin(ledgers, of, proven_by.items, types, read_so, physical)
    except _core.CoreFailure as failure:
        raise from_core(*failure.args) from None
    begun = Begun(ledgers, of, proven_by, weak, call.verify, tuple(inputs))
    return replace(wanted, begun=begun)


def times_or_not(
    inputs: Sequence[Input], table: Table, described: Sequence[tuple[str, str, bool]], asked: Asked
) -> tuple[dict[str, str], DatesUndecided | None]:
    """How times are written; or, of a table that is there, why that is not known: an import that goes on knows it.

    Raises DatesUndecided where the table is still to be made.
    """
    try:
        return times_of(inputs, table, described, asked), None
    except DatesUndecided as undecided:
        if not described:
            raise
        return {}, undecided


def no_table(targets: Sequence[tuple[str, border.Target]], table: str) -> UsageError:
    return UsageError(f"{targets[0][0]}: there is no table {table}; --create makes it from the files")


def refuse_partial(
    shards: Shards | RemoteShards,
    targets: Sequence[tuple[str, border.Target]],
    table: str,
    on_first: bool,
    known: bool,
) -> None:
    """Some shards have the table and some have not. Raises RowsMissing where imports were stored in it, else UsageError."""
    others = targets[1:]
    if not others:
        return
    there = imports.at_once(shards, len(others), lambda k: bool(describe(shards, others[k][1], table)))
    has = [on_first, *there]
    if all(has) or not any(has):
        return
    names = ", ".join(name for (name, _), found in zip(targets, has, strict=True) if not found)
    if known:
        raise RowsMissing(
            f"{names}: there is no table {table}, and the other shards have one: its rows are lost; drop it on all of them "
            "and give --create --again, which loads the files anew"
        )
    raise UsageError(
        f"{names}: there is no table {table}, and the other shards have one; make it there as it is on them"
    )


def describe(shards: Shards | RemoteShards, target: border.Target, table: str) -> list[tuple[str, str, bool]]:
    """(column, type, nullable) of a table; empty when there is none."""
    schema, _, name = table.rpartition(".")
    found = shards.ask(target, shards.loading.describe(schema, name))
    return [(str(column), str(kind), not int(required)) for column, kind, required in found]


def refuse_unfit(shards: Shards | RemoteShards, target: tuple[str, border.Target], table: str) -> None:
    """Raises UsageError for a table that would not store each row once."""
    schema, _, name = table.rpartition(".")
    if question := shards.loading.ask_unfit(schema, name):
        for (why,) in shards.ask(target[1], question):
            raise UsageError(f"{target[0]}: table {table} cannot be loaded: {why}")


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
) -> Doc:
    """All files by `client`, or the first by it and each other one by a process of its own, one after the other.

    Counts of rows and bytes, and `sums`: of all rows, in the order of the items; None where a ledger lacks those of before.
    """
    groups: list[list[int] | None] = (
        [[n] for n in range(len(wanted.files))] if call.process_per_file else [None]
    )
    counts: Doc = dict.fromkeys(("rows_stored", "rows_before", "rejected", "bytes"), 0)
    sums: list[Any] = []
    (own / "rejects").mkdir(exist_ok=True)
    names = dict(zip(wanted.numbers, (i.shown for i in begun_of(wanted).inputs), strict=True))
    for n, files in enumerate(groups):
        document = ends.client_plan(wanted, shards.twin, way, str(own / "rejects"), files, setup)
        with End(None, own / "client.log", {}) if n else client as end:
            end.begin(document, own / "client.log")
            try:
                last = end.wait_for("finished", on_event, load_server)
            except (TargetError, CoreError) as failed:
                raise type(failed)(with_remedy(with_names(str(failed), names))) from None
        for name in counts:
            counts[name] += int(last[name])
        sums.append(last["sums"])
    return {**counts, "sums": proof.of_lines(wanted.items, sums) if wanted.items else None}
