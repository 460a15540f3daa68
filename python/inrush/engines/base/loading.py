"""The part of a twin that `inrush load` needs: tables that are not inrush's own, their types, and their proof. Pure."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from inrush.border.plan import ChecksumItem, ValueHash
from inrush.border.statement import text_of
from inrush.border.table import Spelling
from inrush.engines.base.checksum import ChecksumFigures, load_items
from inrush.engines.base.merge import MergeDialect
from inrush.engines.base.plans import Proof, TablePlan
from inrush.engines.base.sampled import SampledColumns
from inrush.engines.base.sql import quote
from inrush.workload import Column, Table


def information_schema(schema: str, table: str, here: str, kind: str) -> str:
    """A table's columns by the views of SQL's standard. here: the connection's own schema; kind: the type's column."""

    def text(name: str) -> str:
        return "'" + name.replace("'", "''") + "'"

    return (
        f"SELECT column_name, {kind}, CASE is_nullable WHEN 'NO' THEN 1 ELSE 0 END "
        f"FROM information_schema.columns WHERE table_schema = {text(schema) if schema else here} "
        f"AND table_name = {text(table)} ORDER BY ordinal_position"
    )


def base_type(kind: str) -> str:
    """`timestamp(3) with time zone` -> `timestamp with time zone`; `Nullable(Int64)` -> `int64`.

    ClickHouse's `DateTime64(3, 'UTC')` keeps its digits, which are its unit: `datetime64(3)`.
    """
    text = kind.strip().lower()
    for wrapper in ("nullable(", "lowcardinality("):
        if text.startswith(wrapper):
            text = text[len(wrapper) : -1]
    if text.startswith("array("):
        return text
    if text.startswith("datetime64("):
        return f"{text.partition(',')[0].rstrip(')')})"
    before, bracket, after = text.partition("(")
    return f"{before.strip()} {after.partition(')')[2].strip()}".strip() if bracket else text


#: Types of numbers that no column of inrush's own has, without signs: see `Loading.spelling_of`.
NUMBERS = (
    "numeric", "decimal", "dec", "fixed", "number", "money", "smallmoney", "hugeint", "uhugeint", "tinyint", "utinyint", "smallint",
    "usmallint", "mediumint", "int", "integer", "uinteger", "bigint", "ubigint", "double", "double precision", "float", "real",
    "decimal32", "decimal64", "decimal128", "decimal256", "int128", "int256", "uint128", "uint256",
)  # fmt: skip
SIGNS = re.compile(r"\b(unsigned|signed)\b\s*|\s+(?:unsigned|signed)\b")
#: Digits of a number's type, and those behind the point.
DIGITS = re.compile(r"\(\d+(?:\s*,\s*(-?\d+))?\)")


def unsigned_type(declared: str) -> tuple[str, str, str]:
    """`decimal(10,2) unsigned zerofill` -> `decimal`, ` zerofill` and what stands behind it."""
    kind, zerofill, behind = SIGNS.sub("", base_type(declared)).partition(" zerofill")
    return kind.strip(), zerofill, behind


def is_number(declared: str) -> bool:
    """Whether a type in a database is one of numbers."""
    return unsigned_type(declared)[0] in NUMBERS


class Loading(ABC):
    """Tables of others as one engine has them. Defaults are those of SQL's standard."""

    #: Type of a column in the database, lower case and without length -> what its values may mean, the usual first.
    column_types: ClassVar[Mapping[str, tuple[str, ...]]]
    #: Values of every other type go in as texts that the server reads; else such tables are refused.
    reads_texts: ClassVar[bool] = False
    #: Methods that need a value of every column.
    whole_rows: ClassVar[tuple[str, ...]] = ()
    #: Words within types whose texts the server reads as another value than they were written of.
    misread: ClassVar[tuple[str, ...]] = ()
    #: Rows and the line of the ledger commit together (`Session::execute` in the core).
    transactional: ClassVar[bool] = False
    #: Names of tables are the same in capitals and small letters.
    folds_names: ClassVar[bool] = False
    #: A text of any length in a table of inrush's own.
    long_text: ClassVar[str] = "text"
    #: Floats beyond the finite ones that a column of floats holds: `nan`, `inf`.
    not_finite: ClassVar[frozenset[str]] = frozenset()
    #: Most bytes or characters of the name of a table or a column; None: the server itself refuses longer ones, or takes any.
    name_limit: ClassVar[tuple[int, str] | None] = None
    #: Texts longer than a column's declared length are refused.
    bounds_texts: ClassVar[bool] = False
    #: Type of a column -> bytes that a text may have: one of more characters does not fit.
    text_bytes: ClassVar[Mapping[str, int]] = {}
    #: Type of a column -> least and greatest value that it takes, times in µs since 1970 where nothing else is said.
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = {}
    #: Digits of a second that a time's type keeps where it names no number of them.
    time_digits: ClassVar[int] = 6
    #: JSON is stored in another spelling than it came.
    rewrites_json: ClassVar[bool] = False
    #: Insert method that sends floats as text -> what the server makes of them; of the others it takes every bit.
    rounds_floats: ClassVar[Mapping[str, str]] = {}
    #: A table that is made can have columns of days without a time.
    has_days: ClassVar[bool] = False
    #: Tables lie in a database that every connection names.
    in_database: ClassVar[bool] = False
    #: A column that may be NULL is of another type, on the wire too, and cannot be a distribution key.
    null_is_a_type: ClassVar[bool] = False
    #: Types of a table that `--create` makes depend on the server's version.
    types_by_version: ClassVar[bool] = False
    #: A database that every server of this kind has, where others can be made from (empty: none is named); None: none is made.
    first_database: ClassVar[str | None] = None

    #: As of `Asked.decimal`.
    decimal: ClassVar[tuple[str, int, int] | None] = None
    #: Takes every row of a table: what stands before its name.
    empties: ClassVar[str] = "TRUNCATE TABLE"
    #: How rows come into a table that has some of their keys; None: they cannot.
    merges: ClassVar[MergeDialect | None] = None
    #: Type of numbers that go in as texts, and have one spelling in this engine -> that of a type without digits of its own.
    spelled: ClassVar[Mapping[str, Spelling]] = {}

    def is_as_text(self, declared: str) -> bool:
        """Whether values of this type in the database go in, and are compared, as the texts that the server reads and writes."""
        return bool(declared) and not self.column_types.get(base_type(declared))

    def spelling_of(self, declared: str) -> Spelling | None:
        """How the server spells numbers of this type that go in as texts; None: they are no numbers, or no texts.

        What is known to be spelled in one way can be compared, and a number that the column would round is rejected.
        """
        kind, zerofill, _ = unsigned_type(declared)
        if kind not in NUMBERS or not self.is_as_text(declared):
            return None
        if kind not in self.spelled or zerofill:
            return {"kind": "any"}
        digits = DIGITS.search(declared)
        if digits is None:
            return self.spelled[kind]
        behind = int(digits[1] or 0)
        return {"kind": "fixed", "digits": behind} if behind >= 0 else {"kind": "any"}

    def is_spelled_once(self, declared: str) -> bool:
        """Whether values of this type go in as texts, and are numbers that the server spells in one way."""
        return (self.spelling_of(declared) or {"kind": "any"})["kind"] != "any"

    def has_texts(self, table: Table) -> bool:
        """Whether the table has such columns."""
        return any(self.is_as_text(column.declared) for column in table.columns)

    # the proof

    #: The engine's function of `ValueHash` for texts and floats; `read_back`: it has none.
    hashing: ClassVar[ValueHash] = "read_back"
    figures: ClassVar[ChecksumFigures]
    #: Unsigned numbers of 64 bits are stored with their bits reinterpreted.
    unsigned_is_signed: ClassVar[bool] = False
    #: Most figures of one row of an answer; None: as many as a table has.
    row_figures: ClassVar[int | None] = None
    #: Blanks at the end of a `char(n)` do not count.
    pads_texts: ClassVar[bool] = False

    def proof(
        self, table: Table, name: str, declared: Mapping[str, str], loose: Collection[str] = ()
    ) -> Proof:
        """The proof of a table that was loaded: every column has a figure, whatever its type, and all rows have one.

        name: as statements use it. declared: column -> type in the database. loose: columns that the database may round.
        """
        padded = declared if self.pads_texts else {}
        items = load_items(
            table, self.hashing, self.unsigned_is_signed, padded, loose, self.figures.exact_sums
        )
        return Proof(
            checksum_query=self.checksum_query(table, name, items),
            items=items,
            read_back=f"SELECT {', '.join(quote(c.name) for c in table.columns)} FROM {name}",
        )

    def checksum_query(self, table: Table, name: str, items: Sequence[ChecksumItem]) -> str:
        """The statement of one row that has the figures of these items, in their order.

        Items of hash `read_back` are in none: no SQL computes them. Of more than `row_figures` it has several rows, each with
        its number in front: one statement sees one state of the table.
        """
        figures = [
            self.figures.figure(item, table.column) for item in items if item.get("hash") != "read_back"
        ]
        if self.row_figures is None or len(figures) <= self.row_figures:
            return f"SELECT {', '.join(figures)} FROM {name}"
        width = self.row_figures - 1
        parts = [figures[at : at + width] for at in range(0, len(figures), width)]
        parts[-1] += ["NULL"] * (width - len(parts[-1]))
        rows = (f"SELECT {', '.join([str(k), *part])} FROM {name}" for k, part in enumerate(parts))
        return f"{' UNION ALL '.join(rows)} ORDER BY 1"

    def read_column(self, column: Column) -> str:
        """A column as a read-back selects it, so that its values come as the files have them."""
        return '"' + column.name.replace('"', '""') + '"'

    # a table that is there

    def describe(self, schema: str, table: str) -> str:
        """A query for (column, type, 1 where NULL is refused) of a table, in its columns' order; no row: no such table.

        schema: empty for the one that the connection is in.
        """
        return information_schema(schema, table, "current_schema()", "data_type")

    def ask_schemas(self, table: str) -> str:
        """A query for the schemas (databases) that hold a table of this name."""
        return f"SELECT table_schema FROM information_schema.tables WHERE table_name = '{table}' ORDER BY 1"

    def schema_of(self, schema: str, table: str) -> str:
        """A query for one row: the schema (database) that holds this table, or would; one name, however it is spelled.

        schema: empty for the one that the connection is in.
        """
        return f"SELECT '{schema}'" if schema else "SELECT current_schema()"

    def ask_unfit(self, schema: str, table: str) -> str:
        """A query whose rows say why this table cannot be loaded; empty where every table can."""
        return ""

    def ask_sequences(self, name: str) -> str:
        """A query for (column, sequence, its last value) of a table; empty where no value given raises none, or there are none.

        name: as statements use it."""
        return ""

    def methods_for(self, table: Table, methods: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the engine's methods that can fill this table, or one for files, fastest first; empty: none takes all of its types."""
        return methods

    def wire_of(self, column: Column, usual: str) -> str:
        """What the core is told of a column's type. usual: as it is told of one that the twin makes."""
        return usual

    def raw_columns(self, table: Table) -> Mapping[str, int]:
        """Columns of bytes that the core sends as they are -> n of a type `bit(n)`, 0 of others; twin of `ShardPlan::raw`.

        Without an entry rows have the hexadecimal digits, and the text of the insert makes bytes of them.
        """
        return {}

    # what is made

    def create_table(self, usual: TablePlan, table: Table, sampled: SampledColumns) -> str:
        """The statement that makes the table of `--create`. usual: the table as the dialect plans it, without a layout."""
        return text_of(usual.create[0])

    def create_database(self, name: str) -> str:
        """The statement that makes a database for a load. Only where `first_database` is not None."""
        return f'CREATE DATABASE "{name.replace(chr(34), 2 * chr(34))}"'

    def create_keyed(self, name: str, columns: Mapping[str, str], key: Sequence[str]) -> str:
        """A table of inrush's own with a key, where it is not there yet. columns: name -> type of SQL's standard."""
        declared = ", ".join(f"{column} {kind} NOT NULL" for column, kind in columns.items())
        return f"CREATE TABLE IF NOT EXISTS {name} ({declared}, PRIMARY KEY ({', '.join(key)}))"

    def copy_table(self, name: str, like: str) -> str:
        """An empty table of the same columns, where it is not there yet. Both names as statements use them."""
        return f"CREATE TABLE IF NOT EXISTS {name} AS SELECT * FROM {like} WHERE 1 = 0"
