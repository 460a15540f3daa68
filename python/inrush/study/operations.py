"""The operations of a workload file: statements by dialect, their parameters and what their answers must hold. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from inrush.known import ENGINES
from inrush.study.by_key import parse_by_key
from inrush.study.document import Node, nearest, unknown
from inrush.study.io import parse_io
from inrush.study.keys import keys_table, parse_keys
from inrush.study.params import check_lists, check_no_range, parse_param
from inrush.study.ranges import parse_range, range_of_query
from inrush.workload import (
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
KEYS = (
    "kind", "table", "params", "keys", "range", "members", "holds", "returns", "may_be_empty", "deletes_before",
    "deadline_s", "sql", "unsupported", "needs", "about", "file_bytes", "does", "columns",
)  # fmt: skip
HOLDS = ("asked", "rows_regenerate", "count_bounds", "oracle", "freshness")
TABLE_IN_SQL = re.compile(r"\{(\w+)\}")
LIKE_SQL = re.compile(r"\b(SELECT|DELETE|UPDATE)\b.*\b(FROM|SET|WHERE)\b", re.IGNORECASE | re.DOTALL)


def parse_operation(
    node: Node, name: str, tables: Mapping[str, Table], names: Sequence[str], sizes: Mapping[str, float]
) -> Operation:
    fields = node.fields(KEYS, required=("kind",))
    named = (fields["kind"].text((*KINDS, BY_KEY), "kind") if "kind" in fields else "") or meant(fields)
    kind: OpKind | Maintain | Io = next((kind for kind in KINDS if kind == named), "query")
    if named == BY_KEY:
        return parse_by_key(
            node, name, fields, tables, sizes, by_dialect(fields.get("unsupported"), DIALECTS)
        )
    for key in fields.keys() & {"does", "columns"}:
        fields[key].problem(f'only kind = "{BY_KEY}" has {key}; remove it')
    table = (fields["table"].text(tables, "table") or None) if "table" in fields else None
    if kind != "maintain" and "needs" in fields:
        only = 'only statements of kind = "maintain" are left out by what a server has; remove it'
        fields["needs"].problem(only)
    if kind == "io":
        return parse_io(node, name, fields, sizes)
    if "file_bytes" in fields:
        fields["file_bytes"].problem('only kind = "io" has a file; remove it')
    if kind == "maintain":
        return parse_maintenance(node, name, fields, table, tables)
    texts, answers = statements(fields.get("sql"))
    reasons = by_dialect(fields.get("unsupported"), DIALECTS)
    members = fields["members"].texts(names, "operation", at_least=1) if "members" in fields else ()
    check_kind(node, kind, fields, texts, members)
    params = parse_params(fields, table, tables, sizes)
    key_rows = parse_keys(fields.get("keys"), node, params, table, tables, sizes)
    for dialect, text in texts.items():
        check_statement(fields["sql"].at(dialect, text), text, params, tables, table)
    check_lists(fields, params, texts)
    promises = parse_promises(fields, params, texts, table, tables)
    of_table, of_range = tables.get(table or ""), None
    if kind == "extract":
        of_range = parse_range(fields, node, params, texts, promises.returns, of_table, sizes)
    elif kind == "query" and "range" in fields:
        of_range = range_of_query(fields["range"], params, of_table, sizes)
    else:
        check_no_range(fields, params)
    return Operation(
        name=name,
        kind=kind,
        table=table,
        params=params,
        key_rows=key_rows,
        range=of_range,
        members=members,
        holds=promises.holds,
        returns=promises.returns,
        compared=promises.compared,
        may_be_empty=promises.may_be_empty,
        series=looked_at(fields, params, promises.holds, table, tables),
        deletes_before=parse_delete(fields, kind, params, table, tables),
        deadline_s=fields["deadline_s"].number(above=True, default=0.0) if "deadline_s" in fields else 0.0,
        sql=texts,
        answers=answers,
        unsupported=reasons,
    )


def parse_params(
    fields: Mapping[str, Node], table: str | None, tables: Mapping[str, Table], sizes: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    of_keys = keys_table(fields.get("keys"), table)
    return {
        key: parse_param(child, table, tables, sizes, of_keys)
        for key, child in (fields["params"].members() if "params" in fields else {}).items()
    }


def check_kind(
    node: Node, kind: str, fields: Mapping[str, Node], texts: Mapping[str, str], members: Sequence[str]
) -> None:
    """What an operation of this kind is made of."""
    if kind == "together":
        if not members:
            node.problem("a together needs members = [operations]")
    elif members:
        fields["members"].problem('only kind = "together" has members')
    if kind in ("query", "execute", "extract") and "default" not in texts:
        node.problem("write sql.default, the statement for every engine without its own")
    if kind in ("insert", "together") and texts:
        fields["sql"].problem(f"the statement of kind `{kind}` is the engine's own; remove it")


class Promises(NamedTuple):
    """What answers must hold."""

    holds: tuple[str, ...]
    #: The table's column behind each column of the answer.
    returns: tuple[str, ...]
    #: Parameter -> the column that it is compared with, of those in `returns`.
    compared: dict[str, str]
    may_be_empty: bool


def parse_promises(
    fields: Mapping[str, Node],
    params: Mapping[str, Any],
    texts: Mapping[str, str],
    table: str | None,
    tables: Mapping[str, Table],
) -> Promises:
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
    of_answers = {name: column for name, column in compared.items() if column in returns}
    return Promises(holds, returns, of_answers, may_be_empty)


def looked_at(
    fields: Mapping[str, Node],
    params: Mapping[str, Any],
    holds: Sequence[str],
    table: str | None,
    tables: Mapping[str, Table],
) -> int:
    """The series that its parameters are of; one that looks for new rows has one."""
    series = {p["gen"]["series"] for p in params.values() if "series" in p["gen"]}
    looks = [p for p in params.values() if p["gen"]["kind"] == "seen_until"]
    if "freshness" in holds and (table not in tables or len(series) != 1 or len(looks) != 1):
        fields["holds"].problem(
            'freshness needs `table`, parameters of one series ({ gen = "of_series", column = "…", series = 0 }), and one '
            '{ gen = "seen_until" }: its answer is the data times after that, in the first column'
        )
    return min(series, default=0)


def parse_delete(
    fields: Mapping[str, Node],
    kind: str,
    params: Mapping[str, Any],
    table: str | None,
    tables: Mapping[str, Table],
) -> str | None:
    """The parameter up to which it deletes, of a delete by age."""
    if "deletes_before" not in fields:
        return None
    deletes = fields["deletes_before"].text(params, "parameter") or None
    by_age = deletes is None or params[deletes]["gen"]["kind"] == "now_minus"
    if kind == "execute" and table in tables and by_age:
        return deletes
    fields["deletes_before"].problem(
        'a delete by age is kind = "execute" with a `table`, and the parameter is a now_minus'
    )
    return None


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
