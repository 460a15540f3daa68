"""What the SQL twins share: quoting, parameters, types and names of tables. All pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone

from inrush.border import address
from inrush.engines.base.plans import OpPlan, TablePlan, Unsupported
from inrush.workload import SPELLED, TYPES, Column, Operation, Table

#: Table of a lock.
HOLDER = "inrush_holder"
#: What names of locks begin with.
LOCK = "inrush_lock_"
#: Physical name and columns of a table -> text of an insert into it.
Insert = Callable[[str, tuple[str, ...]], str]

BITS = re.compile(r"bit(?:\((\d+)\))?")

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
    if column.made:
        return column.made
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
