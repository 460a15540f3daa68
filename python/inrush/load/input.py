"""What is loaded: files, globs and standard input, compressed or not, and the columns that go into the table."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from inrush.border.plan import Limits
from inrush.border.table import WrittenAs
from inrush.engines.base.loading import Loading, base_type, is_number
from inrush.errors import Problem, UsageError
from inrush.load.expand import STDIN
from inrush.load.spool import Stamp, digest_of, is_packed_by_name, refuse_changed, seen, spooled
from inrush.plan.ends import TextFile
from inrush.study.chosen import (
    AS_FOUND,
    Asked,
    Chosen,
    choose_columns,
    forms,
    forms_in_table,
    is_pattern,
    refuse_points_in_doubt,
    refuse_undecided,
)
from inrush.study.column_lines import lines
from inrush.study.files import arrow_stream
from inrush.study.formats import JSON_LINES, TEXT_FORMATS
from inrush.study.found import SAMPLE_ROWS, Found, Sniffed, distinct_names
from inrush.study.said import NOTHING_SAID, TextSaid
from inrush.study.sniff import Empty, look_at, sniff, sniffed
from inrush.study.units import refuse_other_units
from inrush.study.value_types import Evidence
from inrush.workload import LOGICAL_TYPES, Column, Table

#: Rows that show a file's format, header and word for NULL; the types are the table's.
LOOK_ROWS = 2_000
#: More files than these are first looked at for which of them are alike.
FEW = 100


LENGTH = re.compile(r"(?:char|varchar|character|character varying)\((\d+)\)", re.IGNORECASE)


class Input(NamedTuple):
    """One file as the core reads it. There may be 10^5 of them."""

    shown: str
    #: Where it lies: itself, or what it holds once unpacked.
    at: str
    sniffed: Sniffed
    stamp: Stamp
    #: Of what it holds, where that is known already.
    digest: str = ""
    #: It was looked at closely; one that was not is like another that was.
    looked: bool = True
    #: It has no rows.
    vacant: bool = False


def open_inputs(
    names: Sequence[str],
    spool: Path,
    sample_rows: int = SAMPLE_ROWS,
    said: TextSaid = NOTHING_SAID,
    few: int = FEW,
    encoding: str = "",
) -> list[Input]:
    """Looks at every file; compressed ones and standard input are written to `spool` first.

    sample_rows: of each file, that decide what it is; `LOOK_ROWS` do where the table is there and has types. Then of
    more than `few` files one stands for all that are like it. encoding: of texts that are not UTF-8.
    A file without rows is one beside others, and is taken for one like the first of these. Raises UsageError for files that cannot
    be read or are of different kinds, and where none has rows.
    """

    def lies_plain(name: str) -> bool:
        return name != STDIN and not is_packed_by_name(name) and not encoding

    plain = [name for name in names if lies_plain(name)]
    alike = len(names) > few and sample_rows <= LOOK_ROWS
    looks = iter(look_at(plain, sample_rows, said, alike))
    # By their places among `plain`.
    looked: list[Input | Vacant] = []
    found: list[Input | Vacant] = []
    for name in names:
        is_plain = lies_plain(name)
        look = next(looks) if is_plain else None
        if look is None or isinstance(look, str) or (look.sample is None and look.like is None):
            found.append(_closely(name, spooled(name, spool, encoding), sample_rows, said))
        else:
            digest, stamp = look.digest or "", Stamp(*look.stamp)
            like = None if look.like is None else looked[look.like]
            if isinstance(like, Input):
                found.append(Input(name, name, like.sniffed, stamp, digest, False))
            else:
                try:
                    sample = sniffed(json.loads(str(look.sample)), name, said)
                    found.append(Input(name, name, sample, stamp, digest))
                except Empty as why:
                    found.append(Vacant(name, name, stamp, why))
        if is_plain:
            looked.append(found[-1])
    inputs = with_all_members(with_vacant(found))
    _refuse_other_kinds(inputs, said)
    return inputs


def _closely(name: str, path: Path, sample_rows: int, said: TextSaid) -> Input | Vacant:
    stamp = seen(path)
    try:
        with called(path, name):
            return Input(name, str(path), sniff(path, sample_rows, said), stamp)
    except Empty as why:
        return Vacant(name, str(path), stamp, why)


@contextmanager
def called(at: Path, shown: str) -> Iterator[None]:
    """Refusals of what was unpacked to `at` name the file that holds it."""
    try:
        yield
    except UsageError as error:
        name = "standard input" if shown == STDIN else shown
        raise type(error)(Problem.sentence(str(p).replace(str(at), name)) for p in error.problems) from error


def refuse_zone_of_parquet(inputs: Sequence[Input], timezone: str) -> None:
    """Raises UsageError for a zone of times that name none, where files are Parquet, whose times are what their types say."""
    if timezone and inputs[0].sniffed.format not in TEXT_FORMATS:
        raise UsageError(f"{inputs[0].shown}: is Parquet, and --timezone is of texts; leave it out")


def _refuse_other_kinds(inputs: Sequence[Input], said: TextSaid) -> None:
    """Raises UsageError for options of texts where there are none, and for files with other columns than the first."""
    if inputs[0].sniffed.format not in TEXT_FORMATS and said.written:
        raise UsageError(
            f"{inputs[0].shown}: is Parquet, and --{next(iter(said.written))} is of texts; leave it out"
        )
    kind = _kind(inputs[0].sniffed)
    for other in inputs:
        if other.looked and _kind(other.sniffed) != kind:
            raise UsageError(
                f"{other.shown}: has other columns or another format than {inputs[0].shown}; load them one after the other"
            )


class Vacant(NamedTuple):
    """A file without rows."""

    shown: str
    at: str
    stamp: Stamp
    why: Empty


def with_vacant(found: Sequence[Input | Vacant]) -> list[Input]:
    """Files without rows as files like the first that has some. Raises Empty where none has."""
    full = next((one for one in found if isinstance(one, Input)), None)
    if full is None:
        raise next(one.why for one in found if isinstance(one, Vacant))
    return [
        one
        if isinstance(one, Input)
        else Input(one.shown, one.at, full.sniffed, one.stamp, looked=False, vacant=True)
        for one in found
    ]


def with_all_members(inputs: Sequence[Input]) -> list[Input]:
    """JSON lines with the columns of all files: a member that no object of a file has is NULL there."""
    if any(one.sniffed.format != JSON_LINES for one in inputs):
        return list(inputs)
    names = tuple(dict.fromkeys(c.name for one in inputs for c in one.sniffed.columns))

    def of(one: Sniffed, shown: str) -> Sniffed:
        here = {c.name: c for c in one.columns}
        absent = {name: Found(name, "text", one.rows, Evidence({})) for name in names if name not in here}
        return replace(one, columns=distinct_names([{**here, **absent}[name] for name in names], shown))

    return [one._replace(sniffed=of(one.sniffed, one.shown)) for one in inputs]


def _kind(of: Sniffed) -> tuple[Any, ...]:
    return of.format, of.header, tuple(c.name for c in of.columns)


def table_of(
    inputs: Sequence[Input],
    name: str,
    described: Sequence[tuple[str, str, bool]],
    loading: Loading,
    asked: Asked = AS_FOUND,
) -> Table:
    """The columns that are loaded, in the order of the table. Pure.

    described: (column, type, nullable) of the table that is there; empty where it will be created, with columns as
    they were found in the files. Raises UsageError for columns that do not go together.
    """
    found = columns_of(inputs, name, described, asked)
    if not described:
        if own := [f"{c.name}={c.declared}" for c in found if c.declared and not loading.reads_texts]:
            types = ", ".join(sorted(LOGICAL_TYPES))
            raise UsageError(f"--type {own[0]}: here a type is one of {types}")
        return Table(name, tuple(Column(c.name, c.type, made=c.declared) for c in found))
    here = {c.name: c for c in found}
    lost = [c for c in here if c not in {column for column, _, _ in described}]
    if lost:
        raise UsageError(
            f"table {name} has no column {', '.join(lost)}; it has {', '.join(c for c, _, _ in described)}"
        )
    columns = []
    unknown = []
    for column, kind, _nullable in described:
        if column not in here:
            continue  # the table's default
        meanings = loading.column_types.get(base_type(kind), ())
        if not meanings and (not loading.reads_texts or any(m in kind.lower() for m in loading.misread)):
            unknown.append(f"{column} ({kind})")
            continue
        meanings = meanings or ("text",)
        in_file = here[column].type
        columns.append(Column(column, in_file if in_file in meanings else meanings[0]))
    if unknown:
        raise UsageError(
            f"table {name}: columns that are not loaded yet by their type: {', '.join(unknown)}; load a file without them"
        )
    ordered = [column.name for column in columns]
    if inputs[0].sniffed.named and ordered != list(here):
        # Without a header fields are the columns in their order, and some insert methods take them in the table's.
        raise UsageError(
            f"--columns {','.join(here)}: table {name} has them in the order {','.join(ordered)}"
        )
    return Table(name, tuple(columns))


def columns_of(
    inputs: Sequence[Input], name: str, described: Sequence[tuple[str, str, bool]], asked: Asked
) -> list[Chosen]:
    """The columns of the files; of files without a header under the names of the table that is there. Pure."""
    found = choose_columns([i.sniffed for i in inputs], asked)
    one = inputs[0].sniffed
    if described and not one.has_names and not one.named:
        if len(found) != len(described):
            raise UsageError(f"{inputs[0].shown}: has {len(found)} columns, table {name} {len(described)}")
        found = [replace(c, name=column) for c, (column, _, _) in zip(found, described, strict=True)]
    return found


def times_of(
    inputs: Sequence[Input], table: Table, described: Sequence[tuple[str, str, bool]], asked: Asked
) -> dict[str, str]:
    """Column of the table -> how its times are written in the files: iso, dmy or mdy. Pure.

    Raises DatesUndecided for dates such as 03/01/2026 if neither the files nor `asked` give their order, UsageError for numbers that
    look like no units of the column's.
    """
    columns, names = columns_of(inputs, table.name, described, asked), [i.shown for i in inputs]
    if not described:
        refuse_undecided(columns, names)
        return forms(columns)
    times = {c.name for c in table.columns if c.type in ("time_ms", "time_us", "date")}
    if other := sorted({name for name in asked.formats if name} - times):
        raise UsageError(
            f"--date-format {other[0]}=…: column {other[0]} of table {table.name} is no time; leave it out"
        )
    found = forms_in_table([c for c in columns if c.name in times], asked, names)
    if "" in asked.formats and not any(map(is_pattern, found.values())):
        raise UsageError(
            f"--date-format {asked.formats[''].text}: no column of times of table {table.name} has texts of which the first is "
            "written so; leave it out"
        )
    own = dict(zip((c.name for c in columns), (c.name for c in inputs[0].sniffed.columns), strict=False))
    refuse_other_units(columns, {c.name: c.type for c in table.columns}, found, asked, own)
    return found


def type_lines(inputs: Sequence[Input], name: str, asked: Asked) -> list[str]:
    """A line for each column of a new table with a type in doubt. Pure."""
    return lines(columns_of(inputs, name, (), asked), [i.sniffed for i in inputs], [i.shown for i in inputs])


def in_units_of(
    table: Table, described: Sequence[tuple[str, str, bool]], column_types: Mapping[str, tuple[str, ...]]
) -> Table:
    """The table with times in the unit that later loads will read them in: sums of both are then of one unit. Pure."""
    meanings = {name: column_types.get(base_type(kind), ()) for name, kind, _ in described}

    def unit(column: Column) -> str:
        known = meanings.get(column.name, ())
        return known[0] if column.type == "time_ms" and known[:1] == ("time_us",) else column.type

    return replace(table, columns=tuple(replace(c, type=unit(c)) for c in table.columns))


def with_types(table: Table, types: Mapping[str, str]) -> Table:
    """The table with its columns read as an import was begun with. Pure."""
    return replace(table, columns=tuple(replace(c, type=types.get(c.name, c.type)) for c in table.columns))


def with_required(table: Table, required: Collection[str]) -> Table:
    """The table with these columns taking no NULL. Pure."""
    return replace(table, columns=tuple(replace(c, required=c.name in required) for c in table.columns))


def limits_of(
    described: Sequence[tuple[str, str, bool]], table: Table, loading: Loading
) -> dict[str, Limits]:
    """Column -> what the database takes of it where that is less than its logical type says. Pure.

    A row beyond the limits would be refused together with all that is stored in its transaction.
    """
    limits: dict[str, Limits] = {}
    logical = {column.name: column.type for column in table.columns}
    for column, kind, _nullable in described:
        length = LENGTH.fullmatch(kind.strip())
        if logical.get(column) == "text" and loading.bounds_texts and length:
            limits[column] = {"chars": int(length.group(1))}
        elif logical.get(column) == "text" and (most := loading.text_bytes.get(base_type(kind))):
            limits[column] = {"chars": most}
        elif logical.get(column) in ("f32", "f64"):
            lacks = Limits()
            if "nan" not in loading.not_finite:
                lacks["no_nan"] = True
            if "inf" not in loading.not_finite:
                lacks["no_infinity"] = True
            limits.update({column: lacks} if lacks else {})
        elif logical.get(column, "bool") != "bool" and (span := loading.ranges.get(base_type(kind))):
            limits[column] = {"range": list(span)}
        elif logical.get(column) == "text" and (number := loading.spelling_of(kind)):
            limits[column] = {"number": number}
    return limits


def as_declared(table: Table, loading: Loading) -> Table:
    """A table that is still to be made, with columns of types of the database read as of one that is there. Pure."""

    def read(column: Column) -> Column:
        meanings = loading.column_types.get(base_type(column.made), ()) if column.made else ()
        kind = meanings[0] if meanings and column.type not in meanings else column.type
        return replace(column, type=kind, declared=column.made)

    return replace(table, columns=tuple(map(read, table.columns)))


def refuse_unknown_numbers(
    table: Table, found: Sequence[Chosen], written: WrittenAs, loading: Loading, names: Sequence[str]
) -> None:
    """Raises UsageError for values that look like numbers, of a type that may be one or not, where numbers have marks of their own.

    And for numbers whose point is in doubt. found: the columns of the files. names: of these.
    """
    fractions = {c.name for c in table.columns if c.type in ("f32", "f64") or loading.spelling_of(c.declared)}
    refuse_points_in_doubt(found, fractions, written, names)
    if not {"decimal", "thousands"} & set(written):
        return
    looks = {c.name for c in found if c.type in ("i32", "i64", "u64", "f64")}
    as_text = [c for c in table.columns if c.type == "text" and loading.is_as_text(c.declared)]
    odd = [c for c in as_text if c.name in looks and loading.spelling_of(c.declared) is None]
    if odd:
        unknown = ", ".join(f"{c.name} ({c.declared})" for c in odd)
        raise UsageError(
            f"table {table.name}: values of {unknown} look like numbers, and whether that type is one is not known: "
            "--decimal and --thousands do not say how they are read; load such a table without them"
        )


def looked_at(inputs: Sequence[Input]) -> list[Input]:
    """Those that say what all hold."""
    return [i for i in inputs if i.looked]


def file_document(source: Input, table: Table, cache: Path, here: str) -> TextFile:
    """How the core reads this file. Parquet becomes an Arrow stream in `cache`. here: the folder of relative names."""
    kind, at = source.sniffed.format, source.at
    document: TextFile = {
        "path": at if at.startswith("/") else f"{here}/{at}",
        "format": kind,
        "header": source.sniffed.header,
        "written": source.sniffed.written,
    }
    if kind in TEXT_FORMATS:
        return {**document, "stamp": source.stamp.document()}
    path = Path(at)
    with called(path, source.shown):
        types = {c.name: c.type for c in table.columns}
        exact = {c.name for c in table.columns if c.type == "text" and is_number(c.declared)}
        stream = arrow_stream(path, types, cache / digest_of(path), exact)
    refuse_changed(path, source.shown, source.stamp)
    unit_bytes = source.stamp.bytes / source.sniffed.rows
    return {**document, "path": str(stream), "format": "arrow", "unit_bytes": unit_bytes}
