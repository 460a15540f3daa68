"""What the SQL twins share: quoting, parameters, table names, and the checksum query of a proof. All pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from inrush.border import address
from inrush.border.plan import ChecksumItem, Product, ValueHash
from inrush.engines.base.plans import OpPlan, Proof, TablePlan, Unsupported
from inrush.workload import FLOAT_TYPES, SPELLED, TYPES, Column, Operation, Table, holding

#: A `ChecksumItem`, for the dialects that read one.
Item = Mapping[str, Any]
#: Table of a lock.
HOLDER = "inrush_holder"
#: What names of locks begin with.
LOCK = "inrush_lock_"
#: Physical name and columns of a table -> text of an insert into it.
Insert = Callable[[str, tuple[str, ...]], str]

#: Fractional bits of a generated float whose generator does not say: value = k * 2**-bits. Twin of DEFAULT_BITS in rows.
DEFAULT_FLOAT_BITS = 8
#: The checksum query multiplies every value with this many key columns, so that a value moved to another row shows.
PRODUCT_KEYS = 2

WHOLE_TYPES = frozenset(holding("signed", "unsigned", "bits", "time"))
#: Types with values that a function of `ValueHash` is asked for, and that no other sum holds.
HASHED_TYPES = frozenset({*SPELLED, "decimal"} - {"date"})
#: A whole row as a number: what its values are divided by, and stands for NULL. Twin of rust/rows/src/rows/row_sum.rs.
ROW_DIVISOR = 2**31 - 1
BITS = re.compile(r"bit(?:\((\d+)\))?")
#: Types whose values end in blanks that are not theirs.
PADDED = re.compile(r"(char|character|bpchar)(\(|$)")

# What a colon or a brace may hide in: text, quoted name, comment, cast. Only the last two groups are ours.
_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | :: | (?<![\w:]):(?P<param>[A-Za-z_]\w*) | \{(?P<table>\w+)\}""",
    re.VERBOSE | re.DOTALL,
)


def quote(name: str) -> str:
    """An identifier as SQL text."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string as SQL text."""
    return "'" + text.replace("'", "''") + "'"


def oid(schema: str, table: str) -> str:
    """PostgreSQL's number of the table with exactly this name, NULL where there is none; without a schema, by the path."""
    return f"to_regclass({literal('.'.join(quote(part) for part in (schema, table) if part))})"


def instant_text(at_ns: int) -> str:
    """`2026-01-01 00:00:00.000000+00`: microseconds, UTC."""
    seconds, ns = divmod(at_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d %H:%M:%S}.{ns // 1_000:06}+00"


def file_of(url: str) -> str:
    """The file of an embedded database's URL: `sqlite:///absolute`, `sqlite://relative`, `sqlite:relative`."""
    return address.read(url).database if url else ""


def question(_position: int) -> str:
    """Placeholder of SQLite, DuckDB and MySQL: one parameter a mark, repeated names are bound again."""
    return "?"


def dollar(position: int) -> str:
    """Placeholder of PostgreSQL: a name used twice is one parameter. `position` counts from 1."""
    return f"${position}"


def bind(
    text: str, tables: Mapping[str, str], placeholder: Callable[[int], str] = question
) -> tuple[str, tuple[str, ...]]:
    """Statement in placeholders, and the parameters' names in their order.

    tables: logical -> physical name, for `{name}`. A placeholder that does not depend on its position is
    positional (`?`): its parameters repeat. Text literals, quoted names, comments and `::` casts stay as they are.
    Raises KeyError for a table that is not in `tables`.
    """
    numbered = placeholder(1) != placeholder(2)
    params: list[str] = []

    def replace(found: re.Match[str]) -> str:
        if name := found["table"]:
            return tables[name]
        if not (name := found["param"]):
            return found[0]
        if numbered and name in params:
            return placeholder(params.index(name) + 1)
        params.append(name)
        return placeholder(len(params))

    return _TOKEN.sub(replace, text), tuple(params)


def statement(
    operation: Operation,
    dialect: str,
    tables: Mapping[str, TablePlan],
    placeholder: Callable[[int], str] = question,
    forms: bool = False,
) -> OpPlan | Unsupported:
    """A query, look-up or execute in `dialect`, from the operation's own text or its default.

    `{table}` may also name the operation's own table. forms: the twin plans the form of answers.
    """
    if reason := operation.unsupported.get(dialect):
        return Unsupported(reason)
    if dialect in operation.answers and not forms:
        return Unsupported(
            f"operation {operation.name}: the text of sql.{dialect} says the columns; write it without `columns`"
        )
    text = operation.sql.get(dialect, operation.sql.get("default", ""))
    if not text:
        return Unsupported(f"operation {operation.name} has no SQL for {dialect}")
    names = {logical: plan.name for logical, plan in tables.items()}
    if operation.table and operation.table in names:
        names.setdefault("table", names[operation.table])
    text, params = bind(text, names, placeholder)
    return OpPlan(text=text.strip(), params=params)


def operation(
    operation: Operation,
    method: str,
    dialect: str,
    tables: Mapping[str, TablePlan],
    inserts: Mapping[str, Insert],
    placeholder: Callable[[int], str] = question,
) -> OpPlan | Unsupported:
    """`operation` as text of the plan: what every SQL twin plans alike.

    inserts: by method; its keys are the engine's methods.
    """
    if operation.kind == "together":
        return OpPlan("")  # its members are operations of their own
    if operation.kind != "insert":
        return statement(operation, dialect, tables, placeholder)
    insert = inserts.get(method)
    if insert is None:
        return Unsupported(f"{dialect} has no method {method}; it has {', '.join(inserts)}")
    plan = tables[operation.table or ""]
    return OpPlan(insert(plan.name, tuple(plan.wire)), method)


def type_of(column: Column, types: Mapping[str, str]) -> str:
    """The type of a column; of a decimal and of bits with their digits, of an enum with its labels."""
    labels, numbers = "", ""
    if column.labels:
        labels = ", ".join(map(literal, column.labels))
        numbers = ", ".join(f"{literal(label)} = {k}" for k, label in enumerate(column.labels, start=1))
    return types[column.type].format(
        p=column.precision, s=column.scale, n=column.bits, labels=labels, numbers=numbers
    )


def bits_of(declared: str) -> int:
    """n of a type `bit(n)`; 0 of any other."""
    found = BITS.fullmatch(declared.strip().lower())
    return 0 if found is None else int(found[1] or 1)


def texts(*own: str) -> dict[str, str]:
    """Losses of the spelled types, of an engine that keeps them as texts but for its `own`."""
    return {name: f"{TYPES[name].many} are texts" for name in SPELLED if name not in own}


def losses(table: Table, known: Mapping[str, str]) -> tuple[str, ...]:
    """What an engine does not keep of `table`, each loss once. known: logical type -> its loss."""
    return tuple(dict.fromkeys(known[c.type] for c in table.columns if c.type in known))


def create_table(
    table: Table,
    name: str,
    types: Mapping[str, str],
    indexes: Sequence[tuple[str, ...]],
    stem: str | None = None,
    key: str = "PRIMARY KEY",
    chars: str = "",
) -> tuple[str, ...]:
    """The table, then its indexes; the first one is its key where it is over the identity.

    types: logical type -> type of the engine. stem: what indexes' names begin with; None: the engine names them.
    chars: type of a text of at most {} characters; empty: as of any text.
    """

    def declared(column: Column) -> str:
        return chars.format(column.chars) if chars and column.chars else type_of(column, types)

    columns = [f"{quote(c.name)} {declared(c)}{'' if c.nullable else ' NOT NULL'}" for c in table.columns]
    keyed = bool(indexes) and indexes[0] == table.identity
    if keyed:
        columns.append(f"{key} ({', '.join(map(quote, indexes[0]))})")
    others = (
        f"CREATE INDEX {'' if stem is None else quote(f'{stem}_{k}') + ' '}ON {name} ({', '.join(map(quote, index))})"
        for k, index in enumerate(indexes[keyed:], start=1)
    )
    return (f"CREATE TABLE {name} ({', '.join(columns)})", *others)


def table_name(table: str, _columns: tuple[str, ...]) -> str:
    """The text of an insert whose wire needs nothing but the table's name."""
    return table


def insert_one_row(table: str, columns: tuple[str, ...], placeholder: Callable[[int], str] = question) -> str:
    """INSERT of one row; an engine that sends many in one statement repeats the group after VALUES."""
    marks = ", ".join(placeholder(k) for k in range(1, len(columns) + 1))
    return f"INSERT INTO {table} ({', '.join(map(quote, columns))}) VALUES ({marks})"


def holder_table(namespace: str, holder: str, storage: str = "") -> str:
    """The table of a lock that names its holder. storage: how the engine keeps it, where that must be said."""
    return f"CREATE TABLE {quote(namespace)}.{HOLDER}{storage} AS SELECT {literal(holder)} AS holder"


def ask_holder(namespace: str) -> str:
    return f"SELECT holder FROM {quote(namespace)}.{HOLDER}"


# --- the checksum query of a proof -------------------------------------------------------------------------------


def checksum_items(
    table: Table,
    unsigned_is_signed: bool,
    hashing: ValueHash | None = None,
    hashed: Collection[str] = HASHED_TYPES,
    lengths: Collection[str] = ("text",),
) -> tuple[ChecksumItem, ...]:
    """What engine and generator both count and sum.

    unsigned_is_signed: u64 is stored with its bits reinterpreted, so its upper half shifts arithmetically.
    hashing: the engine's function of `ValueHash`, for values of types in `hashed`; without one they are proven by the
    read-back alone. lengths: types whose values the engine keeps as the bytes that were sent, so that it can sum their
    lengths.
    Floats from files are not summed: only generated ones are known to be k * 2**-bits. Nor are columns with NaN or an
    infinity, whose sum would be one.
    """
    items: list[ChecksumItem] = [{"kind": "rows"}]
    for column in table.columns:
        name = column.name
        items += _counted(column, unsigned_is_signed)
        if column.type in FLOAT_TYPES and column.gen is not None and not column.not_finite:
            items.append({"kind": "sum_scaled", "column": name, "bits": float_bits(column)})
        elif column.type in lengths:
            items.append({"kind": "sum_length", "column": name})
        elif column.type in hashed and hashing is not None:
            items.append({"kind": "sum_hash", "column": name, "hash": hashing})
    return (*items, *_products(table))


def load_items(
    table: Table,
    hashing: ValueHash,
    unsigned_is_signed: bool,
    declared: Mapping[str, str],
    loose: Collection[str] = (),
) -> tuple[ChecksumItem, ...]:
    """What client and server of a load both count and sum: figures of every column, whatever its type, and of whole rows.

    hashing: the engine's function of `ValueHash` in rust/rows/src/rows/value_hash.rs, for texts and floats. Lists have none, and
    are read back. declared: column -> type in the database; blanks at the end of a `char(n)` do not count. loose: columns
    whose values the database may round, which are in no figure of rows.
    """
    items: list[ChecksumItem] = [{"kind": "rows"}]
    trimmed = []
    for column in table.columns:
        name = column.name
        items += _counted(column, unsigned_is_signed)
        if column.type in WHOLE_TYPES:
            continue
        if column.type == "bool":
            items.append({"kind": "count_true", "column": name})
        elif column.type.startswith("list"):
            items.append({"kind": "sum_hash", "column": name, "hash": "read_back"})
        else:
            padded = PADDED.match(declared.get(name, "").lower()) is not None
            trimmed += [name] if padded else []
            items.append({"kind": "sum_hash", "column": name, "hash": hashing, "trimmed": padded})
    readable = hashing == "read_back"
    in_rows = [
        c for c in table.columns if c.name not in loose and (readable or not c.type.startswith("list"))
    ]
    if len(in_rows) > 1:  # two values of a single column cannot change places
        unsigned = [c.name for c in in_rows if c.type == "u64" and not unsigned_is_signed]
        items.append(
            {
                "kind": "sum_rows",
                "hash": hashing,
                "columns": [c.name for c in in_rows],
                "unsigned": unsigned,
                "trimmed": [name for name in trimmed if name not in loose],
            }
        )
    return tuple(items)


def _counted(column: Column, unsigned_is_signed: bool) -> list[ChecksumItem]:
    """The values of a column that may be NULL, and both halves of a whole number."""
    items: list[ChecksumItem] = [{"kind": "not_null", "column": column.name}] if column.nullable else []
    if column.type in WHOLE_TYPES:
        signed = unsigned_is_signed or column.type not in ("u64", "bit")
        items.append({"kind": "sum_low", "column": column.name})
        items.append({"kind": "sum_high", "column": column.name, "signed": signed})
    return items


def row_weights(columns: int) -> list[int]:
    """What the remainders of so many columns are multiplied by. Twin of rust/rows/src/rows/row_sum.rs."""
    return [pow(48_271, k + 1, 1_048_573) for k in range(columns)]


def row_number(item: Item, column: Callable[[str], Column], remainder: Callable[[Column], str]) -> str:
    """The number of a row, below 2^63 for 4,096 columns.

    remainder: a value, or its hash, modulo `ROW_DIVISOR` with the sign of the dividend, which stands for NULL itself; as an
    integer of 64 bits.
    """
    names = item["columns"]
    return " + ".join(
        f"{weight} * {remainder(column(name))}"
        for weight, name in zip(row_weights(len(names)), names, strict=True)
    )


def float_bits(column: Column) -> int:
    """Fractional bits of a generated float column."""
    return int((column.gen or {}).get("bits", DEFAULT_FLOAT_BITS))


def _products(table: Table) -> tuple[Product, ...]:
    whole = [c.name for c in table.columns if c.type in WHOLE_TYPES]
    keys = [name for name in table.identity if name in whole][:PRODUCT_KEYS] or whole[:1]
    return tuple(
        {"kind": "product", "key": key, "value": value}
        for k, key in enumerate(keys)
        for value in whole
        if value not in keys[: k + 1]
    )


def proof(
    table: Table,
    plan: TablePlan,
    expression: Callable[[Item, Callable[[str], Column]], str],
    unsigned_is_signed: bool,
    hashing: ValueHash | None = None,
    hashed: Collection[str] = HASHED_TYPES,
    lengths: Collection[str] = ("text",),
    read_column: Callable[[Column], str] = lambda column: quote(column.name),
) -> Proof:
    """Screen and read-back; `expression` gives one item as an SQL aggregate in the engine's dialect.

    Sums are wrapped so that an empty table gives 0, as the generator's twin does. hashing, hashed, lengths: as of `checksum_items`.
    read_column: a column as the read-back selects it.
    """
    items = checksum_items(table, unsigned_is_signed, hashing, hashed, lengths)
    figures = (expression(item, table.column) for item in items)
    return Proof(
        checksum_query=f"SELECT {', '.join(figures)} FROM {plan.name}",
        items=items,
        read_back=f"SELECT {', '.join(map(read_column, table.columns))} FROM {plan.name}",
    )
