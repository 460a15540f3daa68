"""What was loaded into a database, from the ledgers beside its tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inrush.errors import UsageError, from_core
from inrush.load import ledger
from inrush.load.identity import names_of
from inrush.load.ledger import Header
from inrush.load.ledgers import Ledgers, summed_of
from inrush.load.merge import without_merged
from inrush.load.shards import Shards, real_name
from inrush.plan.ledger import LEDGER

HEADER = ("table", "import", "began (UTC)", "rows", "merged", "rejected", "files")


@dataclass(frozen=True)
class PastLoad:
    """One import of a table."""

    of: Header
    #: By the ledger; `merged` of them were replaced or skipped by their key. `rejected` by the reader and by servers, of the files
    #: that were read to their end.
    rows: int
    merged: int
    rejected: int
    #: Files that were read to their end.
    ended: int

    @property
    def cells(self) -> tuple[str, ...]:
        of = self.of
        files = names_of(of)
        if self.ended < len(of.files):
            files += f" ({self.ended:,} of {len(of.files):,} to the end: the same command goes on)"
        began = of.began[:16].replace("T", " ")
        return of.table, of.load, began, f"{self.rows:,}", f"{self.merged:,}", f"{self.rejected:,}", files

    def document(self) -> dict[str, Any]:
        return {
            "table": self.of.table, "import": self.of.load, "began": self.of.began, "rows": self.rows, "rows_merged": self.merged,
            "rows_rejected": self.rejected, "files": list(self.of.names), "files_ended": self.ended,
        }  # fmt: skip


def past_loads(shards: Shards, table: str | None, note: Callable[[str], None]) -> list[PastLoad]:
    """Of all tables, or of this one (`schema.table` or its name), the oldest import of each first.

    note: what of it cannot be read. Raises UsageError for a file that is not there, TargetError.
    """
    from inrush import _core

    for target in shards.targets if shards.twin.embedded else ():
        if not Path(real_name(target.url)).exists():
            raise UsageError(f"{target.url}: there is no such file")
    try:
        with shards.held_open():
            found = of_database(shards, note)
    except _core.CoreFailure as failure:
        raise from_core(*failure.args) from None
    chosen = [of for of in found if table is None or table in (of.of.table, of.of.table.rpartition(".")[2])]
    return sorted(chosen, key=lambda of: (of.of.table, of.of.began))


def of_database(shards: Shards, note: Callable[[str], None]) -> list[PastLoad]:
    """Of every schema with a ledger that can be read. Raises CoreFailure and UsageError where there are ledgers and none can be."""
    from inrush import _core

    targets = shards.documents()
    schemas = [str(schema) for (schema,) in shards.ask(targets[0][1], shards.loading.ask_schemas(LEDGER))]
    found: list[PastLoad] = []
    unread: list[tuple[str, Exception]] = []
    for schema in schemas:
        try:
            found += of_ledgers(Ledgers(shards, targets, ledger.ledger_name(schema), ""))
        except (_core.CoreFailure, UsageError) as why:
            unread.append((schema, why))
    if unread and len(unread) == len(schemas):
        raise unread[0][1]
    for schema, failed in unread:
        said = str(from_core(*failed.args)) if isinstance(failed, _core.CoreFailure) else str(failed)
        note(f"schema {schema}: its ledger cannot be read, and its loads are not listed: {said}")
    return found


def of_ledgers(ledgers: Ledgers) -> list[PastLoad]:
    """Of one schema, on all shards."""
    headers = ledger.headers(ledgers.ask(0, ledger.ask_headers(ledgers.name)), ledgers.name, None)
    if not headers:
        return []
    loads = [header.load for header in headers]
    by_shard = ledgers.rows(loads)
    rows, inside = summed_of(by_shard), summed_of(without_merged(ledgers, by_shard))
    ended = {str(load): int(n) for load, n in ledgers.ask(0, ledger.ask_ended(ledgers.name, loads))}
    question = ledger.ask_rejected(ledgers.name, loads)
    rejected = rejected_of(
        [line for of in ledgers.at_once(lambda k: ledgers.ask(k, question)) for line in of]
    )
    return [
        PastLoad(
            header,
            rows.get(header.load, 0),
            rows.get(header.load, 0) - inside.get(header.load, 0),
            rejected.get(header.load, 0),
            ended.get(header.load, 0),
        )
        for header in headers
    ]


def rejected_of(lines: Sequence[Sequence[Any]]) -> dict[str, int]:
    """Import -> rows that its reader rejected in files that were read to their end, and that servers refused. Pure.

    lines: as of `ledger.ask_rejected`, of every shard: of a chunk each shard has a line, and that with most refused rows counts.
    """
    read: dict[tuple[str, int], int] = {}
    refused: dict[tuple[str, int, int], int] = {}
    for load, file, chunk, position in lines:
        at, of = json.loads(position), (str(load), int(file))
        read[of] = max(read.get(of, 0), int(at["rejected"]))
        place = (*of, int(chunk))
        refused[place] = max(refused.get(place, 0), int(at.get("refused", 0)))
    found: Counter[str] = Counter()
    for (load, _), n in read.items():
        found[load] += n
    for (load, _, _), n in refused.items():
        found[load] += n
    return dict(found)
