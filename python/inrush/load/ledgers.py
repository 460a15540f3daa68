"""The ledgers beside a table, one on each of its shards: they are asked for the imports that they hold, all at once."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from inrush.border import plan as border
from inrush.errors import UsageError
from inrush.load import ledger
from inrush.load.ledger import Header
from inrush.plan.ledger import LEDGER, SUMS, create_statement
from inrush.targets.ask import NOT_ALLOWED, one_row
from inrush.targets.passwords import environment

if TYPE_CHECKING:
    from inrush.load.remote import RemoteShards
    from inrush.load.shards import Shards

    AnyShards = Shards | RemoteShards
T = TypeVar("T")
Targets = Sequence[tuple[str, border.Target]]
#: Import -> rows by its ledger.
Rows = dict[str, int]

#: Shards that are asked at once: a load server ends the oldest of more than 64 connections without a token.
AT_ONCE = 32
#: Counting and summing a table reads all of it.
WHOLE_S = 86_400.0


def at_once(shards: AnyShards, count: int, of_shard: Callable[[int], T]) -> list[T]:
    """Of each shard, in their order: while one counts and sums its table, so do the others."""
    if count == 1:
        return [of_shard(0)]
    # The passwords stand in the environment until the last one is answered.
    with environment(shards.secrets), ThreadPoolExecutor(min(AT_ONCE, count)) as pool:
        return list(pool.map(of_shard, range(count)))


def once_more(make: Callable[[], object]) -> None:
    """Makes what is not there yet. Where another load makes it at the same moment, PostgreSQL takes that for a conflict: then it is
    there the second time."""
    from inrush import _core

    try:
        make()
    except _core.CoreFailure:
        make()


@contextmanager
def rights(what: str) -> Iterator[None]:
    """Who may fill a table, and not its ledger, is told what to ask for. Raises UsageError."""
    from inrush import _core

    try:
        yield
    except _core.CoreFailure as failure:
        said = failure.args[1]
        if LEDGER not in said or not NOT_ALLOWED.search(said):
            raise
        line = said.partition("\n")[0]
        raise UsageError(f"{line}; a load notes there which rows are stored: ask for {what}") from None


@dataclass(frozen=True)
class Ledgers:
    """The ledgers of all shards."""

    shards: AnyShards
    targets: Targets
    name: str
    table: str

    @property
    def transactional(self) -> bool:
        """Rows and the line of the ledger commit together."""
        return self.shards.loading.transactional

    def ask(self, k: int, statement: str, limit_s: float = WHOLE_S) -> list[list[Any]]:
        with rights(f"GRANT SELECT, INSERT, UPDATE ON {self.name} TO the user"):
            return self.shards.ask(self.targets[k][1], statement, limit_s)

    def at_once(self, of_shard: Callable[[int], T]) -> list[T]:
        """Of each shard, in their order."""
        return at_once(self.shards, len(self.targets), of_shard)

    def headers(self) -> list[list[Header]]:
        """Of each shard, the imports of this table in the order in which they were begun."""
        from inrush import _core

        question = ledger.ask_headers(self.name)
        try:
            return self.at_once(lambda k: ledger.headers(self.ask(k, question), self.name, self.table))
        except _core.CoreFailure as e:
            if self.lacks_sums():
                raise ledger.another_version(self.name) from e
            raise

    def lacks_sums(self) -> bool:
        """Whether a ledger is there and was made by a version that kept no sums."""
        schema = self.name.rpartition(".")[0].strip('"').replace('""', '"')
        question = self.shards.loading.describe(schema, LEDGER)
        return any(
            bool(of) and SUMS not in [str(row[0]) for row in of]
            for of in self.at_once(lambda k: self.ask(k, question))
        )

    def rows(self, loads: Sequence[str]) -> list[Rows]:
        """Of each shard."""
        if not loads:
            return [{} for _ in self.targets]
        question = ledger.ask_rows(self.name, loads)
        return self.at_once(lambda k: {str(load): int(rows) for load, rows, _ in self.ask(k, question)})

    def counts(self, table: str) -> list[int]:
        counted = f"SELECT COUNT(*) AS n FROM {table}"
        return self.at_once(lambda k: int(self.ask(k, counted)[0][0]))


def open_ledgers(shards: AnyShards, targets: Targets, table: str) -> Ledgers:
    """The ledgers beside the table, made where there are none."""
    found = schema_of(shards, targets, table)
    here = ledger.ledger_name(found)
    there = shards.loading.describe(found, LEDGER)
    for _, target in targets:
        # To make one that is there, servers ask for the same right.
        if not shards.ask(target, there):
            with rights(f"the right to make tables in {found}"):
                once_more(partial(shards.ask, target, create_statement(shards.loading, here)))
    resolved = f"{found}.{table.rpartition('.')[2]}"
    return Ledgers(shards, targets, here, resolved.lower() if shards.loading.folds_names else resolved)


def has_ledgers(shards: AnyShards, targets: Targets, table: str) -> bool:
    """Whether an import was ever begun beside this table."""
    found = schema_of(shards, targets, table)
    return bool(shards.ask(targets[0][1], shards.loading.describe(found, LEDGER)))


def schema_of(shards: AnyShards, targets: Targets, table: str) -> str:
    """Where the table is, or would be made."""
    schema, _, name = table.rpartition(".")
    [found] = one_row(shards.ask(targets[0][1], shards.loading.schema_of(schema, name)), 1, targets[0][1])
    return str(found)


def identity_of(ledgers: Ledgers) -> str:
    """Of the databases: those of their ledgers, made once, in any order."""
    from inrush import _core

    def known(k: int) -> str | None:
        [found] = one_row(ledgers.ask(k, ledger.ask_identity(ledgers.name)), 1, ledgers.targets[k][1])
        return None if found is None else str(found)

    found = []
    for k in range(len(ledgers.targets)):
        if (own := known(k)) is None:
            try:
                ledgers.ask(k, ledger.note_identity(ledgers.name, secrets.token_hex(16)))
            except _core.CoreFailure:
                if known(k) is None:  # not another load's at the same moment
                    raise
            own = known(k)
        found.append(str(own))
    return " ".join(sorted(found))


def summed_of(rows: Sequence[Rows]) -> Rows:
    """Of all shards."""
    sums: Rows = {}
    for mine in rows:
        for load, n in mine.items():
            sums[load] = sums.get(load, 0) + n
    return sums


def later_of(headers: Sequence[Header], own: Header) -> list[Header]:
    """Imports that were begun after this one."""
    return [h for h in headers if h.load != own.load and h.began > own.began]


def named_of(headers: Sequence[Header], load: str) -> Header | None:
    return next((h for h in headers if h.load == load), None)
