"""What is loaded: files, globs and standard input, compressed or not, and the columns that go into the table."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from inrush.border.plan import Limits
from inrush.engines.loading import Loading
from inrush.errors import UsageError
from inrush.plan.ends import TextFile
from inrush.study.chosen import (
    AS_FOUND,
    Asked,
    Chosen,
    choose_columns,
    forms,
    forms_in_table,
    lines,
    refuse_undecided,
)
from inrush.study.files import arrow_stream
from inrush.study.first_line import NOTHING_SAID, FirstLineGiven
from inrush.study.found import SAMPLE_ROWS, Sniffed
from inrush.study.sniff import not_a_file, sniff
from inrush.workload import Column, Table

STDIN = "-"
#: Rows that show a file's format, header and word for NULL; the types are the table's.
LOOK_ROWS = 2_000


#: First bytes of a compressed file -> how it is packed.
PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}

LENGTH = re.compile(r"(?:char|varchar|character|character varying)\((\d+)\)", re.IGNORECASE)


@dataclass(frozen=True)
class Input:
    """One file as the core reads it."""

    shown: str
    path: Path
    sniffed: Sniffed
    bytes: int
    mtime_ns: int


def expand(words: Sequence[str]) -> list[str]:
    """Files of words that may be patterns, each once, in order of name within a pattern. Raises UsageError."""
    names: dict[str, None] = {}
    missing = []
    for word in words:
        if word == STDIN:
            names[word] = None
            continue
        try:
            matched = matching(word)
        except OSError as error:
            raise UsageError(f"{word}: cannot be read ({error.strerror or error})") from error
        if not matched:
            missing.append(word)
        names.update(dict.fromkeys(matched))
    if missing:
        raise UsageError("; ".join(map(no_file, missing)))
    return list(names)


def no_file(word: str) -> str:
    if not word:
        return "'': names no file; give files or patterns, or - for standard input"
    if Path(word).is_dir():
        return f"{word}: is a folder; '{word.rstrip('/')}/*' means its files"
    if problem := not_a_file(Path(word)):
        return f"{problem}, or load it as standard input: -"
    return f"{word}: there is no such file"


def matching(word: str) -> list[str]:
    """The file of this name, or those that the pattern names; none of a folder. Raises OSError, UsageError."""
    if Path(word).is_file():
        return [word]
    if not word or Path(word).is_dir():  # neither is a pattern
        return []
    try:
        return pattern(word)
    except (ValueError, NotImplementedError) as error:
        raise UsageError(f"{word}: is no pattern of files ({error})") from error


def pattern(word: str) -> list[str]:
    path = Path(word)
    if path.is_absolute():
        return sorted(
            str(p) for p in Path(path.anchor).glob(str(path.relative_to(path.anchor))) if p.is_file()
        )
    return sorted(str(p) for p in Path().glob(word) if p.is_file())


def open_inputs(
    names: Sequence[str], spool: Path, sample_rows: int = SAMPLE_ROWS, said: FirstLineGiven = NOTHING_SAID
) -> list[Input]:
    """Looks at every file; compressed ones and standard input are written to `spool` first.

    sample_rows: of each file, that decide what it is; `LOOK_ROWS` do where the table is there and has types.
    Raises UsageError for files that cannot be read, are empty, or are of different kinds.
    """
    inputs = []
    for name in names:
        path = spooled(name, spool)
        stat = path.stat()
        inputs.append(Input(name, path, sniff(path, sample_rows, said), stat.st_size, stat.st_mtime_ns))
    first = inputs[0]
    for other in inputs[1:]:
        if _kind(other.sniffed) != _kind(first.sniffed):
            raise UsageError(
                f"{other.shown}: has other columns or another format than {first.shown}; load them one after the other"
            )
    return inputs


def _kind(sniffed: Sniffed) -> tuple[Any, ...]:
    return sniffed.format, sniffed.header, tuple(c.name for c in sniffed.columns)


def spooled(name: str, spool: Path) -> Path:
    """The file itself, or what it holds once unpacked. Kept until the import is done, so that it can go on."""
    if name == STDIN:
        unfinished = spool / f"stdin-{os.getpid()}.part"
        spool.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out, 1 << 20)
        return unfinished.rename(spool / f"stdin-{digest_of(unfinished)}")
    path = Path(name)
    try:
        with path.open("rb") as file:
            head = file.read(6)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    packing = next((kind for start, kind in PACKED.items() if head.startswith(start)), None)
    if packing is None:
        return path
    # By what it holds: another file may have its name, size and time.
    into = spool / f"{path.name}.{digest_of(path)}"
    if into.is_file():
        return into
    spool.mkdir(parents=True, exist_ok=True)
    unfinished = into.with_name(f"{into.name}-{os.getpid()}.part")
    try:
        with unpacking(path, packing) as packed, unfinished.open("wb") as out:
            shutil.copyfileobj(packed, out, 1 << 20)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise UsageError(f"{path}: cannot be unpacked ({error})") from error
    unfinished.rename(into)
    return into


def digest_of(path: Path) -> str:
    from inrush import _core

    digest: str = _core.file_digest(str(path))[0]
    return digest


def unpacking(path: Path, packing: str) -> IO[bytes]:
    """What the file holds, as a stream."""
    if packing == "xz":
        return lzma.open(path, "rb")
    import pyarrow as pa

    unpacked: IO[bytes] = pa.input_stream(str(path), compression=packing)
    return unpacked


def table_of(
    inputs: Sequence[Input],
    name: str,
    described: Sequence[tuple[str, str, bool]],
    column_types: Mapping[str, tuple[str, ...]],
    asked: Asked = AS_FOUND,
) -> Table:
    """The columns that are loaded, in the order of the table. Pure.

    described: (column, type, nullable) of the table that is there; empty where it will be created, with columns as
    they were found in the files. column_types: the engine's, see `Loading`. Raises UsageError for columns that do not
    go together.
    """
    found = columns_of(inputs, name, described, asked)
    if not described:
        return Table(name, tuple(Column(c.name, c.type) for c in found))
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
        meanings = column_types.get(base_type(kind), ())
        if not meanings:
            unknown.append(f"{column} ({kind})")
            continue
        in_file = here[column].type
        columns.append(Column(column, in_file if in_file in meanings else meanings[0]))
    if unknown:
        raise UsageError(f"table {name}: columns that are not loaded yet by their type: {', '.join(unknown)}")
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
    if described and not one.header and not one.named and one.format != "parquet":
        if len(found) != len(described):
            raise UsageError(f"{inputs[0].shown}: has {len(found)} columns, table {name} {len(described)}")
        found = [replace(c, name=column) for c, (column, _, _) in zip(found, described, strict=True)]
    return found


def times_of(
    inputs: Sequence[Input], table: Table, described: Sequence[tuple[str, str, bool]], asked: Asked
) -> dict[str, str]:
    """Column of the table -> how its times are written in the files: iso, dmy or mdy. Pure.

    Raises DatesUndecided for dates such as 03/01/2026 if neither the files nor `asked` give their order.
    """
    columns, names = columns_of(inputs, table.name, described, asked), [i.shown for i in inputs]
    if not described:
        refuse_undecided(columns, names)
        return forms(columns)
    times = {c.name for c in table.columns if c.type in ("time_ms", "time_us", "date")}
    return forms_in_table([c for c in columns if c.name in times], asked, names)


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
    return limits


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


def file_document(source: Input, table: Table, cache: Path) -> TextFile:
    """How the core reads this file. Parquet becomes an Arrow stream in `cache`."""
    path, kind = source.path, source.sniffed.format
    if kind == "parquet":
        path = arrow_stream(path, {c.name: c.type for c in table.columns}, cache / digest_of(path))
        kind = "arrow"
    return {
        "path": str(path.resolve()),
        "format": kind,
        "delimiter": source.sniffed.delimiter,
        "header": source.sniffed.header,
        "null": source.sniffed.null,
    }
