"""`--upsert` and `--on-conflict skip`: what a table must have for it, and the statements that the load server runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from inrush.border import plan as border
from inrush.engines.base.checksum import WHOLE_TYPES
from inrush.engines.base.loading import Loading
from inrush.engines.base.merge import Merging, ask_merged, make_stage, merge_steps, stage_of
from inrush.engines.base.sql import literal
from inrush.errors import Problem, UsageError
from inrush.load.ledgers import Ledgers, Rows, schema_of
from inrush.plan import ends
from inrush.plan.ledger import ledger_statements, merged_loads
from inrush.workload import Table

if TYPE_CHECKING:
    from inrush.load.call import Call
    from inrush.load.remote import RemoteShards
    from inrush.load.shards import Shards

    AnyShards = Shards | RemoteShards

#: What the command line says.
OPTIONS = {"update": "--upsert", "skip": "--on-conflict skip"}


def merging_of(upsert: bool, on_conflict: str | None) -> Merging | None:
    """Of the command line. Raises UsageError."""
    if on_conflict not in (None, "skip"):
        raise UsageError(
            f"--on-conflict {on_conflict}: it says skip, which leaves such rows out; --upsert puts them in the place of others"
        )
    if upsert and on_conflict:
        raise UsageError(
            "--upsert and --on-conflict skip say different things of a row whose key is in the table; give one"
        )
    return "update" if upsert else "skip" if on_conflict else None


def merge_problems(call: Call) -> Iterator[Problem]:
    """What needs no server."""
    if call.merging is None:
        return
    option = OPTIONS[call.merging]
    if not call.key:
        yield Problem.sentence(
            f"{option}: --key names the columns by which a row is known in the table: --key id"
        )
    if call.create:
        yield Problem.sentence(
            f"{option}: --create makes a table without keys; make the table first, with its key"
        )
    for more, n in (("--connections", call.connections), ("--parallel", call.parallel)):
        if n != 1:
            comes = "last" if call.merging == "update" else "first"
            yield Problem.sentence(
                f"{option}: leave {more} out: of two rows with one key the one that comes {comes} is stored"
            )
    for other, why in (
        ("--verify", "the files are not what the table holds then"),
        ("--replica", "a copy has no keys"),
    ):
        if getattr(call, other[2:]):
            yield Problem.sentence(f"{option} does not go with {other}: {why}")


def refuse_unmerged(
    call: Call, shards: AnyShards, targets: Sequence[tuple[str, border.Target]], table: Table, physical: str
) -> None:
    """Raises UsageError where the engine cannot, or no unique key of the table is that of the call."""
    from inrush import _core

    if call.merging is None:
        return
    option, dialect = OPTIONS[call.merging], shards.loading.merges
    if dialect is None:
        raise UsageError(
            f"{option}: {targets[0][1]['engine']} has no transactions, in which it could be done"
        )
    have = {column.name: column for column in table.columns}
    shown = ", ".join(call.key)
    if absent := [name for name in call.key if name not in have]:
        raise UsageError(f"{option} --key {shown}: the files have no column {', '.join(absent)}")
    if taken := sorted({name.lower() for name in have} & set(dialect.taken)):
        raise UsageError(
            f"{option}: a column {', '.join(taken)} of the files cannot be told from one of inrush's own"
        )
    texts = [name for name in call.key if have[name].type not in WHOLE_TYPES]
    if texts and not dialect.keys_of_texts:
        raise UsageError(
            f"{option} --key {shown}: {', '.join(texts)} is no whole number and no time; which texts {targets[0][1]['engine']} takes for "
            "one key is not known, so that it is done by such columns alone"
        )
    if call.merging == "skip":
        return
    for name, target in targets:
        if dialect.ask_keys:
            own = call.table.rpartition(".")[2]
            of = {"schema": literal(schema_of(shards, [(name, target)], call.table)), "name": literal(own)}
            rows = shards.ask(target, dialect.ask_keys.format(**of))
            unique = [
                (str(k), str(column), bool(int(whole)), bool(int(own))) for k, column, whole, own in rows
            ]
            refuse_keys(unique, call, table, name)
            continue
        try:
            shards.ask(target, ask_merged(dialect, table, physical, call.key))
        except _core.CoreFailure as failure:
            said = str(failure.args[1]).partition("\n")[0]
            raise UsageError(
                f"{name}: {option} --key {shown}: the server refuses it for table {call.table}, which needs a primary key or "
                f"a unique constraint on just these columns, and takes the other columns as they are: {said}"
            ) from None


def refuse_keys(unique: Sequence[tuple[str, str, bool, bool]], call: Call, table: Table, shown: str) -> None:
    """Of a server that replaces rows by any unique key. unique: as of `MergeDialect.ask_keys`. Raises UsageError. Pure."""
    keys: dict[str, set[str]] = {}
    counted, parts = set(), set()
    for key, column, is_whole, is_counted in unique:
        keys.setdefault(key, set()).add(column.lower())
        counted |= {key} if is_counted else set()
        parts |= set() if is_whole else {key}
    own, files = {name.lower() for name in call.key}, {c.name.lower() for c in table.columns}
    if not any(columns == own and key not in parts for key, columns in keys.items()):
        raise UsageError(
            f"{shown}: --upsert --key {', '.join(call.key)}: table {call.table} has no unique key on just these columns"
        )
    # Only a number that the server counts is new in every row.
    others = [
        key
        for key, columns in keys.items()
        if columns != own and not (key in counted and not columns & files)
    ]
    if others:
        raise UsageError(
            f"{shown}: --upsert --key {', '.join(call.key)}: table {call.table} is also unique by {', '.join(others)}, and the server "
            "replaces a row by whichever of its keys is there: which rows would be lost is not known"
        )


def with_merge(wanted: ends.Wanted, call: Call, loading: Loading) -> ends.Wanted:
    """What is wanted with the statements of a merge, where the call says one."""
    dialect = loading.merges
    if call.merging is None or dialect is None:
        return wanted
    load, stage = wanted.import_id, stage_of(wanted.target_table, wanted.import_id)
    keyed, twice = (
        f"{ledger_statements(load, wanted.ledger)['insert'].removesuffix(' VALUES')} SELECT {literal(name)}"
        for name in merged_loads(load)
    )
    steps = merge_steps(
        dialect,
        call.merging,
        wanted.table,
        wanted.target_table,
        stage,
        call.key,
        (keyed, twice),
        wanted.ledger,
        wanted.items,
        loading.figures,
    )
    # A NULL is the key of no row.
    return replace(wanted, merge=steps, stage=stage, required=(*wanted.required, *call.key))


def make_stages(wanted: ends.Wanted, shards: AnyShards, targets: Sequence[tuple[str, border.Target]]) -> None:
    """Where rows come first. Raises CoreFailure."""
    dialect = shards.loading.merges
    if not wanted.merge or dialect is None:
        return
    # One of a killed load may have been made before the table was changed.
    drop_stages(wanted, shards, targets)
    for _, target in targets:
        for text in make_stage(dialect, wanted.stage, wanted.table, wanted.target_table):
            shards.ask(target, text)


def drop_stages(wanted: ends.Wanted, shards: AnyShards, targets: Sequence[tuple[str, border.Target]]) -> None:
    """At the end of a load: a table that is left by one that was killed is that of the same command again. Raises CoreFailure."""
    for _, target in targets if wanted.merge else ():
        shards.ask(target, f"DROP TABLE IF EXISTS {wanted.stage}")


# --- what the ledgers have of it


def without_merged(ledgers: Ledgers, rows: Sequence[Rows]) -> list[Rows]:
    """Rows that each import has in the table of each shard: those of its ledger without what was replaced or skipped."""
    loads = sorted({load for mine in rows for load in mine})
    gone = ledgers.rows(merged_names(loads))
    return [
        {load: n + sum(less.get(name, 0) for name in merged_loads(load)) for load, n in mine.items()}
        for mine, less in zip(rows, gone, strict=True)
    ]


def merged_names(loads: Collection[str]) -> list[str]:
    return [name for load in loads for name in merged_loads(load)]
