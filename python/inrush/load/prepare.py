"""What a load needs before its first row: tables and ledgers on every shard, and the plans of both ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from inrush.border import plan as border
from inrush.border.load import Rule
from inrush.errors import RowsMissing, UsageError, from_core, refuse
from inrush.load import create, imports, preflight, proof, reading
from inrush.load.call import Call
from inrush.load.create import Described, describe
from inrush.load.input import (
    Input,
    columns_of,
    file_document,
    in_units_of,
    limits_of,
    looked_at,
    refuse_unknown_numbers,
    table_of,
    times_of,
    type_lines,
    with_required,
    with_types,
)
from inrush.load.ledger import Header
from inrush.load.ledgers import Ledgers, at_once, has_ledgers, identity_of, once_more, open_ledgers
from inrush.load.look import Begun
from inrush.load.merge import make_stages, refuse_unmerged, with_merge
from inrush.load.null_word import null_lines, with_null_of_table
from inrush.load.remote import RemoteShards
from inrush.load.shards import Shards
from inrush.plan import ends
from inrush.study.chosen import Asked, DatesUndecided
from inrush.study.formats import TEXT_FORMATS
from inrush.study.said import shown_line
from inrush.study.units import unit_lines
from inrush.study.zones import changes, rules_of
from inrush.workload import Table


def prepare(
    call: Call,
    inputs: Sequence[Input],
    shards: Shards | RemoteShards,
    targets: Sequence[tuple[str, border.Target]],
    spool: Path,
    note: Callable[[str], None],
) -> ends.Wanted:
    """Tables and ledgers on every shard, and the plans of both ends. spool: where Parquet becomes what the core reads."""
    refuse(preflight.file_problems(call, inputs, shards, targets))
    physical = ends.target_table(call.table)
    there = _table_there(call, inputs, shards, targets, physical, note)
    table, of, declared = there.table, there.of, there.declared
    kinds = {column.name: declared[column.name] for column in table.columns}
    method = create.method_of(call, shards.twin, table, len(there.described))
    weak = proof.weak_columns(kinds, shards.loading, method)
    proven_by = shards.loading.proof(table, physical, kinds, weak)
    rule = call.rule or create.rule_of(shards.twin, [declared[name] for name in call.key], len(targets))
    asked = create.asked_of(call, shards.loading)
    inputs = with_null_of_table(inputs, table, shards.loading, call.written)
    for line in null_lines(call, inputs):
        note(line)
    documents = [file_document(i, table, spool, str(Path.cwd())) for i in inputs]
    files = reading.files_as_begun(documents, of.numbers, there.as_begun)
    reading.refuse_other_marks([*call.written], documents, files, there.as_begun)
    if inputs[0].sniffed.format in TEXT_FORMATS:
        why = inputs[0].sniffed.no_header or "the import was begun so"
        note(shown_line(files[0]["format"], files[0]["written"], call.encoding, files[0]["header"], why))
    zone = reading.zone_as_begun(call.timezone, there.as_begun)
    read_so = _reading_of(call, there, files, rule, zone)
    looked = looked_at(inputs)
    of_files = columns_of(looked, table.name, there.described, asked)
    refuse_unknown_numbers(table, of_files, files[0]["written"], shards.loading, [i.shown for i in looked])
    wanted = ends.Wanted(
        table=table,
        target_table=physical,
        key={name: declared[name] for name in call.key},
        rule=rule,
        method=method,
        import_id=of.load,
        files=files,
        chunk_rows=of.chunk_rows,
        flush_rows=call.flush_rows,
        connections=call.connections,
        parallel=call.parallel,
        reject_limit=call.reject_limit,
        patience_s=call.patience_s,
        required=there.required,
        limits=limits_of(there.described, table, shards.loading),
        times=there.times,
        zone=changes(zone) if zone else (),
        bytes_per_s=call.bytes_per_s,
        shard_rows_per_s=call.shard_rows_per_s,
        replica_table=ends.replica_table(call.table) if call.replica else "",
        numbers=of.numbers,
        items=proven_by.items,
        ledger=of.ledger,
    )
    wanted = with_merge(wanted, call, shards.loading)
    # Refuses what cannot be loaded in this way before the ledger says that it was begun.
    ends.import_plan(wanted, shards.twin, targets)
    of = _begun(wanted, shards, targets, there, read_so, note)
    return replace(
        wanted, begun=Begun(there.ledgers, of, proven_by, weak, call.verify, call.count_only, tuple(inputs))
    )


def _begun(
    wanted: ends.Wanted,
    shards: Shards | RemoteShards,
    targets: Sequence[tuple[str, border.Target]],
    there: TableThere,
    read_so: Mapping[str, Any],
    note: Callable[[str], None],
) -> imports.Import:
    """Makes the tables where rows come first, empties the table where that is asked for, and writes into the ledger that it begins."""
    from inrush import _core

    try:
        if wanted.merge:
            identity_of(there.ledgers)  # its line is what merges lock
        make_stages(wanted, shards, targets)
        if there.of.empties:
            imports.refuse_taken(there.ledgers, there.of)
            copies = [wanted.replica_table] if wanted.replica_table else []
            imports.empty(there.ledgers, [wanted.target_table, *copies], note)
        types = {column.name: column.type for column in wanted.table.columns}
        return imports.begin(there.ledgers, there.of, wanted.items, types, dict(read_so), wanted.target_table)
    except _core.CoreFailure as failure:
        raise from_core(*failure.args) from None


def _table_there(
    call: Call,
    inputs: Sequence[Input],
    shards: Shards | RemoteShards,
    targets: Sequence[tuple[str, border.Target]],
    physical: str,
    note: Callable[[str], None],
) -> TableThere:
    """`table_there`, once more where another load makes the table meanwhile."""
    from inrush import _core

    try:
        try:
            return table_there(call, inputs, shards, targets, physical, note)
        except create.MadeMeanwhile:
            note(f"another inrush made table {call.table} at the same moment")
            return table_there(call, inputs, shards, targets, physical, note)
    except _core.CoreFailure as failure:
        raise from_core(*failure.args) from None


def _spread(
    call: Call,
    shards: Shards | RemoteShards,
    targets: Sequence[tuple[str, border.Target]],
    physical: str,
    described: Described,
    note: Callable[[str], None],
) -> None:
    """Makes the tables of replicas, and the coordinator's over all shards."""
    for _, target in targets if call.replica else ():
        copy = shards.loading.copy_table(ends.replica_table(call.table), physical)
        once_more(partial(shards.ask, target, copy))
    if create.is_spread(call, shards):
        create.coordinate(call, shards, described, note)


def _reading_of(
    call: Call, there: TableThere, files: Sequence[ends.TextFile], rule: Rule, zone: str
) -> dict[str, Any]:
    """How the files are read and what becomes of their rows, as the ledger keeps it. Raises UsageError where an import that goes on
    was begun otherwise."""
    read_so = reading.reading_of(files, there.of.numbers, there.times, there.key, rule)
    if call.merging is not None:
        read_so["merging"] = call.merging
    if call.truncate:
        read_so["truncate"] = True
    if zone:
        read_so["timezone"], read_so["zone_rules"] = zone, rules_of(zone)
    reading.refuse_other_places(read_so, there.as_begun)
    return read_so


@dataclass(frozen=True)
class TableThere:
    """A table on every shard that the files can go into, and the import of these files."""

    table: Table
    #: Columns as the database has them: name, type, whether it takes NULL.
    described: Sequence[tuple[str, str, bool]]
    ledgers: Ledgers
    of: imports.Import
    #: Column of times -> how they are written.
    times: Mapping[str, str]
    #: What places rows on shards: on one server nothing does.
    key: tuple[str, ...]
    #: How files were read when the import was begun.
    as_begun: Header

    @property
    def declared(self) -> dict[str, str]:
        return {name: kind for name, kind, _ in self.described}

    @property
    def required(self) -> tuple[str, ...]:
        """Columns of the files that the database does not take NULL in."""
        ours = {c.name for c in self.table.columns}
        return tuple(name for name, _, nullable in self.described if not nullable and name in ours)


def table_there(
    call: Call,
    inputs: Sequence[Input],
    shards: Shards | RemoteShards,
    targets: Sequence[tuple[str, border.Target]],
    physical: str,
    note: Callable[[str], None],
) -> TableThere:
    """It is made where the call creates it. Raises UsageError and CoreFailure, and MadeMeanwhile where the table was not there at
    first, and another load made it."""
    looked, key = looked_at(inputs), tuple(call.key) if len(targets) > 1 else ()
    # Before a table that holds no rows of its own passes for one that lost them.
    refuse(preflight.server_problems(shards, targets, call.table))
    described = describe(shards, targets[0][1], call.table)
    asked = create.asked_of(call, shards.loading)
    table = table_of(looked, call.table.rpartition(".")[2], described, shards.loading, asked)
    times, undecided = times_or_not(looked, table, described, asked)
    columns = columns_of(looked, table.name, described, asked)
    if shards.loading.null_is_a_type:
        required = {name for name, _, nullable in described if not nullable}
        if not described:
            required = create.without_null(looked, columns, call.key)
        table = with_required(table, required | set(key))
    known = has_ledgers(shards, targets, call.table)
    refuse_partial(shards, targets, call.table, bool(described), known)
    absent = not described and not call.create
    if absent and not known:
        raise no_table(targets, call.table)
    names = [name for name, *_ in described] or [c.name for c in table.columns]
    there = create.with_declared(table, described)
    refuse(preflight.table_problems(call, shards, there, names, bool(described)))
    ledgers = open_ledgers(shards, targets, call.table)
    try:
        of = imports.settle(call, inputs, ledgers, physical if described else None, note)
    except RowsMissing:
        if described or not describe(shards, targets[0][1], call.table):
            raise
        raise create.MadeMeanwhile from None
    if absent:
        raise no_table(targets, call.table)
    refuse_unmerged(call, shards, targets, there, physical)
    if call.verify and not of.empties:
        imports.refuse_verify(ledgers, of, physical if described else None)
    if not described:
        unsure = create.null_line(looked, call.key) if shards.loading.null_is_a_type else []
        for line in [*type_lines(looked, table.name, asked), *unsure]:
            note(line)
        create.make_table(call, shards, targets, table, physical, columns)
        described = describe(shards, targets[0][1], call.table)
        if any(c.declared for c in columns):  # by types of the database itself, as of a table that was there
            table = table_of(looked, table.name, described, shards.loading, asked)
            times, undecided = times_or_not(looked, table, described, asked)
        table = in_units_of(table, described, shards.loading.column_types)
    for line in value_lines(looked, table, described, asked, times, call.timezone):
        note(line)
    table = create.with_declared(table, described)
    as_begun = reading.begun_with(of.headers[0], of.stored)
    times = reading.times_as_begun(times, undecided, asked, as_begun)
    reading.refuse_other_columns([column.name for column in table.columns], as_begun)
    table = with_types(table, as_begun.types)
    _spread(call, shards, targets, physical, described, note)
    return TableThere(table, described, ledgers, of, times, key, as_begun)


def value_lines(
    looked: Sequence[Input],
    table: Table,
    described: Sequence[tuple[str, str, bool]],
    asked: Asked,
    times: Mapping[str, str],
    zone: str,
) -> list[str]:
    """What is said of values whatever the table: numbers that are times, and options that no column is read by. Pure."""
    types = {column.name: column.type for column in table.columns}
    numbers = unit_lines(columns_of(looked, table.name, described, asked), types, times)
    return [*numbers, *reading.unused_lines(asked, zone, types, times)]


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
    there = at_once(shards, len(others), lambda k: bool(describe(shards, others[k][1], table)))
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
