"""An import between its ledger and its table: found or begun at the start of a load, held against the table at its end."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from itertools import count, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inrush.errors import RowsMissing, UsageError
from inrush.load import identity, ledger, proof
from inrush.load.grown import Grown, command_of, going_on, grown_of
from inrush.load.grown import refuse as refuse_grown
from inrush.load.grown import refuse_changed as refuse_other_content
from inrush.load.identity import Content, Start
from inrush.load.ledger import Header
from inrush.load.ledgers import WHOLE_S, Ledgers, Rows, identity_of, later_of, named_of, summed_of
from inrush.load.merge import without_merged
from inrush.load.spool import refuse_changed
from inrush.load.unfinished import lines_of_unfinished, parts_of, unfinished

if TYPE_CHECKING:
    from inrush.load.call import Call
    from inrush.load.input import Input
    from inrush.load.remote import RemoteShards
    from inrush.load.shards import Shards

    AnyShards = Shards | RemoteShards
Doc = dict[str, Any]


@dataclass(frozen=True)
class Import:
    """One import, as its ledger knows it before the load."""

    #: The ledger beside the table; the table as the server resolves it.
    ledger: str
    table: str
    #: Of each shard.
    headers: tuple[Header, ...]
    numbers: tuple[int, ...]
    chunk_rows: int
    digest_s: float
    #: Rows are stored.
    stored: bool = False
    #: Warnings about possible duplicates; shown even with --quiet.
    warned: tuple[str, ...] = ()
    #: Its files have grown since it was begun: its line in the ledger says what they hold now.
    grown: bool = False
    #: The table is emptied before it begins.
    empties: bool = False

    @property
    def load(self) -> str:
        return self.headers[0].load


def contents_of(inputs: Sequence[Input], stored: Sequence[Header] = ()) -> list[Content]:
    """Every file by what it holds: each is read once. Raises UsageError for one that changes meanwhile.

    stored: imports with files that may be the beginning of one of these.
    """
    from inrush import _core

    sizes = sorted({size for header in stored for size in header.sizes})
    known = {file for header in stored for file in header.files}

    def content(of: Input) -> Content:
        # Of a short file the digest is known; it is read again where it may begin with another one.
        shorter = [] if of.digest in known else sizes[: bisect_left(sizes, of.stamp.bytes)]
        if of.digest and not shorter:
            return Content(of.shown, of.digest, of.stamp.bytes, vacant=of.vacant)
        digest, _, starts = _core.file_digest(of.at, shorter)
        refuse_changed(Path(of.at), of.shown, of.stamp)
        return Content(of.shown, digest, of.stamp.bytes, tuple(starmap(Start, starts)), of.vacant)

    with ThreadPoolExecutor(max(1, min(4, len(inputs)))) as pool:
        return list(pool.map(content, inputs))


def settle(
    call: Call, inputs: Sequence[Input], ledgers: Ledgers, table: str | None, note: Callable[[str], None]
) -> Import:
    """The import of these files: the one that was begun, or a new one that no ledger has yet.

    table: as statements use it; None: there is none yet. Raises RowsMissing where it has fewer rows than its ledgers, UsageError for files that another
    import has stored.
    """
    headers = ledgers.headers()
    began = time.monotonic()
    contents = contents_of(inputs, () if call.again else headers[0])
    digest_s = time.monotonic() - began
    if not call.again:
        identity.refuse_twice(contents)
    base = call.import_id or identity.base_id(contents, ledgers.table, identity_of(ledgers))
    own = max((h for h in headers[0] if h.base == base), key=lambda h: h.again, default=None)
    by_shard = ledgers.rows([h.load for h in headers[0]])
    rows = summed_of(by_shard)
    if call.truncate:
        call = replace(call, again=not _is_filling(ledgers, own, headers, table))
    elif call.merging is not None:
        call = replace(call, again=call.again or _comes_again(call, ledgers, own, headers[0], rows))
    is_other = own is None or sorted(own.files) != sorted(c.digest for c in contents)
    grown: list[Grown] = []
    if is_other and not call.again:
        others = [h for h in headers[0] if rows.get(h.load)]
        grown = grown_of(contents, others)
        parts, of_files = parts_of(ledgers, others, {g.of.load for g in grown})
        known = going_on(contents, grown, parts)
        if known is not None and call.import_id in (None, known.base):
            names = ", ".join(g.content.shown for g in grown)
            note(
                f"import {known.load}{identity.date_of(known)} goes on: {names} has grown since, and {rows[known.load]:,} rows that "
                "are stored stay"
            )
            of = continued(ledgers, known, contents, headers, digest_s, base)
            return replace(of, stored=refuse_missing(ledgers, of, headers, by_shard, table))
    if own is None or call.again:
        warned: tuple[str, ...] = ()
        if not call.again:
            refuse_other_content(contents, others, rows, parts, ledgers.table)
            identity.refuse_stored(contents, others, rows, ledgers.table, parts)
            source = {i.shown: i for i in inputs}
            refuse_grown(
                grown, of_files, ledgers.table, lambda g: command_of(g, source[g.content.shown], call)
            )
            warned = _possible_duplicates(contents, others, rows, parts)
            for line in warned:
                note(line)
        taken, least = {h.load for h in headers[0]}, 0 if own is None else own.again + 1
        new = _new(base, least, taken, contents, call.chunk_rows, ledgers, digest_s)
        return replace(new, warned=warned, empties=call.truncate and table is not None)
    found = continued(ledgers, own, contents, headers, digest_s)
    if own.chunk_rows != call.chunk_rows:
        note(f"import {own.load} goes on with the chunks of {own.chunk_rows} rows that it was begun with")
    return replace(found, stored=refuse_missing(ledgers, found, headers, by_shard, table))


def _possible_duplicates(
    contents: Sequence[Content], others: Sequence[Header], rows: Rows, parts: identity.Parts
) -> tuple[str, ...]:
    """What says that rows of these files may be in the table under another import."""
    said = identity.namesake(contents, others, rows, parts)
    return (*([said] if said else ()), *lines_of_unfinished(others, rows, parts))


def _is_filling(
    ledgers: Ledgers, own: Header | None, headers: Sequence[Sequence[Header]], table: str | None
) -> bool:
    """Whether the latest import is this one, which emptied the table and has not ended: then it goes on, if its rows are there."""
    if own is None or not own.reading.get("truncate") or own.load not in unfinished(ledgers, [own]):
        return False
    stored = summed_of(without_merged(ledgers, ledgers.rows([own.load]))).get(own.load, 0)
    places = [named_of(found, own.load) for found in headers]
    is_latest = own == headers[0][-1] and all(of is not None and of.rows_before == 0 for of in places)
    return bool(is_latest and table and 0 < stored <= sum(ledgers.counts(table)))


def _comes_again(
    call: Call, ledgers: Ledgers, own: Header | None, headers: Sequence[Header], rows: Rows
) -> bool:
    """Whether rows are merged once more: their files were stored otherwise, or another import may have replaced some since."""
    if own is None:
        return True
    if own.load in unfinished(ledgers, [own]):
        return False
    later = any(rows.get(h.load) for h in later_of(headers, own))
    return later or own.reading.get("merging") != call.merging


def refuse_taken(ledgers: Ledgers, of: Import) -> None:
    """Raises UsageError where another table beside this one has an import of this name."""
    everyone = ledger.headers(ledgers.ask(0, ledger.ask_headers(ledgers.name)), ledgers.name, None)
    if other := next((h for h in everyone if h.load == of.load and h.table != ledgers.table), None):
        raise UsageError(
            f"--import-id {of.load}: table {other.table} has an import of this name; give another one"
        )


def empty(ledgers: Ledgers, tables: Sequence[str], note: Callable[[str], None]) -> None:
    """tables: as statements use them."""
    rows = sum(ledgers.counts(tables[0]))
    for table in tables:
        ledgers.at_once(partial(_empty, ledgers, table))
    note(f"table {ledgers.table} was emptied: it held {rows:,} row{'s' * (rows != 1)}")


def _empty(ledgers: Ledgers, table: str, k: int) -> None:
    ledgers.shards.ask(ledgers.targets[k][1], f"{ledgers.shards.loading.empties} {table}", WHOLE_S)


def continued(
    ledgers: Ledgers,
    own: Header,
    contents: Sequence[Content],
    headers: Sequence[Sequence[Header]],
    digest_s: float,
    base: str | None = None,
) -> Import:
    """The import that was begun. base: of files that have grown since, by the names and sizes that they have now."""
    places = [named_of(found, own.load) for found in headers]
    identity.check_same(own, contents, places)
    now = tuple(h for h in places if h)
    if base is not None:
        now = tuple(replace(h, base=base, files=own.files, sizes=own.sizes, names=own.names) for h in now)
    numbers = identity.numbers(own, contents)
    return Import(ledgers.name, ledgers.table, now, numbers, own.chunk_rows, digest_s, grown=base is not None)


def _new(
    base: str,
    least: int,
    taken: Set[str],
    contents: Sequence[Content],
    chunk_rows: int,
    ledgers: Ledgers,
    digest_s: float,
) -> Import:
    """Under a name that is not taken: an import that went on with grown files has kept the one that their old content gave it."""
    began = _now()
    names = ((again, f"{base}.{again}" if again else base) for again in count(least))
    again, load = next(of for of in names if of[1] not in taken)
    headers = tuple(
        Header(
            load=load,
            base=base,
            again=again,
            table=ledgers.table,
            files=tuple(c.digest for c in contents),
            names=tuple(c.shown for c in contents),
            chunk_rows=chunk_rows,
            began=began,
            rows_before=0,
            place=k,
            shards=len(ledgers.targets),
            sizes=tuple(c.bytes for c in contents),
        )
        for k in range(len(ledgers.targets))
    )
    numbers = tuple(range(len(contents)))
    return Import(ledgers.name, ledgers.table, headers, numbers, chunk_rows, digest_s)


def refuse_missing(
    ledgers: Ledgers,
    of: Import,
    headers: Sequence[Sequence[Header]],
    rows: Sequence[Rows],
    table: str | None,
) -> bool:
    """Whether it has stored rows. rows: of each shard by its ledger. Raises RowsMissing where a table has fewer rows than the ledger beside it."""
    counts = ledgers.counts(table) if table else [0] * len(ledgers.targets)
    for (name, _), own, found, mine, now in zip(
        ledgers.targets, of.headers, headers, without_merged(ledgers, rows), counts, strict=True
    ):
        least = proof.least(own, later_of(found, own), mine)
        if now < least:
            raise RowsMissing(
                f"{name}: table {ledgers.table} has {now:,} rows, and {least:,} by the ledger of its imports (this one is "
                f"{own.load}{identity.date_of(own)}): rows were deleted, or the table was dropped or made anew; "
                + (
                    "--again loads all rows of the files; rows that are still there would stand twice, so empty the table first"
                    if now
                    else f"{'--again' if table else '--create --again'} loads the files anew"
                )
            )
    return any(of.load in mine for mine in rows)


def begin(
    ledgers: Ledgers,
    of: Import,
    items: Sequence[proof.Item],
    types: Mapping[str, str],
    reading: Doc,
    table: str,
) -> Import:
    """Its line on every shard, unless it has one; the tables are counted for it.

    An import of which nothing is stored yet begins again: its table may have changed since. Raises UsageError where another
    client loads it meanwhile in another reading.
    """
    if of.grown:
        for k, header in enumerate(of.headers):
            _change(ledgers, k, header)
        return of
    if of.stored:
        return of
    headers = ledgers.headers()
    here = [named_of(found, of.load) for found in headers]
    counts = ledgers.counts(table)
    # Counted first: rows of another client of this import would be lines of the ledger by now.
    if any(here) and any(ledgers.rows([of.load])):
        if any(header.reading != reading for header in here if header is not None):
            raise UsageError(
                f"import {of.load} is being loaded by another command, which reads the files in another way; wait for its end"
            )
        return of
    if not ledgers.transactional:
        # Rows that came since it was begun may be its own, stored without their line.
        counts = [
            rows if old is None else min(rows, old.rows_before)
            for old, rows in zip(here, counts, strict=True)
        ]
    # Behind the imports that brought what is there now: of two the later one has the rows of the other before it.
    moved = any(old is not None and old.rows_before != rows for old, rows in zip(here, counts, strict=True))
    began = _now()
    new = tuple(
        replace(
            header,
            began=began if moved else header.began,
            rows_before=rows,
            items=tuple(map(dict, items)),
            types=dict(types),
            reading=reading,
        )
        for header, rows in zip(of.headers, counts, strict=True)
    )
    for k, (header, old) in enumerate(zip(new, here, strict=True)):
        if old is None:
            _write(ledgers, k, header)
        elif _begun_as(old) != _begun_as(header):
            _change(ledgers, k, header)
    return replace(of, headers=new)


def _write(ledgers: Ledgers, k: int, header: Header) -> None:
    """Its first line on a shard, unless another client of the same import was quicker."""
    from inrush import _core

    if not ledgers.transactional and named_of(ledgers.headers()[k], header.load):
        return  # no key of such an engine refuses a second one
    try:
        ledgers.ask(k, ledger.note_header(ledgers.name, header))
    except _core.CoreFailure:
        if not any(h.load == header.load for h in ledgers.headers()[k]):
            raise


def _change(ledgers: Ledgers, k: int, header: Header) -> None:
    """Its line on a shard. Where none can be changed, one that was begun later stands for it."""
    if ledgers.transactional:
        ledgers.ask(k, ledger.change_header(ledgers.name, header))
    else:
        ledgers.ask(k, ledger.note_header(ledgers.name, replace(header, began=_now())))


def _begun_as(header: Header) -> tuple[Any, ...]:
    """What the line of an import says that may be another one when it begins again."""
    return header.rows_before, items_of(header.items), dict(header.types), dict(header.reading)


def items_of(items: Iterable[proof.Item]) -> list[Doc]:
    return [dict(item) for item in items]


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def refuse_verify(ledgers: Ledgers, of: Import, table: str | None) -> None:
    """Raises UsageError where a table that is to be read back holds rows that are not of these files."""
    now = sum(ledgers.counts(table)) if table else 0
    own = sum(rows.get(of.load, 0) for rows in ledgers.rows([of.load]))
    if now != own:
        raise UsageError(
            f"--verify: table {ledgers.table} has {now:,} rows and {own:,} are of these files; it compares a table with the "
            "files that filled it: leave --verify out, or load into an empty table"
        )
