"""The operations of a workload file: statements by dialect, their parameters and what their answers must hold. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from inrush.known import ENGINES
from inrush.study.by_key import parse_by_key
from inrush.study.document import I64, Node, nearest, plain, unknown
from inrush.study.io import parse_io
from inrush.study.keys import keys_table, parse_keys
from inrush.study.ranges import parse_range, range_of_query, range_param
from inrush.study.sizes import parse_seconds, parse_size, read_place
from inrush.workload import (
    LOGICAL_TYPES,
    AnswerForm,
    Io,
    Maintain,
    Operation,
    OpKind,
    Prerequisite,
    Repeated,
    Table,
    Workload,
)

KINDS: tuple[OpKind | Maintain | Io, ...] = (
    "insert", "query", "together", "execute", "extract", "maintain", "io"
)  # fmt: skip
#: Kind of an operation whose statement the twins make; it becomes one of those above.
BY_KEY = "key"
#: What may be done with the rows of a statement of maintenance; twin of `Repeat` in plan/statement.rs.
REPEATS: tuple[Repeated, ...] = ("each_row", "until_no_rows")
#: Engines without a language: the instruments, and a file.
SPEECHLESS = ("null", "device")
#: Engines that may have statements of their own: all others, and one that is not built yet.
DIALECTS = tuple(engine for engine, module in ENGINES.items() if module not in SPEECHLESS)
#: Types of a constant that may be the name of a size.
WHOLE = ("i16", "i32", "i64", "u8", "u16", "u32", "u64")
HOLDS = ("asked", "rows_regenerate", "count_bounds", "oracle", "freshness")
#: Parameter generator -> its parameters; twin of `ParamGen` in plan/operation.rs.
PARAM_GENS: Mapping[str, tuple[str, ...]] = {
    "constant": ("value",),
    "key": ("column",),
    "now_minus": ("seconds",),
    "of_series": ("column", "table", "series"),
    "range": ("column", "end"),
    "seen_until": (),
    "uniform": ("from", "to"),
}
#: What a list of keys is drawn by.
LISTED = ("key", "of_series", "uniform")
#: Types with values that no statement is given.
UNBOUND = ("json", "bit")
TABLE_IN_SQL = re.compile(r"\{(\w+)\}")
LIKE_SQL = re.compile(r"\b(SELECT|DELETE|UPDATE)\b.*\b(FROM|SET|WHERE)\b", re.IGNORECASE | re.DOTALL)


def parse_operation(
    node: Node, name: str, tables: Mapping[str, Table], names: Sequence[str], sizes: Mapping[str, float]
) -> Operation:
    allowed = (
        "kind", "table", "params", "keys", "range", "members", "holds", "returns", "may_be_empty", "deletes_before",
        "deadline_s", "sql", "unsupported", "needs", "about", "file_bytes", "does", "columns",
    )  # fmt: skip
    fields = node.fields(allowed, required=("kind",))
    named = (fields["kind"].text((*KINDS, BY_KEY), "kind") if "kind" in fields else "") or meant(fields)
    kind: OpKind | Maintain | Io = next((kind for kind in KINDS if kind == named), "query")
    if named == BY_KEY:
        reasons = by_dialect(fields.get("unsupported"), DIALECTS)
        return parse_by_key(node, name, fields, tables, sizes, reasons)
    for key in fields.keys() & {"does", "columns"}:
        fields[key].problem(f'only kind = "{BY_KEY}" has {key}; remove it')
    table = (fields["table"].text(tables, "table") or None) if "table" in fields else None
    if kind != "maintain" and "needs" in fields:
        fields["needs"].problem(
            'only statements of kind = "maintain" are left out by what a server has; remove it'
        )
    if kind == "io":
        return parse_io(node, name, fields, sizes)
    if "file_bytes" in fields:
        fields["file_bytes"].problem('only kind = "io" has a file; remove it')
    if kind == "maintain":
        return parse_maintenance(node, name, fields, table, tables)
    texts, answers = statements(fields.get("sql"))
    reasons = by_dialect(fields.get("unsupported"), DIALECTS)
    members = fields["members"].texts(names, "operation", at_least=1) if "members" in fields else ()
    if kind == "together":
        if not members:
            node.problem("a together needs members = [operations]")
    elif members:
        fields["members"].problem('only kind = "together" has members')
    if kind in ("query", "execute", "extract") and "default" not in texts:
        node.problem("write sql.default, the statement for every engine without its own")
    if kind in ("insert", "together") and texts:
        fields["sql"].problem(f"the statement of kind `{kind}` is the engine's own; remove it")
    of_keys = keys_table(fields.get("keys"), table)
    params = {
        key: parse_param(child, table, tables, sizes, of_keys)
        for key, child in (fields["params"].members() if "params" in fields else {}).items()
    }
    key_rows = parse_keys(fields.get("keys"), node, params, table, tables, sizes)
    for dialect, text in texts.items():
        check_statement(fields["sql"].at(dialect, text), text, params, tables, table)
    check_lists(fields, params, texts)
    holds = fields["holds"].texts(HOLDS, "promise") if "holds" in fields else ()
    returns: tuple[str, ...] = ()
    if "returns" in fields:
        returns = fields["returns"].texts([c.name for c in tables[table].columns] if table else (), "column")
    identity = set(tables[table].identity) if table else set[str]()
    if "rows_regenerate" in holds and not (identity and identity <= set(returns)):
        fields["holds"].problem(
            "rows_regenerate needs `table`, and `returns`: the table's column behind each column of the answer, "
            "the identity among them"
        )
    compared = compared_columns(params, texts)
    if "asked" in holds:
        check_asked(fields, params, texts, compared, identity, returns)
    may_be_empty = fields["may_be_empty"].flag() if "may_be_empty" in fields else False
    if may_be_empty and ("rows_regenerate" not in holds or "asked" in holds):
        fields["may_be_empty"].problem("only an answer that promises rows_regenerate may be empty; remove it")
    if "count_bounds" in holds and table not in tables:
        fields["holds"].problem("count_bounds needs `table`")
    of_range = None
    if kind == "extract":
        of_range = parse_range(fields, node, params, texts, returns, tables.get(table or ""), sizes)
    elif kind == "query" and "range" in fields:
        of_range = range_of_query(fields["range"], params, tables.get(table or ""), sizes)
    else:
        check_no_range(fields, params)
    series = {p["gen"]["series"] for p in params.values() if "series" in p["gen"]}
    looks = [p for p in params.values() if p["gen"]["kind"] == "seen_until"]
    if "freshness" in holds and (table not in tables or len(series) != 1 or len(looks) != 1):
        fields["holds"].problem(
            'freshness needs `table`, parameters of one series ({ gen = "of_series", column = "…", series = 0 }), and one '
            '{ gen = "seen_until" }: its answer is the data times after that, in the first column'
        )
    deletes = None
    if "deletes_before" in fields:
        deletes = fields["deletes_before"].text(params, "parameter") or None
        if (
            kind != "execute"
            or table not in tables
            or (deletes and params[deletes]["gen"]["kind"] != "now_minus")
        ):
            fields["deletes_before"].problem(
                'a delete by age is kind = "execute" with a `table`, and the parameter is a now_minus'
            )
            deletes = None
    return Operation(
        name=name,
        kind=kind,
        table=table,
        params=params,
        key_rows=key_rows,
        range=of_range,
        members=members,
        holds=holds,
        returns=returns,
        compared={name: column for name, column in compared.items() if column in returns},
        may_be_empty=may_be_empty,
        series=min(series, default=0),
        deletes_before=deletes,
        deadline_s=fields["deadline_s"].number(above=True, default=0.0) if "deadline_s" in fields else 0.0,
        sql=texts,
        answers=answers,
        unsupported=reasons,
    )


def meant(fields: Mapping[str, Node]) -> str:
    """The kind of an operation that names none: the one whose name is nearest, else the one that has such keys.

    There is a message about it already, and what else is wrong with the operation is said of the kind that was meant.
    """
    written = fields["kind"].value if "kind" in fields else ""
    if isinstance(written, str) and (guess := nearest(written, (*KINDS, BY_KEY))):
        return guess
    own = {"members": "together", "file_bytes": "io", "does": BY_KEY, "needs": "maintain", "sql": "query"}
    return next((kind for key, kind in own.items() if key in fields), "insert")


def parse_maintenance(
    node: Node, name: str, fields: Mapping[str, Node], table: str | None, tables: Mapping[str, Table]
) -> Operation:
    """What an engine does to its tables by itself: an index is built, a table is clustered. Each dialect has a text, or a
    list of texts and of { text = "…", repeat = "each_row" }; an engine without any does not have it."""
    for key in fields.keys() - {"kind", "table", "sql", "unsupported", "needs", "about"}:
        fields[key].problem('kind = "maintain" has statements alone; remove it')
    if "sql" not in fields or not fields["sql"].members():
        node.problem("write sql, the statement of each engine that can do it, or sql.default for all")
        return Operation(name, "maintain", table)
    statements = {
        dialect: parse_statements(child)
        for dialect, child in fields["sql"].fields(("default", *DIALECTS)).items()
    }
    for dialect, each in statements.items():
        for text, _ in each:
            check_statement(fields["sql"].at(dialect, text), text, {}, tables, table)
    return Operation(
        name=name,
        kind="maintain",
        table=table,
        sql={dialect: ";\n".join(text for text, _ in each) for dialect, each in statements.items()},
        unsupported=by_dialect(fields.get("unsupported"), DIALECTS),
        statements=statements,
        needs=parse_needs(fields.get("needs"), statements),
    )


def parse_needs(node: Node | None, statements: Mapping[str, object]) -> dict[str, Prerequisite]:
    """Engine -> the question to its server; of engines with a statement alone."""
    found = {}
    for dialect, child in node.fields(DIALECTS).items() if node else ():
        if dialect not in statements and "default" not in statements:
            child.problem(
                f"there is no statement for {dialect} that could need it; write sql.{dialect}, or remove it"
            )
        keys = ("sql", "equals", "reason")
        fields = child.fields(keys, required=keys)
        if len(fields) == len(keys):
            found[dialect] = Prerequisite(*(fields[key].text() for key in keys))
    return found


def parse_statements(node: Node) -> tuple[tuple[str, Repeated], ...]:
    found: list[tuple[str, Repeated]] = []
    for item in node.items(at_least=1) if isinstance(node.value, list) else [node]:
        if not isinstance(item.value, dict):
            found.append((item.text(), ""))
            continue
        fields = item.fields(("text", "repeat"), required=("text", "repeat"))
        said = fields["repeat"].text(REPEATS, "repeat") if "repeat" in fields else ""
        repeat = next((repeat for repeat in REPEATS if repeat == said), REPEATS[0])
        found.append((fields["text"].text() if "text" in fields else "", repeat))
    return tuple(found)


#: column = :param, or column IN (:param), with the quotes of any dialect.
COMPARED = r"[\"`]?\b(\w+)[\"`]?\s*(?:=\s*:{name}\b|IN\s*\(\s*:{name}\s*\))"


def compared_columns(params: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, str]:
    """Parameter -> the column that it is compared with for equality, where all dialects agree on one.

    None where the statement may rightly return rows of other keys as well. Commands that are no SQL (`HVALS table/:key`)
    name no column: their answers are held to what SQL promises.
    """
    statements = [text for text in texts.values() if LIKE_SQL.search(text)]
    if any(re.search(r"\b(OR|NOT|UNION)\b", text, re.IGNORECASE) for text in statements):
        return {}
    found = {}
    for name in params:
        columns = {compared_with(name, text) for text in statements}
        if len(columns) == 1 and len(places := columns.pop()) == 1:
            found[name] = places[0]
    return found


@lru_cache(maxsize=4096)
def compared_with(name: str, text: str) -> tuple[str, ...]:
    """Kept: a study is read several times, and its workload each time."""
    return tuple(re.findall(COMPARED.format(name=re.escape(name)), text, re.IGNORECASE))


def check_asked(
    fields: Mapping[str, Node],
    params: Mapping[str, Any],
    texts: Mapping[str, str],
    compared: Mapping[str, str],
    identity: set[str],
    returns: Sequence[str],
) -> None:
    """The rows of a key are the whole answer: nothing else chooses among them."""
    holds = fields["holds"]
    if not (identity and identity <= set(returns)):
        holds.problem(
            "asked needs `table`, and `returns`: the table's column behind each column of the answer, the identity among "
            "them"
        )
    if not params:
        holds.problem("asked needs a key to ask for: a parameter that a column is compared with")
    for name in params:
        if compared.get(name) not in returns:
            fields["params"].at(name, None).problem(
                f"asked needs parameters that are keys alone: compare a column of `returns` with it, column = :{name} or "
                f"column IN (:{name}), in every dialect"
            )
    for dialect, text in texts.items():
        if re.search(r"\bLIMIT\b", text, re.IGNORECASE):
            fields["sql"].at(dialect, text).problem(
                "asked promises all rows of a key; remove LIMIT, or promise rows_regenerate"
            )


def statements(node: Node | None) -> tuple[dict[str, str], dict[str, AnswerForm]]:
    """Dialect -> text, and dialect -> form of its answers where `{ text = …, columns = […] }` stands for the text."""
    texts, answers = {}, {}
    for dialect, child in node.fields(("default", *DIALECTS)).items() if node else ():
        if isinstance(child.value, dict) and dialect != "default":
            fields = child.fields(("text", "columns", "zero_when_empty"), required=("text", "columns"))
            columns = fields["columns"].texts(at_least=1) if "columns" in fields else ()
            zero = fields["zero_when_empty"].flag() if "zero_when_empty" in fields else False
            answers[dialect] = AnswerForm(columns, zero)
            child = fields.get("text", child.at("text", "none"))
        texts[dialect] = child.text()
    return texts, answers


def by_dialect(node: Node | None, dialects: Sequence[str]) -> dict[str, str]:
    return {key: child.text() for key, child in node.fields(dialects).items()} if node else {}


def check_members(nodes: Mapping[str, Node], operations: Mapping[str, Operation]) -> None:
    for name, operation in operations.items():
        for member in operation.members:
            if operations[member].kind != "query":
                nodes[name].at("members", member).problem("members of a together are queries")


def parse_param(
    node: Node,
    table: str | None,
    tables: Mapping[str, Table],
    sizes: Mapping[str, float],
    of_keys: str | None = None,
) -> dict[str, Any]:
    """{ gen = "…", … } -> {"type": logical type, "gen": {"kind": …, …}}. of_keys: table that keys are rows of."""
    members = node.members()
    kind = members["gen"].text(PARAM_GENS, "generator of a parameter") if "gen" in members else ""
    if not kind:
        if "gen" not in members:
            node.problem(f"needs gen = one of {', '.join(PARAM_GENS)}")
        return {"type": "i64", "gen": {"kind": "constant", "value": 0}}
    fields = node.fields(
        ("gen", "type", "list", *PARAM_GENS[kind]),
        required=[k for k in PARAM_GENS[kind] if k not in ("table", "series") and kind != "range"],
    )
    gen: dict[str, Any] = {"kind": kind}
    logical = "time_ms" if kind in ("now_minus", "seen_until") else "i64"
    if kind == "now_minus" and "seconds" in fields:
        named = isinstance(fields["seconds"].value, str)
        seconds = parse_seconds(fields["seconds"], sizes) if named else fields["seconds"].number()
        gen["seconds"] = min(seconds, 1e9)
    elif kind == "of_series":
        source = fields["table"].text(tables, "table") if "table" in fields else (table or "")
        gen["table"] = source
        columns = {c.name: c.type for c in tables[source].columns} if source in tables else {}
        gen["column"] = fields["column"].text(columns, "column") if "column" in fields else ""
        if "series" in fields:
            most = tables[source].series - 1 if source in tables else 0
            gen["series"] = read_place(fields["series"], sizes)
            if gen["series"] > most:
                fields["series"].problem(f"the table has the series 0 to {most:,}")
                gen["series"] = 0
        logical = columns.get(gen["column"], logical)
    elif kind == "key" and "column" in fields:
        columns = {c.name: c.type for c in tables[of_keys].columns} if of_keys and of_keys in tables else {}
        gen |= {"table": of_keys or "", "column": fields["column"].text()}
        logical = columns.get(gen["column"], logical)
        if logical in UNBOUND:
            fields["column"].problem(
                f"a value of type {logical} is no parameter; find the row by another column"
            )
    elif kind == "range":
        gen, logical = range_param(fields, node, tables.get(table or ""))
    elif kind == "uniform":
        gen |= {key: fields[key].integer(*I64) for key in ("from", "to") if key in fields}
        if gen.get("from", 0) > gen.get("to", 0):
            node.problem("`from` is above `to`; swap them")
    elif kind == "constant" and "value" in fields:
        of_size = (
            "type" in fields and isinstance(fields["value"].value, str) and fields["type"].value in WHOLE
        )
        gen["value"] = parse_size(fields["value"], sizes) if of_size else plain(fields["value"])
        logical = (
            "text" if isinstance(gen["value"], str) else "f64" if isinstance(gen["value"], float) else "i64"
        )
    if "type" in fields:
        logical = fields["type"].text(LOGICAL_TYPES, "type") or logical
    parameter: dict[str, Any] = {"type": logical, "gen": gen}
    if "list" in fields and fields["list"].flag():
        if kind not in LISTED:
            fields["list"].problem(f"keys of a list are drawn, by gen = {' or '.join(LISTED)}; remove it")
        parameter["list"] = True
    return parameter


def check_no_range(fields: Mapping[str, Node], params: Mapping[str, Any]) -> None:
    """Of an operation that has no range, or must not have one."""
    if "range" in fields:
        fields["range"].problem("only an extract and a query ask for a range; remove it")
    for name, param in params.items():
        if param["gen"]["kind"] == "range":
            fields["params"].at(name, "range").problem(
                "a parameter of a range needs one: range = { rows = N } of the operation"
            )


def check_lists(fields: Mapping[str, Node], params: Mapping[str, Any], texts: Mapping[str, str]) -> None:
    """At most one list an operation, so that a call has a number of keys; and SQL compares it as one. How another
    engine's own statement writes it is known to its twin (`Dialect.list_form`)."""
    lists = [name for name, param in params.items() if param.get("list")]
    if len(lists) > 1:
        fields["params"].at(lists[1], True).problem("an operation has one list of keys; remove the other")
    for name in lists:
        text = texts.get("default", "")
        if text and not re.search(rf"\bIN\s*\(\s*:{re.escape(name)}\s*\)", text, re.IGNORECASE):
            fields["sql"].at("default", text).problem(f"a list is compared as key IN (:{name})")


def check_statement(
    node: Node, text: str, params: Mapping[str, Any], tables: Mapping[str, Table], table: str | None
) -> None:
    """Every `{table}` is a table of ours and every `:name` a parameter."""
    for found in dict.fromkeys(TABLE_IN_SQL.findall(text)):
        if found not in tables and not (found == "table" and table):
            node.problem(unknown("table in { }", found, tables))
    for name in dict.fromkeys(params_in(text)):
        if name not in params:
            node.problem(unknown("parameter", f":{name}", [f":{p}" for p in params]))


def params_in(text: str) -> list[str]:
    """Names after a colon, outside of quotes and casts."""
    bare = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*", " ", text)
    return re.findall(r"(?<![:\w]):([a-zA-Z_]\w*)", bare)


def tables_of(operation: Operation, workload: Workload) -> tuple[str, ...]:
    """Tables that an operation reads or writes, in the workload's order."""
    used = {operation.table} if operation.table else set()
    for text in operation.sql.values():
        used |= set(TABLE_IN_SQL.findall(text))
    for member in operation.members:
        used |= set(tables_of(workload.operations[member], workload))
    return tuple(name for name in workload.tables if name in used)
