"""The tables of a workload file: columns, their generators, layouts and the files that feed them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from inrush.errors import UsageError
from inrush.study.bits import of_bits, parse_bits
from inrush.study.chars import char_problem, parse_chars
from inrush.study.column_types import NAMES, NAMES_OF_FILES, read_type
from inrush.study.date_formats import read_formats
from inrush.study.decimals import of_digits, parse_decimal
from inrush.study.document import Node, Reader, given, unknown, word
from inrush.study.events import parse_chunks, parse_rates
from inrush.study.formats import FORMATS
from inrush.study.generators import Catalogue, parse_generator
from inrush.study.partitions import parse_partitions
from inrush.study.said import WRITTEN, mark_problem
from inrush.study.sizes import parse_seconds, parse_size
from inrush.workload import (
    DRAWN_LISTS,
    FLOAT_TYPES,
    NOT_FINITE,
    TYPES,
    Column,
    FileSource,
    Table,
)

#: Types with texts of a given form.
TIMES = ("time_ms", "time_us", "date")
#: Types that are written as one word.
TIME_FORMS = ("iso", "dmy", "mdy")
NAME = re.compile(r"[a-z][a-z0-9_]{0,47}\Z")


def parse_table(
    node: Node, name: str, sizes: Mapping[str, float], catalogue: Catalogue | None, epoch: str
) -> Table:
    allowed = (
        "columns",
        "series",
        "period_s",
        "rates",
        "chunks",
        "identity",
        "layouts",
        "partitions",
        "source",
        "files",
    )
    fields = node.fields(allowed, required=("columns",))
    from_files = "source" in fields and fields["source"].text(("files", "generated"), "source") == "files"
    columns: list[Column] = []
    for item in fields["columns"].items(at_least=1) if "columns" in fields else ():
        column = parse_column(item, sizes, catalogue, from_files)
        if column.name in [c.name for c in columns]:
            item.problem(f"column `{column.name}` is there already; rename one")
        columns.append(column)
    names = [c.name for c in columns]
    times = [c.name for c in columns if c.type in TIMES]
    files = parse_files(fields["files"], names, times) if "files" in fields else None
    if from_files and files is None:
        node.problem('source = "files" needs files = { paths = […], format = "csv" }')
    if files is not None and not from_files:
        fields["files"].problem('say source = "files" beside it, or remove it')
    identity = fields["identity"].texts(names, "column") if "identity" in fields else ()
    if files is not None:
        # The reader rejects rows without a value there, so that no table ever holds one.
        firm = {*files.required, *identity}
        columns = [replace(column, required=column.name in firm) for column in columns]
    series = parse_size(fields["series"], sizes) if "series" in fields else 1
    table = Table(
        name=name,
        columns=tuple(columns),
        series=series,
        rates=parse_rates(fields["rates"], series, sizes) if "rates" in fields else None,
        chunks=parse_chunks(fields, sizes),
        period_s=parse_seconds(fields["period_s"], sizes) if "period_s" in fields else 1.0,
        identity=identity,
        layouts=parse_layouts(fields.get("layouts"), names, identity),
        files=files,
    )
    if "partitions" not in fields:
        return table
    return replace(table, partitions=parse_partitions(fields["partitions"], table, sizes, epoch))


def parse_column(
    node: Node, sizes: Mapping[str, float], catalogue: Catalogue | None, from_files: bool
) -> Column:
    members = node.members()
    name = members["name"].text() if "name" in members else ""
    if not name:
        node.problem('every column has a name, { name = "…", type = "…", gen = "…" }')
    elif not from_files:
        check_name(node.at("name", name), name)
    chars, charset = parse_chars(members)
    digits = parse_decimal(members)
    bits = parse_bits(members)
    if chars:
        logical = "text"
    elif digits:
        logical = "decimal"
    elif bits:
        logical = "bit"
    elif "type" in members:
        logical = read_type(members["type"], from_files) or "i64"
    else:
        node.problem(f"column `{name}` needs a type: {', '.join(NAMES_OF_FILES if from_files else NAMES)}")
        logical = "i64"
    share = parse_share(members.get("null_share"))
    not_finite = parse_not_finite(members, logical)
    known = ("name", "type", "charset", "null_share", *map(share_name, NOT_FINITE))
    rest = {key: child for key, child in members.items() if key not in known}
    if from_files:
        for key, child in rest.items():
            child.problem(f"`{key}` generates values; this table is fed from files")
        if digits:
            members["type"].problem("no file is read as decimals; write f64, or text for every digit")
        if logical in DRAWN_LISTS:
            members["type"].problem("no file is read as such lists; write list_f64 or list_i64")
        elif not (TYPES[logical].fed or digits or bits):
            members["type"].problem(f"no file is read as {logical}; write text")
        if bits:
            members["type"].problem("no file is read as bits; write u64")
        if not_finite:
            node.problem(
                f"`{share_name(next(iter(not_finite)))}` generates values; this table is fed from files"
            )
        return Column(name, logical, None, share, chars=chars, charset=charset)
    if "gen" not in rest:
        node.problem(f'column `{name}` needs a generator, gen = "…"')
        return Column(name, logical, {"kind": "sequence"}, share)
    gen = parse_generator(node, rest, logical, sizes, catalogue)
    if chars and (problem := char_problem(gen, chars, charset)):
        members["gen"].problem(problem)
    if digits:
        gen = of_digits(gen, digits, node)
    if bits:
        gen = of_bits(gen, bits, node)
    return Column(name, logical, gen, share, not_finite, chars, charset, *(digits or (0, 0)), bits=bits)


def share_name(value: str) -> str:
    """The key of a column that says how many of its values are this one."""
    return f"{value}_share"


def parse_share(node: Node | None) -> float:
    share = 0.0 if node is None else node.number()
    if node is not None and share > 1:
        node.problem("write a share from 0 to 1")
        return 0.0
    if node is not None and share > 0 and round(share * 1e6) == 0:
        node.problem("one in a million is the least; write 0.000001, or leave it out")
        return 0.0
    return share


def parse_not_finite(members: Mapping[str, Node], logical: str) -> dict[str, float]:
    """`nan_share`, `inf_share` and `minus_inf_share` of a column of floats."""
    named = {value: members[share_name(value)] for value in NOT_FINITE if share_name(value) in members}
    for value, child in named.items():
        if logical not in FLOAT_TYPES:
            child.problem(f"`{share_name(value)}` is of floats (f32, f64); the column is {logical}")
    shares = {value: parse_share(child) for value, child in named.items()}
    if sum(shares.values()) > 1:
        next(iter(named.values())).problem("the shares of values that are not finite are above 1 together")
        return {}
    return {value: share for value, share in shares.items() if share > 0}


def check_name(node: Node, name: str) -> None:
    """Names become names in databases: lower case, so that no engine folds them into another."""
    if not NAME.match(name):
        node.problem("names are lower case letters, digits and _, at most 48, and begin with a letter")


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


def parse_files(node: Node, columns: Sequence[str], times: Sequence[str]) -> FileSource:
    """times: those of the columns that are times."""
    allowed = ("paths", "format", "header", "reject_limit", "required", "times", *WRITTEN)
    fields = node.fields(allowed, required=("paths", "format"))
    if "format" in fields and fields["format"].value == "parquet":
        for name in (name for name in ("header", "times", *WRITTEN) if name in fields):
            fields[name].problem("Parquet says it itself; leave it out")
    # A key of theirs that is wrong is none.
    marks = {name: as_written(name, fields[name]) for name in WRITTEN if name in fields}
    written = {name: found for name, found in marks.items() if found is not None}
    readers: dict[str, Reader] = {
        "paths": lambda paths: paths.texts(at_least=1),
        "format": word(FORMATS, "format"),
        "header": Node.flag,
        "reject_limit": Node.integer,
        "required": lambda names: names.texts(columns, "column"),
        "times": lambda forms: parse_times(forms, times),
    }
    return FileSource(written=written, **given(fields, readers, paths=(), format=FORMATS[0]))


def as_written(name: str, node: Node) -> str | int | None:
    """How rows are written, in one respect."""
    if name == "skip":
        return node.integer()
    if not isinstance(node.value, str):
        node.problem(
            'write the text that means NULL, e.g. "NA"' if name == "null" else "write a text in quotes"
        )
    elif why := mark_problem(name, node.value):
        node.problem(why)
    else:
        return node.value
    return None


def parse_times(node: Node, columns: Sequence[str]) -> dict[str, str]:
    """Column -> how its times are written."""
    members = node.members()
    for name, entry in members.items():
        if name not in columns:
            entry.problem(unknown("column of times", name, columns))
    return {name: _time_form(entry) for name, entry in members.items()}


def _time_form(node: Node) -> str:
    """iso, dmy, mdy, or a pattern such as `%d.%m.%y %H:%M`."""
    if not (isinstance(node.value, str) and "%" in node.value):
        return node.text(TIME_FORMS, "form")
    try:
        read_formats([node.value])
    except UsageError as wrong:
        node.problem(str(wrong).removeprefix(f"--date-format {node.value}: "))
    return node.value
