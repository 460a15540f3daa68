"""The ledger of a load: its table, and the statements that ask it. Pure.

The ledger is a table beside the rows, on every shard: a line for each chunk of each file, written in the transaction
that stores the chunk's rows. The same import finds its lines again and goes on behind them.
"""

from __future__ import annotations

from inrush.border.load import LedgerPlan
from inrush.border.pipeline import GoesOn
from inrush.engines.base.loading import Loading
from inrush.engines.base.sql import literal

LEDGER = "inrush_load_ledger"
#: Column -> type, in the order of the values that `rust/load/src/shard.rs` writes.
LEDGER_COLUMNS = {
    "load_id": "varchar(64)", "file_no": "integer", "chunk_no": "bigint", "row_count": "bigint", "is_last": "smallint",
    "goes_on": "varchar(400)",
}  # fmt: skip
#: The last column, a text of any length.
SUMS = "sums"
LEDGER_KEY = ("load_id", "file_no", "chunk_no")
#: File of the line that is an import's own: `ledger.Header`.
BEFORE_FILE = -1


def create_statement(loading: Loading, name: str = LEDGER) -> str:
    return loading.create_keyed(name, {**LEDGER_COLUMNS, SUMS: loading.long_text}, LEDGER_KEY)


def ledger_statements(load: str, name: str = LEDGER) -> LedgerPlan:
    _, *read = columns = [*LEDGER_COLUMNS, SUMS]
    return {
        "read": f"SELECT {', '.join(read)} FROM {name} WHERE load_id = {literal(load)} AND file_no >= 0",
        "insert": f"INSERT INTO {name} ({', '.join(columns)}) VALUES",
        "import": literal(load),
    }


def rows_in_ledger(load: str, name: str = LEDGER) -> str:
    """One row: rows of this import that are stored, by the ledger."""
    return f"SELECT COALESCE(SUM(row_count), 0) AS n FROM {name} WHERE load_id = {literal(load)} AND file_no >= 0"


def questions_of_killed(load: str, name: str, table: str) -> GoesOn:
    """What is asked of a ledger whose load was killed. name: of the ledger; table: that of its rows."""
    mine = f"FROM {name} WHERE load_id = {literal(load)} AND file_no"
    *before, mark = LEDGER_COLUMNS
    return {
        "write_mark": f"INSERT INTO {name} ({', '.join([*before, SUMS, mark])}) "
        f"VALUES ({literal(load)}, {BEFORE_FILE}, 0, 0, 0, '', ",
        "read_mark": f"SELECT goes_on {mine} = {BEFORE_FILE}",
        "files": "SELECT file_no, COUNT(*) AS n, MAX(chunk_no) AS c, MAX(is_last) AS l, SUM(row_count) AS r "
        f"{mine} >= 0 GROUP BY file_no ORDER BY file_no",
        "chunks": f"SELECT file_no, chunk_no, row_count, goes_on {mine} IN",
        "rows": f"SELECT COUNT(*) AS n FROM {table}",
    }


def replica_load(load: str) -> str:
    """The import as the ledger of a shard names it for the rows of its neighbour."""
    return f"{load}-replica"


def merged_loads(load: str) -> tuple[str, str]:
    """The import as the ledger names it for rows that are not in the table, or no more: by a key that was there; by one that came
    twice at once."""
    return f"{load}-keyed", f"{load}-twice"
