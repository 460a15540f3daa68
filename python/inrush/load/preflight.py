"""What is checked before a load, at three moments; each reports everything that it finds at once.

file     what the command says, then what it says of a table that it would make of the files
server   the servers that rows go to
machine  only whether results can be written (`results/store/root`): a load starts no server

A check lies with what it is about, and yields problems. What imports are in the table already is no matter of these: each
answer leads to the next question (`imports`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from inrush.border import plan as border
from inrush.errors import Problem, problems_of
from inrush.load import create
from inrush.load.merge import merge_problems
from inrush.load.names import (
    blank_name_problems,
    column_name_problems,
    import_name_problems,
    table_name_problems,
)
from inrush.load.remote import remote_problems
from inrush.load.series import path_problems
from inrush.load.shards import shards_of
from inrush.load.spool import encoding_problem
from inrush.study.chosen import read_dates
from inrush.study.date_formats import read_formats
from inrush.study.said import read_said
from inrush.study.zones import changes
from inrush.workload import Table

if TYPE_CHECKING:
    from inrush.load.call import Call
    from inrush.load.input import Input
    from inrush.load.remote import RemoteShards
    from inrush.load.shards import Shards

    AnyShards = Shards | RemoteShards


def call_problems(call: Call) -> Iterator[Problem]:
    """What needs no file and no server."""
    yield from path_problems(call.series)
    yield from blank_name_problems(call.table)
    yield from import_name_problems(call.import_id)
    yield from problems_of(partial(read_said, call.header, call.columns, call.format, call.written))
    if call.encoding and (why := encoding_problem(call.encoding)):
        yield Problem.sentence(why)
    if call.types and not call.create:
        yield Problem.sentence("--type: a table that is there says its types; it goes with --create")
    yield from problems_of(partial(read_dates, call.dates))
    yield from problems_of(partial(read_formats, call.date_formats))
    if call.timezone:
        yield from problems_of(partial(changes, call.timezone))
    if call.count_only and call.verify:
        yield Problem.sentence("--proof count: --verify compares every row; leave one of the two out")
    yield from merge_problems(call)
    if call.server:
        yield from remote_problems(call)
    elif wrong := problems_of(partial(shards_of, call, lambda _: None)):
        yield from wrong
    else:
        loading = shards_of(call, lambda _: None).loading
        yield from table_name_problems(loading, call.table, call.replica)


def file_problems(
    call: Call, inputs: Sequence[Input], shards: AnyShards, targets: Sequence[tuple[str, border.Target]]
) -> Iterator[Problem]:
    """Names, of a table that a coordinator may call otherwise; and how many shards there are."""
    if call.replica and (len(targets) < 2 or not shards.loading.transactional):
        yield Problem.sentence(
            "--replica: it takes two shards at least, of an engine that stores rows and ledger together"
        )
    yield from table_name_problems(shards.loading, call.table, call.replica)
    yield from column_name_problems(
        shards.loading, [c.name for c in inputs[0].sniffed.columns], inputs[0].shown
    )


def server_problems(
    shards: AnyShards, targets: Sequence[tuple[str, border.Target]], table: str
) -> Iterator[Problem]:
    """Servers that are too old, and tables that would not store each row once. Raises CoreFailure."""
    for target in targets:
        yield from [*create.age_problems(shards, target)] or create.table_problems(shards, target, table)


def table_problems(
    call: Call, shards: AnyShards, table: Table, columns: Sequence[str], is_there: bool
) -> Iterator[Problem]:
    """What the rows cannot be stored by, before a ledger or a table is made. columns: of the table, or those of the files."""
    have = f"table {call.table} has" if is_there else "the files have"
    wrong = [*create.key_problems(call.key, columns, have)]
    yield from wrong
    yield from problems_of(partial(create.method_of, call, shards.twin, table, len(columns)))
    if not wrong and create.is_spread(call, shards):
        yield from problems_of(partial(create.spreading, call, shards, [(c, "") for c in columns]))
