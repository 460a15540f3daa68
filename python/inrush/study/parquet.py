"""What a Parquet file is: its columns with the types that it names, and what its first rows hold."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inrush.errors import UsageError
from inrush.study.found import PART_ROWS, SAMPLE_ROWS, Found, Sniffed, distinct_names

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


#: The first bytes of such a file, and of one that nobody reads without its key.
OF_PARQUET = b"PAR1"
OF_ENCRYPTED = b"PARE"


def sniff_parquet(path: Path, sample_rows: int = SAMPLE_ROWS) -> Sniffed:
    """sample_rows: that are looked at for NULL and for the longest texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        refuse_intervals(path, file)
        fields = [*file.schema_arrow]
        types = [arrow_type(path, field) for field in fields]
        rows = int(file.metadata.num_rows)
        if rows == 0:
            raise UsageError(f"{path}: has no rows")
        extents = extents_of(file, sample_rows)
        if not extents:
            raise UsageError(damaged(path, rows, 0))
        if lost := [field.name for field in fields if field.name not in extents]:
            raise UsageError(
                f"{path}: column {', '.join(lost)} is a group without columns, of which readers see nothing; drop it in the file"
            )
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{path}: cannot be read as Parquet ({error})") from error
    columns = tuple(
        Found(
            field.name,
            kind,
            of.nulls,
            longest=of.longest,
            span_s=of.span_s,
            spelled=str(field.type) if kind == "text" and is_texts(field.type) else "",
        )
        for field, kind, of in (
            (field, kind, extents[field.name]) for field, kind in zip(fields, types, strict=True)
        )
    )
    return Sniffed(
        "parquet", True, {}, distinct_names(columns, str(path)), rows, True, every_row=rows <= sample_rows
    )


def refuse_intervals(path: Path, file: pq.ParquetFile) -> None:
    """Raises UsageError for lengths of time, which Arrow reads as twelve bytes without a meaning."""
    leaves = [file.schema.column(k) for k in range(len(file.schema))]
    if found := [leaf.path for leaf in leaves if leaf.converted_type == "INTERVAL"]:
        raise UsageError(
            f"{path}: column {found[0]} is an interval, which no type of ours keeps exactly; cast or drop it in the file"
        )


def damaged(path: Path, rows: int, read: int) -> str:
    """Of a file whose columns hold other numbers of rows than it says: Arrow's reader ends early without a word."""
    return f"{path}: is damaged: it says that it has {rows:,} rows, and {read:,} can be read; fetch it again"


@dataclass
class Extent:
    """What the first rows of a column hold."""

    nulls: int = 0
    #: Characters of the longest text.
    longest: int = 0
    #: Least and greatest time, s since 1970.
    span_s: tuple[int, int] | None = None

    def add(self, column: pa.Array) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self.nulls += column.null_count
        column = plain(column)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            self.longest = max(self.longest, pc.max(pc.utf8_length(column)).as_py() or 0)
        elif pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
            found = [end for end in (span_of(column), self.span_s) if end is not None]
            if found:
                self.span_s = min(low for low, _ in found), max(high for _, high in found)


def span_of(column: pa.Array) -> tuple[int, int] | None:
    """Least and greatest of its times, s since 1970; None where all are NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    days = pa.types.is_date32(column.type)
    ends = pc.min_max(column.cast(pa.int32() if days else pa.int64())).as_py()
    if ends["min"] is None:
        return None
    if days:
        return ends["min"] * 86_400, ends["max"] * 86_400
    unit = "ms" if pa.types.is_date64(column.type) else column.type.unit
    per_s = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[unit]
    return ends["min"] // per_s, ends["max"] // per_s


def extents_of(file: pq.ParquetFile, sample_rows: int) -> dict[str, Extent]:
    """Of each column that is read, over its first rows."""
    extents: dict[str, Extent] = defaultdict(Extent)
    left = sample_rows
    for batch in file.iter_batches(batch_size=PART_ROWS):
        for name, column in zip(batch.schema.names, batch.slice(0, left).columns, strict=True):
            extents[name].add(column)
        left -= min(left, batch.num_rows)
        if left == 0:
            break
    return extents


def arrow_type(path: Path, field: pa.Field) -> str:
    """The logical type of an Arrow field. Raises UsageError where there is none that keeps its values."""
    import pyarrow as pa

    kind = field.type
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if isinstance(kind, pa.UuidType):
        return "uuid"
    if isinstance(kind, pa.JsonType):
        return "text"
    if types.is_boolean(kind):
        return "bool"
    if types.is_int8(kind) or types.is_uint8(kind) or types.is_int16(kind):
        return "i16"
    if types.is_uint16(kind) or types.is_int32(kind):
        return "i32"
    if types.is_uint32(kind) or types.is_int64(kind):
        return "i64"
    if types.is_uint64(kind):
        return "u64"
    if types.is_float16(kind) or types.is_float32(kind):
        return "f32"
    if types.is_float64(kind):
        return "f64"
    if types.is_date(kind):
        return "date"
    if types.is_timestamp(kind) and kind.unit in ("s", "ms"):
        return "time_ms"
    if types.is_timestamp(kind):
        return "time_us"  # of ns those that are whole µs
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return "bytes"
    if types.is_list(kind) or types.is_large_list(kind):
        item = kind.value_type
        if types.is_floating(item):
            return "list_f64"
        if types.is_integer(item) and not types.is_uint64(item):
            return "list_i64"
    if is_texts(kind):
        return "text"
    raise UsageError(
        f"{path}: column {field.name} is {field.type}, which no type of ours keeps exactly; cast or drop it in the file"
    )


def plain(column: pa.Array) -> pa.Array:
    """The values of a dictionary; those of Parquet's own types for UUIDs and JSON as texts; any other as they are."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if isinstance(column.type, pa.UuidType):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())
    return column.storage if isinstance(column.type, pa.JsonType) else column


def is_texts(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type go in as texts that `texts` makes."""
    import pyarrow as pa

    types = pa.types
    return bool(types.is_decimal(kind) or types.is_time(kind) or types.is_nested(kind) or types.is_null(kind))


def texts(column: pa.Array) -> pa.Array:
    """Such values as servers read them: digits, times of day, JSON. Of bytes their hexadecimal digits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types = pa.types
    column = plain(column)
    if types.is_time(column.type):
        # As files and servers write them: no zeros at the end of a fraction, and none that is zero.
        return pc.replace_substring_regex(column.cast(pa.string()), r"\.0+$|(\.\d*[1-9])0+$", r"\1")
    if not types.is_nested(column.type) and is_texts(column.type):
        return column.cast(pa.string())
    if not types.is_nested(column.type):
        return pa.array([None if v is None else v.hex() for v in column.to_pylist()], pa.string())
    try:
        values = column.to_pylist(maps_as_pydicts="strict")
        made = [
            None if v is None else json.dumps(keyed(v), ensure_ascii=False, default=in_json) for v in values
        ]
        return pa.array(made, pa.string())
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        # Keys that stand twice in a map, names in a struct; times that Python has none for; keys that are lists.
        why = error.args[0] if isinstance(error, KeyError) else error
        raise pa.ArrowInvalid(f"a value is none that JSON has: {why}") from error


def keyed(value: object) -> object:
    """A nested value whose keys are such as JSON has."""
    if isinstance(value, dict):
        return {k if isinstance(k, str | int | float) else in_json(k): keyed(v) for k, v in value.items()}
    return [*map(keyed, value)] if isinstance(value, list) else value


def in_json(value: object) -> str:
    """What JSON has no word for, within a nested value."""
    return value.hex() if isinstance(value, bytes) else str(value)
