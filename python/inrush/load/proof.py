"""Is what was read in the table? The client's sums, those of the ledger and those of the servers, compared. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from inrush.engines.base.loading import Loading, base_type
from inrush.load.ledger import Header

Item = Mapping[str, Any]
Figures = Sequence[int]

#: Kind of a figure -> how its column was compared.
SAID = {
    "sum": "sum", "sum_low": "sum", "sum_high": "sum", "count_true": "count of true values", "sum_hash": "sum of hashes",
}  # fmt: skip
#: Σ high·2^32 + low is within this of the files' sum, µs for each row, where a type only rounded.
ROUNDED_US = 1_000_000
DIFFERENT = "different"
NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class LoadEvidence:
    """What was found at the end of a load."""

    #: Good rows by the client, this import's rows by its ledger, and by the ledger of the copies.
    rows_read: int
    rows_in_ledger: int
    rows_on_replicas: int | None
    #: Rows and their lines commit together: no chunk can be stored twice.
    transactional: bool
    #: Of each shard: its name, rows of its table now, and at least so many by the ledger.
    shards: Sequence[tuple[str, int, int]]
    #: More rows than every import of this table accounts for; None where others are still storing.
    unknown: int | None
    items: Sequence[Item] = ()
    #: By the client, by the ledger of this import, by the ledgers of all imports that filled the table; None: not known.
    of_client: Figures | None = None
    of_ledger: Figures | None = None
    expected: Figures | None = None
    #: Sums of the tables, with those of the copies behind: (what they are of, figures).
    found: Sequence[tuple[str, Figures]] = ()
    #: Column -> why its values may differ from the files' although nothing is wrong.
    weak: Mapping[str, str] = field(default_factory=dict)
    #: Imports with rows in the table, and the names of those with files that are stored in part.
    imports: int = 1
    unfinished: Sequence[str] = ()
    #: Why the table's sums are not those of files, where nothing is expected.
    uncompared: str = ""
    #: Rows of the imports that filled the table that were replaced or skipped by their key.
    merged: int = 0
    #: Copies that are not on the shard after their rows: other rows by the ledgers, or other sums of the tables.
    copies_missing: str = ""
    astray: str = ""
    #: A file that is not as it was when the load began.
    changed: str = ""


@dataclass(frozen=True)
class LoadVerdict:
    """verdict: `proven`, `counted` (rows alone), `missing`, `different`."""

    verdict: str
    why: str
    #: Column -> how it was compared, and whether it was different.
    columns: Mapping[str, str] = field(default_factory=dict)
    #: Of which tables every column has its sum and the rows have not: values changed places. As of `LoadEvidence.found`.
    moved: tuple[str, ...] = ()
    #: Rows of this import that were replaced or skipped by their key.
    merged: int = 0


def judge(of: LoadEvidence) -> LoadVerdict:
    """What may be said of the table."""
    if of.changed:
        return LoadVerdict(
            "different", f"{of.changed} changed while it was loaded: the table may have rows of both"
        )
    copies = [] if of.rows_on_replicas is None else [of.rows_on_replicas]
    if any(rows != of.rows_read for rows in (of.rows_in_ledger, *copies)):
        found = " and ".join(f"{rows:,}" for rows in (of.rows_in_ledger, *copies))
        return LoadVerdict("different", f"{found} rows in the ledger, {of.rows_read:,} read and good")
    if of.copies_missing:
        return LoadVerdict("different", of.copies_missing)
    for name, now, least in of.shards:
        if now < least:
            return LoadVerdict("missing", f"{name} has {now:,} rows, {least:,} by the ledger")
    if None not in (of.of_client, of.of_ledger) and of.of_client != of.of_ledger:
        return LoadVerdict("different", "the sums in the ledger are not those of the files")
    if of.unknown is None:
        return LoadVerdict(
            "counted", "another import is storing into the table; afterwards the same command proves it"
        )
    if of.unknown > 0:
        return LoadVerdict(
            "different", f"the table has {of.unknown:,} rows more than the ledger: {foreign_rows(of)}"
        )
    if of.expected is None or not of.found:
        return LoadVerdict("counted", of.uncompared)
    if of.of_client is None or of.of_ledger is None:
        return LoadVerdict("different", "the sums of the files, or those of the ledger, are missing")
    said = compared(of, of.expected)
    # Which values are different says more than that a copy is not like its rows.
    return (
        replace(said, verdict=DIFFERENT, why=of.astray) if of.astray and said.verdict != DIFFERENT else said
    )


def astray(names: Sequence[str], rows: Sequence[object], copies: Sequence[object], what: str) -> str:
    """Which copies are not on the shard after their rows; empty: none. On all shards together they add up anywhere.

    rows: of each shard; copies: of these rows on the shard after it, in the order of the rows' shards.
    """
    return next(
        (
            f"the copies on {beside} are not those of {name}: other {what}"
            for name, beside, own, copied in zip(names, [*names[1:], *names[:1]], rows, copies, strict=True)
            if own != copied
        ),
        "",
    )


def foreign_rows(of: LoadEvidence) -> str:
    """Rows that no line of a ledger accounts for, and what to do. The same at every repetition."""
    if of.transactional:
        return (
            "others wrote, for rows and lines of a load commit together; remove those rows and repeat the command, or empty "
            "the table and load with --again"
        )
    return (
        "a chunk was stored twice, when its answer was lost or a kill came before its line, or others wrote; empty the "
        "table and load with --again"
    )


def compared(of: LoadEvidence, expected: Figures) -> LoadVerdict:
    """By column: equal, different, or rounded by its type; then by whole rows."""
    columns: dict[str, str] = {}
    for name, found in of.found:
        for column, how in by_column(of.items, expected, found, of.weak).items():
            if DIFFERENT in how and len(of.found) > 1:
                how = f"{how} on {name}"
            if column not in columns or doubt(how) > doubt(columns[column]):
                columns[column] = how
    for column, why in of.weak.items():
        columns.setdefault(column, f"{NOT_COMPARED}: {why}")
    named = [(column, how) for column, how in columns.items() if column]
    wrong = [column for column, how in named if DIFFERENT in how]
    weak = [f"`{column}` {how}" for column, how in named if NOT_COMPARED in how]
    shown = dict(named)
    if wrong or DIFFERENT in columns.get("", ""):
        return LoadVerdict(
            "different",
            f"the table's values are not the files' in {', '.join(f'`{c}`' for c in wrong) or 'its rows'}",
            shown,
        )
    moved = tuple(name for name, found in of.found if rows_differ(of.items, expected, found))
    if moved:
        return LoadVerdict(
            "different", f"values stand in other rows of {moved[0]} than in the files", shown, moved
        )
    if weak:
        return LoadVerdict("counted", f"{'; '.join(weak)}; all other columns are equal", shown)
    files = "the files'"
    if of.imports > 1:
        files = f"those of the files of all {of.imports} imports that filled the table"
    if of.merged:
        files += (
            f", without {of.merged:,} row{'s' * (of.merged != 1)} that another one of the same key stands for"
        )
    if of.unfinished:
        files += f", as far as these were stored: of {', '.join(of.unfinished)} a part is missing"
    return LoadVerdict("proven", f"{equal_parts(of.items, list(shown))} are equal to {files}", shown)


def equal_parts(items: Sequence[Item], columns: Sequence[str]) -> str:
    """What was compared, and what that does not see."""
    in_rows = next((item["columns"] for item in items if item["kind"] == "sum_rows"), ())
    loose = [column for column in columns if column not in in_rows]
    said = f"rows and the sums of all {len(columns)} columns"
    if in_rows:
        said = f"rows, the sums of all {len(columns)} columns and those of whole rows"
    if loose and len(columns) > 1:
        said += f" (not checked: whether two rows exchanged their values of {' or '.join(f'`{name}`' for name in loose)})"
    return said


def rows_differ(items: Sequence[Item], expected: Figures, found: Figures) -> bool:
    return any(
        item["kind"] == "sum_rows" and should != has
        for item, should, has in zip(items, expected, found, strict=True)
    )


def with_moved(verdict: LoadVerdict, names: Sequence[str]) -> LoadVerdict:
    """The verdict on values that changed places with the columns that were found: all rows are equal but for theirs."""
    if not names:
        return verdict
    shown = {
        column: f"{how}, in other rows: {DIFFERENT}" if column in names else how
        for column, how in verdict.columns.items()
    }
    why = f"values of {' or '.join(f'`{name}`' for name in names)} stand in other rows of {verdict.moved[0]} than in the files"
    return replace(verdict, why=why, columns=shown)


def doubt(how: str) -> int:
    """How much the comparison of a column leaves open: of two tables the worse one is said."""
    return 2 if DIFFERENT in how else 1 if NOT_COMPARED in how else 0


def by_column(
    items: Sequence[Item], expected: Figures, found: Figures, weak: Mapping[str, str]
) -> dict[str, str]:
    """Column -> how it was compared. The number of rows stands under no name."""
    columns: dict[str, str] = {}
    #: Columns of which a figure differs that no rounding changes; of the others, by how much their sums differ.
    wrong: set[str] = set()
    shifted: dict[str, int] = {}
    for item, should, has in zip(items, expected, found, strict=True):
        if item["kind"] == "sum_rows":
            continue
        column = str(item.get("column", ""))
        said = "read back" if item.get("hash") == "read_back" else SAID.get(item["kind"], "count")
        # The figure of a column's values says more than that of its NULLs.
        if column not in columns or item["kind"] != "not_null":
            columns[column] = said
        if should == has:
            continue
        scale = {"sum_high": 2**32, "sum_low": 1, "sum": 1}.get(item["kind"])
        if column in weak and item["kind"] == "sum_hash":
            columns[column] = f"{NOT_COMPARED}: {weak[column]}"
        elif scale is None or column not in weak:
            wrong.add(column)
        else:
            shifted[column] = shifted.get(column, 0) + scale * (has - should)
    rows = expected[0] if items else 0
    for column, shift in shifted.items():
        if abs(shift) <= rows * ROUNDED_US:
            columns[column] = f"{NOT_COMPARED}: {weak[column]}"
        else:
            wrong.add(column)
    return columns | {column: f"{columns[column]}: {DIFFERENT}" for column in wrong}


# --- figures


def figures(text: str) -> list[int]:
    """Of `Checksums::text`."""
    return [int(figure) for figure in text.split()]


def whole(value: Any) -> int:
    """Engines give big sums as numeric, hugeint or text; an empty table sums to NULL."""
    return 0 if value is None else int(Decimal(str(value)))


def added(items: Sequence[Item], parts: Sequence[Figures]) -> list[int]:
    """Figure by figure; sums of cityHash64 wrap at 2^64, as the engine's own do."""
    sums = [sum(column) for column in zip(*parts, strict=True)] if parts else [0] * len(items)
    return [
        total % 2**64 if item.get("hash") == "city_hash64" else total
        for item, total in zip(items, sums, strict=True)
    ]


def of_lines(items: Sequence[Item], texts: Sequence[Any]) -> list[int] | None:
    """The sums of lines of a ledger; None where one has none, or others than of these items."""
    parts = [figures("" if text is None else str(text)) for text in texts]
    return None if any(len(part) != len(items) for part in parts) else added(items, parts)


def one_row(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """The figures of `Loading.checksum_query`: its row, or its rows without the number in front of each."""
    return list(rows[0]) if len(rows) == 1 else [figure for row in rows for figure in row[1:]]


def together(items: Sequence[Item], checksum_query: Sequence[Any], read: Figures) -> list[int]:
    """The figures of one table in the order of the items. checksum query: a row without those that are read back; read: these.

    What stands behind the last figure of the row is no figure.
    """
    by_sql, by_reading = iter(checksum_query), iter(read)
    return [next(by_reading) if i.get("hash") == "read_back" else whole(next(by_sql)) for i in items]


# --- imports of one table


def least(own: Header, later: Sequence[Header], rows: Mapping[str, int]) -> int:
    """So many rows one shard has at least: those from before the import, its own, and those of imports begun later."""
    return own.rows_before + sum(rows.get(header.load, 0) for header in (own, *later))


def unknown_rows(
    headers: Sequence[Header], rows: Mapping[str, int], now: int
) -> tuple[int, list[Header] | None]:
    """Rows that no import accounts for, and the imports that filled the table from empty; None: it was never empty, or
    not all of its rows are theirs. headers: in the order in which they were begun, with rows_before of all shards."""
    accounts = [
        header.rows_before + sum(rows.get(h.load, 0) for h in headers[k:]) for k, header in enumerate(headers)
    ]
    for k, header in enumerate(headers):
        # What was begun before it and stored afterwards may be in the table too: then a longer list accounts for it.
        if accounts[k] == now and header.rows_before == 0:
            return 0, list(headers[k:])
    return now - max((account for account in accounts if account <= now), default=now), None


#: An import that brought less than one part in so many of a table does not sum the whole.
PARTS = 10


def worth_summing(own: str, headers: Sequence[Header], rows: Mapping[str, int]) -> bool:
    """Whether the table was filled from empty, and this import brought enough of it to have the whole read. As of
    `unknown_rows`."""
    empty = [k for k, header in enumerate(headers) if header.rows_before == 0]
    if not empty:
        return False
    return PARTS * rows.get(own, 0) >= sum(rows.get(header.load, 0) for header in headers[empty[-1] :])


# --- columns that a type changes

#: Of MySQL: so many digits are kept.
ROUNDED_FLOAT = re.compile(r"(float|double)\(\d+,\d+\)")
FLOATS = frozenset({"f32", "f64", "list_f64"})
TIMES = re.compile(r"(timestamp|datetime)(?:\((\d)\))?")


def weak_columns(declared: Mapping[str, str], loading: Loading, method: str) -> dict[str, str]:
    """Column -> what its type does to values, where they are not as the files have them. declared: column -> type in the database;
    method: that rows are inserted by."""
    found = {}
    rounded = loading.rounds_floats.get(method)
    for column, kind in declared.items():
        kind = kind.lower()
        digits = TIMES.match(kind)
        if digits is not None and not loading.is_as_text(kind):
            kept = int(digits[2]) if digits[2] else loading.time_digits
            if kept < 6:
                found[column] = f"{kind} keeps {kept} digits of a second and rounds the others"
        elif kind == "json" and loading.rewrites_json:
            found[column] = REWRITTEN
        elif ROUNDED_FLOAT.match(kind):
            found[column] = f"{kind} rounds"
        elif loading.is_as_text(kind) and not loading.is_spelled_once(kind):
            found[column] = f"{kind} is stored in another spelling, or rounded"
        elif rounded and FLOATS.intersection(loading.column_types.get(base_type(kind), ())):
            found[column] = rounded
    return found


#: Equal hashes prove such a column; others say nothing.
REWRITTEN = "json is stored in another spelling"
