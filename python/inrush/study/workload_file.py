"""A workload file: TOML tree -> `Workload`, or every problem in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from inrush.errors import Problem
from inrush.study.document import I64, U64_MAX, Node, unknown
from inrush.workload import LOGICAL_TYPES, Column, FileSource, Operation, Table, Workload

SCHEMA = 1
KINDS = ("insert", "query", "together", "execute")
#: Engines that may have SQL of their own, built or not yet.
DIALECTS = (
    "duckdb", "sqlite", "postgresql", "timescaledb", "mysql", "mariadb", "clickhouse", "influxdb", "ndb", "adbc",
)  # fmt: skip
HOLDS = ("rows_regenerate", "count_bounds", "oracle", "freshness")
FORMATS = ("csv", "tsv", "mysql", "parquet")
#: Parameter generator -> its parameters; twin of `ParamGen` in plan.rs.
PARAM_GENS: Mapping[str, tuple[str, ...]] = {
    "constant": ("value",),
    "now_minus": ("seconds",),
    "of_series": ("column", "table", "series"),
    "seen_until": (),
    "uniform": ("from", "to"),
}
#: What a list of keys is drawn by.
LISTED = ("of_series", "uniform")
NAME = re.compile(r"[a-z][a-z0-9_]{0,47}\Z")
TABLE_IN_SQL = re.compile(r"\{(\w+)\}")

#: Generators as the core lists them: kind -> {"types": […], "params": {name: {"type", "required", "about"}}}.
Catalogue = Mapping[str, Mapping[str, Any]]


def parse_workload(
    tree: Any,
    file: str,
    name: str,
    problems: list[Problem],
    catalogue: Catalogue | None = None,
    sizes: Mapping[str, float] | None = None,
) -> Workload:
    """The workload of a document; what is wrong goes to `problems`.

    catalogue: None where the core cannot be asked; then generators are checked when the plan is run.
    sizes: values that replace the file's own, e.g. from a study; unknown names were refused by the caller.
    """
    root = Node(file, "", tree, problems)
    allowed = ("schema", "epoch", "sizes", "tables", "operations")
    fields = root.fields(allowed, required=("schema", "epoch", "tables", "operations"))
    if (schema := fields.get("schema")) and schema.value != SCHEMA:
        schema.problem(f"this inrush reads schema {SCHEMA}")
    own_sizes = (
        {key: read_size(key, node) for key, node in fields["sizes"].members().items()}
        if "sizes" in fields
        else {}
    )
    all_sizes = {**own_sizes, **(sizes or {})}
    tables = {}
    if "tables" in fields:
        for key, node in fields["tables"].members().items():
            check_name(node, key)
            tables[key] = parse_table(node, key, all_sizes, catalogue)
    operations = {}
    if "operations" in fields:
        members = fields["operations"].members()
        for key, node in members.items():
            check_name(node, key)
            operations[key] = parse_operation(node, key, tables, tuple(members), all_sizes)
        check_members(members, operations)
    return Workload(
        name=name,
        epoch=parse_epoch(fields.get("epoch")),
        sizes=all_sizes,
        tables=tables,
        operations=operations,
    )


def check_name(node: Node, name: str) -> None:
    """Names become names in databases: lower case, so that no engine folds them into another."""
    if not NAME.match(name):
        node.problem("names are lower case letters, digits and _, at most 48, and begin with a letter")


def parse_epoch(node: Node | None) -> str:
    """RFC 3339 in UTC, data time zero."""
    default = "2026-01-01T00:00:00Z"
    if node is None:
        return default
    value = node.value.isoformat() if isinstance(node.value, datetime) else node.value
    try:
        when = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
        if when.tzinfo is None or not 1970 <= when.astimezone(timezone.utc).year <= 2200:
            raise ValueError
    except (ValueError, OverflowError):
        node.problem('write a time with its zone from 1970 to 2200, e.g. "2026-01-01T00:00:00Z"')
        return default
    return when.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


# --- tables ----------------------------------------------------------------------------------------------


def parse_table(node: Node, name: str, sizes: Mapping[str, float], catalogue: Catalogue | None) -> Table:
    allowed = ("columns", "series", "period_s", "identity", "layouts", "source", "files")
    fields = node.fields(allowed, required=("columns",))
    from_files = "source" in fields and fields["source"].text(("files", "generated"), "source") == "files"
    columns: list[Column] = []
    for item in fields["columns"].items(at_least=1) if "columns" in fields else ():
        column = parse_column(item, sizes, catalogue, from_files)
        if column.name in [c.name for c in columns]:
            item.problem(f"column `{column.name}` is there already; rename one")
        columns.append(column)
    names = [c.name for c in columns]
    files = parse_files(fields["files"], names) if "files" in fields else None
    if from_files and files is None:
        node.problem('source = "files" needs files = { paths = […], format = "csv" }')
    if files is not None and not from_files:
        fields["files"].problem('say source = "files" beside it, or remove it')
    identity = fields["identity"].texts(names, "column") if "identity" in fields else ()
    return Table(
        name=name,
        columns=tuple(columns),
        series=parse_size(fields["series"], sizes) if "series" in fields else 1,
        period_s=parse_seconds(fields["period_s"], sizes) if "period_s" in fields else 1.0,
        identity=identity,
        layouts=parse_layouts(fields.get("layouts"), names, identity),
        files=files,
    )


def read_size(name: str, node: Node) -> float:
    """A whole number; seconds, by a name that ends in `_s`, may have a fraction."""
    return node.number(above=True) if name.endswith("_s") else node.integer(1, 10**12)


def parse_size(node: Node, sizes: Mapping[str, float]) -> int:
    """A number, or the name of one under `sizes`."""
    if not isinstance(node.value, str):
        return node.integer(1, 10**12)
    if node.value not in sizes:
        node.problem(unknown("size", node.value, sizes))
        return 1
    return int(sizes[node.value])


def parse_seconds(node: Node, sizes: Mapping[str, float]) -> float:
    """A number, or the name of a size in seconds."""
    if not isinstance(node.value, str):
        return node.number(above=True)
    seconds = [name for name in sizes if name.endswith("_s")]
    if node.value not in seconds:
        node.problem(unknown("size in seconds", node.value, seconds))
        return 1.0
    return float(sizes[node.value])


def parse_column(
    node: Node, sizes: Mapping[str, float], catalogue: Catalogue | None, from_files: bool
) -> Column:
    members = node.members()
    name = members["name"].text() if "name" in members else ""
    if not name:
        node.problem('every column has a name, { name = "…", type = "…", gen = "…" }')
    elif not from_files:
        check_name(node.at("name", name), name)
    if "type" in members:
        logical = members["type"].text(LOGICAL_TYPES, "type") or "i64"
    else:
        node.problem(f"column `{name}` needs a type: {', '.join(LOGICAL_TYPES)}")
        logical = "i64"
    share = members["null_share"].number() if "null_share" in members else 0.0
    if share > 1:
        members["null_share"].problem("write a share from 0 to 1")
        share = 0.0
    rest = {key: child for key, child in members.items() if key not in ("name", "type", "null_share")}
    if from_files:
        for key, child in rest.items():
            child.problem(f"`{key}` generates values; this table is fed from files")
        return Column(name, logical, None, share)
    if "gen" not in rest:
        node.problem(f'column `{name}` needs a generator, gen = "…"')
        return Column(name, logical, {"kind": "sequence"}, share)
    return Column(name, logical, parse_generator(node, rest, logical, sizes, catalogue), share)


def parse_generator(
    node: Node,
    members: Mapping[str, Node],
    logical: str | None,
    sizes: Mapping[str, float],
    catalogue: Catalogue | None,
) -> dict[str, Any]:
    """`gen = "kind"` and its parameters beside it -> {"kind": …, …}, as the core reads it.

    A parameter may name a size. Parameters that are generators themselves nest: { gen = "…" }.
    """
    known = None if catalogue is None else catalogue.keys()
    kind = members["gen"].text(known, "generator")
    entry = (catalogue or {}).get(kind)
    params: dict[str, Any] = {"kind": kind}
    allowed = entry["params"] if entry else None
    if entry and logical and entry.get("types") and logical not in entry["types"]:
        members["gen"].problem(f"gives {', '.join(entry['types'])}; the column is {logical}")
    for key, child in members.items():
        if key == "gen":
            continue
        if allowed is not None and key not in allowed:
            child.problem(unknown(f"parameter of {kind}", key, allowed))
            continue
        wanted = str(allowed[key].get("type", "")) if allowed is not None else ""
        params[key] = generator_parameter(child, wanted, sizes, catalogue)
    for key in sorted(allowed or ()):
        if allowed[key].get("required") and key not in members:  # type: ignore[index]
            about = allowed[key].get("about", "")  # type: ignore[index]
            node.problem(f"generator {kind} needs `{key}`" + (f": {about}" if about else ""))
    return params


def generator_parameter(
    node: Node, wanted: str, sizes: Mapping[str, float], catalogue: Catalogue | None
) -> Any:
    value = node.value
    if isinstance(value, dict) and "gen" in value:
        return parse_generator(node, node.members(), None, sizes, catalogue)
    if isinstance(value, str) and value in sizes and wanted not in ("string", "text"):
        return sizes[value]
    return plain(node)


def plain(node: Node) -> Any:
    """A value that JSON carries exactly."""
    value = node.value
    if isinstance(value, dict):
        return {key: plain(child) for key, child in node.members().items()}
    if isinstance(value, list):
        return [plain(child) for child in node.items()]
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return node.integer(I64[0], U64_MAX)
    if isinstance(value, float):
        return node.number(low=-1e18)
    node.problem("write a text, a number, true or false")
    return 0


def parse_layouts(
    node: Node | None, columns: Sequence[str], identity: tuple[str, ...]
) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Layout -> indexes. `identity` is the identity's columns, `a+b` an index over two; `none` is always there."""
    layouts: dict[str, tuple[tuple[str, ...], ...]] = {"none": ()}
    for name, entry in node.members().items() if node else ():
        indexes: list[tuple[str, ...]] = []
        for item in entry.items():
            text = item.text()
            index = identity if text == "identity" else tuple(part.strip() for part in text.split("+"))
            if text == "identity" and not identity:
                item.problem("the table has no identity; write identity = […] or name columns")
            elif bad := [part for part in index if part not in columns]:
                item.problem(unknown("column", bad[0], columns))
            else:
                indexes.append(index)
        layouts[name] = tuple(indexes)
    return layouts


def parse_files(node: Node, columns: Sequence[str]) -> FileSource:
    allowed = ("paths", "format", "delimiter", "header", "null", "reject_limit", "required")
    fields = node.fields(allowed, required=("paths", "format"))
    delimiter = fields["delimiter"].value if "delimiter" in fields else None
    if delimiter is not None and not (isinstance(delimiter, str) and len(delimiter.encode()) == 1):
        fields["delimiter"].problem("write one ASCII character")
        delimiter = None
    null = fields["null"].value if "null" in fields else None
    if null is not None and not isinstance(null, str):
        fields["null"].problem('write the text that means NULL, e.g. "NA"')
        null = None
    return FileSource(
        paths=fields["paths"].texts(at_least=1) if "paths" in fields else (),
        format=fields["format"].text(FORMATS, "format") if "format" in fields else "csv",
        delimiter=delimiter,
        header=fields["header"].flag() if "header" in fields else True,
        null=null,
        reject_limit=fields["reject_limit"].integer() if "reject_limit" in fields else 1000,
        required=fields["required"].texts(columns, "column") if "required" in fields else (),
    )


# --- operations ------------------------------------------------------------------------------------------


def parse_operation(
    node: Node, name: str, tables: Mapping[str, Table], names: Sequence[str], sizes: Mapping[str, float]
) -> Operation:
    allowed = (
        "kind", "table", "params", "members", "holds", "returns", "deletes_before", "sql", "unsupported", "about",
    )  # fmt: skip
    fields = node.fields(allowed, required=("kind",))
    kind = (fields["kind"].text(KINDS, "kind") if "kind" in fields else "") or "query"
    table = (fields["table"].text(tables, "table") or None) if "table" in fields else None
    texts = by_dialect(fields.get("sql"), ("default", *DIALECTS))
    reasons = by_dialect(fields.get("unsupported"), DIALECTS)
    members = fields["members"].texts(names, "operation", at_least=1) if "members" in fields else ()
    if kind == "together":
        if not members:
            node.problem("a together needs members = [operations]")
    elif members:
        fields["members"].problem('only kind = "together" has members')
    if kind in ("query", "execute") and "default" not in texts:
        node.problem("write sql.default, the statement for every engine without its own")
    if kind in ("insert", "together") and texts:
        fields["sql"].problem(f"the statement of kind `{kind}` is the engine's own; remove it")
    params = {
        key: parse_param(child, table, tables, sizes)
        for key, child in (fields["params"].members() if "params" in fields else {}).items()
    }
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
    if "count_bounds" in holds and table not in tables:
        fields["holds"].problem("count_bounds needs `table`")
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
        members=members,
        holds=holds,
        returns=returns,
        series=min(series, default=0),
        deletes_before=deletes,
        sql=texts,
        unsupported=reasons,
    )


def by_dialect(node: Node | None, dialects: Sequence[str]) -> dict[str, str]:
    return {key: child.text() for key, child in node.fields(dialects).items()} if node else {}


def check_members(nodes: Mapping[str, Node], operations: Mapping[str, Operation]) -> None:
    for name, operation in operations.items():
        for member in operation.members:
            if operations[member].kind != "query":
                nodes[name].at("members", member).problem("members of a together are queries")


def parse_param(
    node: Node, table: str | None, tables: Mapping[str, Table], sizes: Mapping[str, float]
) -> dict[str, Any]:
    """{ gen = "…", … } -> {"type": logical type, "gen": {"kind": …, …}}."""
    members = node.members()
    kind = members["gen"].text(PARAM_GENS, "generator of a parameter") if "gen" in members else ""
    if not kind:
        if "gen" not in members:
            node.problem(f"needs gen = one of {', '.join(PARAM_GENS)}")
        return {"type": "i64", "gen": {"kind": "constant", "value": 0}}
    fields = node.fields(
        ("gen", "type", "list", *PARAM_GENS[kind]),
        required=[k for k in PARAM_GENS[kind] if k not in ("table", "series")],
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
            gen["series"] = fields["series"].integer(0, most)
        logical = columns.get(gen["column"], logical)
    elif kind == "uniform":
        gen |= {key: fields[key].integer(*I64) for key in ("from", "to") if key in fields}
        if gen.get("from", 0) > gen.get("to", 0):
            node.problem("`from` is above `to`; swap them")
    elif kind == "constant" and "value" in fields:
        gen["value"] = plain(fields["value"])
        logical = (
            "text" if isinstance(gen["value"], str) else "f64" if isinstance(gen["value"], float) else "i64"
        )
    if "type" in fields:
        logical = fields["type"].text(LOGICAL_TYPES, "type") or logical
    found: dict[str, Any] = {"type": logical, "gen": gen}
    if "list" in fields and fields["list"].flag():
        if kind not in LISTED:
            fields["list"].problem(f"keys of a list are drawn, by gen = {' or '.join(LISTED)}; remove it")
        found["list"] = True
    return found


def check_lists(fields: Mapping[str, Node], params: Mapping[str, Any], texts: Mapping[str, str]) -> None:
    """At most one list an operation, so that a call has a number of keys; and it stands where keys are compared."""
    lists = [name for name, param in params.items() if param.get("list")]
    if len(lists) > 1:
        fields["params"].at(lists[1], True).problem("an operation has one list of keys; remove the other")
    for name in lists:
        for dialect, text in texts.items():
            there = re.escape(name)
            form, shown = (rf"=\s*:{there}\b", f"key = :{name}")
            if dialect != "influxdb":
                form, shown = rf"\bIN\s*\(\s*:{there}\s*\)", f"key IN (:{name})"
            if not re.search(form, text, re.IGNORECASE):
                fields["sql"].at(dialect, text).problem(f"a list is compared as {shown}")


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
