"""The tables that `--create` makes: what the sampled rows say of them, and the coordinator's over its shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from inrush.border import plan as border
from inrush.border.load import Rule
from inrush.engines.base.cluster import HASH_PARTITIONS
from inrush.engines.base.instance import Target
from inrush.engines.base.loading import Loading
from inrush.engines.base.sampled import SampledColumns
from inrush.engines.base.twin import Twin
from inrush.engines.servers import secret
from inrush.errors import InrushError, Problem, UsageError, from_core, refuse
from inrush.load.input import Input, table_of, times_of
from inrush.load.ledgers import once_more
from inrush.load.names import column_name_problems
from inrush.load.shards import Shards, loading_of
from inrush.plan import ends
from inrush.study.chosen import Asked, Chosen, read_dates
from inrush.study.date_formats import read_formats
from inrush.targets.ask import one_row
from inrush.targets.passwords import split_password
from inrush.workload import Table

if TYPE_CHECKING:
    from inrush.load.call import Call
    from inrush.load.remote import RemoteShards

    AnyShards = Shards | RemoteShards
Described = Sequence[tuple[str, str, bool]]


class MadeMeanwhile(InrushError):
    """Another load made the table at the same moment, maybe with other columns: it is looked at as one that was there."""


def asked_of(call: Call, loading: Loading) -> Asked:
    """How types are chosen, by the command line and by what the engine's types can hold. Raises UsageError."""
    floats = {"nan", "inf"} <= loading.not_finite
    has_unsigned = not loading.unsigned_is_signed
    return Asked(
        call.strict,
        read_dates(call.dates),
        loading.has_days,
        floats,
        True,
        has_unsigned,
        loading.decimal,
        call.types,
        read_formats(call.date_formats),
    )


def refuse_files(call: Call, inputs: Sequence[Input], loading: Loading) -> None:
    """Raises UsageError for files of which no table can be made, before anything is made for it. No files: nothing."""
    if inputs:
        asked = asked_of(call, loading)
        table = table_of(inputs, call.table.rpartition(".")[2], (), loading, asked)
        times_of(inputs, table, (), asked)
        names = [c.name for c in table.columns]
        refuse(
            [
                *column_name_problems(loading, names, inputs[0].shown),
                *key_problems(call.key, names, "the files have"),
            ]
        )


def key_problems(key: Sequence[str], columns: Sequence[str], have: str) -> Iterator[Problem]:
    """Columns of the key that are not among these. have: who has them."""
    if missing := [name for name in key if name not in columns]:
        yield Problem.sentence(f"--key {','.join(missing)}: {have} {', '.join(columns)}")


def without_null(inputs: Sequence[Input], columns: Sequence[Chosen], key: Sequence[str]) -> set[str]:
    """The columns of a new table that take no NULL, on a server where that is a type of its own. Pure.

    Those of the key; and those without a NULL, where every row of every file was looked at.
    """
    seen = {c.name for c in columns if c.nulls == 0} if every_row(inputs) else set()
    return seen | set(key)


def every_row(inputs: Sequence[Input]) -> bool:
    return all(source.sniffed.every_row for source in inputs)


def null_line(inputs: Sequence[Input], key: Sequence[str]) -> list[str]:
    """A line where a column may be NULL only because not every row was looked at. Pure."""
    if every_row(inputs):
        return []
    but = f" but those of the key ({', '.join(key)})" if key else ""
    return [f"all columns{but} may be NULL: not every row of the files was looked at"]


def make_table(
    call: Call,
    shards: AnyShards,
    targets: Sequence[tuple[str, border.Target]],
    table: Table,
    physical: str,
    columns: Sequence[Chosen],
) -> None:
    """The table on every shard. columns: as they were found in the files. Raises MadeMeanwhile once it is on all of them."""
    from inrush import _core

    version = version_of(shards, targets[0][1]) if shards.loading.types_by_version else ""
    statement = create_statement(call, shards, len(targets), table, physical, columns, version)
    made_meanwhile = False
    for _, target in targets:
        try:
            shards.ask(target, statement)
        except _core.CoreFailure:
            if not describe(shards, target, call.table):
                raise
            made_meanwhile = True
    if made_meanwhile:
        raise MadeMeanwhile


def create_statement(
    call: Call,
    shards: AnyShards,
    count: int,
    table: Table,
    physical: str,
    columns: Sequence[Chosen],
    version: str,
) -> str:
    """What makes the table on one of so many shards. version: the server's, where types depend on it. Pure."""
    sampled = SampledColumns(
        longest={c.name: c.longest for c in columns if c.type == "text"},
        far=frozenset(c.name for c in columns if c.far),
        key=call.key,
        placed=count > 1,
        version=version,
    )
    return shards.loading.create_table(ends.table_plan(shards.twin, table, physical), table, sampled)


def describe(shards: AnyShards, target: border.Target, table: str) -> list[tuple[str, str, bool]]:
    """(column, type, nullable) of a table; empty when there is none."""
    schema, _, name = table.rpartition(".")
    found = shards.ask(target, shards.loading.describe(schema, name))
    return [(str(column), str(kind), not int(required)) for column, kind, required in found]


def age_problems(shards: AnyShards, target: tuple[str, border.Target]) -> Iterator[Problem]:
    """A server that is older than those that inrush works with."""
    url, there = target
    if shards.twin.least_version and (problem := shards.twin.too_old(version_of(shards, there))):
        yield Problem.sentence(f"{url}: {problem}")


def table_problems(shards: AnyShards, target: tuple[str, border.Target], table: str) -> Iterator[Problem]:
    """A table that would not store each row once."""
    schema, _, name = table.rpartition(".")
    if question := shards.loading.ask_unfit(schema, name):
        for (why,) in shards.ask(target[1], question):
            yield Problem.sentence(f"{target[0]}: table {table} cannot be loaded: {why}")


def version_of(shards: AnyShards, target: border.Target) -> str:
    query = shards.twin.probes(()).version
    assert isinstance(query, str), "what inrush load fills answers as its text says"
    _, version = one_row(shards.ask(target, query), 2, target)
    return str(version)


def with_declared(table: Table, described: Described) -> Table:
    """The table with its columns' types in the database. Pure."""
    kinds = {name: kind for name, kind, _ in described}
    columns = (replace(c, declared=kinds.get(c.name, "")) for c in table.columns)
    return replace(table, columns=tuple(columns))


def method_of(call: Call, twin: Twin, table: Table, columns: int = 0) -> str:
    """The method that fills the table. columns: that it has, also those that are not loaded. Raises UsageError for one that cannot.
    Pure."""
    loading = loading_of(twin)
    methods = loading.methods_for(table, twin.methods)
    if columns > len(table.columns):
        methods = tuple(method for method in methods if method not in loading.whole_rows)
    if not methods:
        kinds = ", ".join(f"{c.name} ({c.declared})" for c in table.columns)
        those = " unless the files have all of its columns" if columns > len(table.columns) else ""
        raise UsageError(f"table {call.table}: no insert method takes its types together{those}: {kinds}")
    if call.method in twin.methods and call.method not in methods:
        raise UsageError(
            f"--method {call.method}: types of table {call.table} take {' or '.join(methods)} alone"
        )
    return call.method or methods[0]


def rule_of(twin: Twin, kinds: Sequence[str], count: int) -> Rule:
    """How the rows of a new table are placed on so many shards. kinds: types of its key's columns. Pure."""
    cluster = twin.cluster
    return HASH_PARTITIONS if cluster is None else cluster.rule(kinds, count)


def is_spread(call: Call, shards: AnyShards) -> bool:
    """Whether a new table is made on a coordinator too; one that says how its rows are placed is there already."""
    behind = call.into and call.shards if isinstance(shards, Shards) else shards.coordinator
    return bool(behind) and call.create and call.rule is None


def spreading(
    call: Call, shards: AnyShards, columns: Sequence[tuple[str, str]], passwords: Mapping[str, str] = {}
) -> tuple[str, ...]:
    """Statements that make the table on the coordinator. columns: with their types. Raises UsageError where it cannot be. Pure."""
    cluster = shards.twin.cluster
    if cluster is None:
        raise UsageError(
            f"{shards.engine}: servers of this kind have no coordinator; name each shard by --shard"
        )
    urls = [t.url for t in shards.targets]
    return (
        *cluster.know_shards(urls, passwords),
        *cluster.spread_table(call.table, columns, call.key, urls),
    )


def coordinate(call: Call, shards: AnyShards, described: Described, note: Callable[[str], None]) -> None:
    """The table on the coordinator, over the shards' own."""
    shared = next(iter(shards.secrets.values()), None)
    # The coordinator's own process logs in to them, and may not be able to read a file of ours.
    known = {t.url: secret.in_file(Path(secret.file_in(t.url))) or shared for t in shards.targets}
    passwords = {url: password for url, password in known.items() if password is not None}
    made = spreading(call, shards, [(name, kind) for name, kind, _ in described], passwords)
    if not isinstance(shards, Shards):
        for statement in made:
            once_more(partial(shards.ask_coordinator, statement))
        return
    url, variables, warning = split_password(call.into or "")
    if warning:
        note(warning)
    from inrush import _core

    whole = Shards(shards.engine, shards.twin, [Target(shards.engine, url)], variables)
    try:
        for statement in made:
            once_more(partial(whole.ask, whole.documents()[0][1], statement))
    except _core.CoreFailure as failure:
        # The statement that failed holds the shards' password.
        kind, message = failure.args
        said = str(message).partition("\n  in: ")[0]
        for password in passwords.values():
            said = said.replace(password, "…")
        raise from_core(kind, said) from None
