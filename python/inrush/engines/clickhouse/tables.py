"""Columns of ClickHouse's tables: their types, and how a time is a number. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from inrush.engines.base import sql
from inrush.engines.base.loading import base_type
from inrush.workload import SPELLED, Column

#: Logical type -> type in the table and on the wire.
TYPES: Mapping[str, str] = {
    "bool": "UInt8",
    "i16": "Int16",
    "i32": "Int32",
    "i64": "Int64",
    "u8": "UInt8",
    "u16": "UInt16",
    "u32": "UInt32",
    "u64": "UInt64",
    "f32": "Float32",
    "f64": "Float64",
    "time_ms": "Int64",
    "time_us": "Int64",
    "text": "String",
    "bytes": "String",
    "list_f64": "Array(Float64)",
    "list_i64": "Array(Int64)",
    "list_bool": "Array(UInt8)",
    "list_i16": "Array(Int16)",
    "list_i32": "Array(Int32)",
    "list_u8": "Array(UInt8)",
    "list_u16": "Array(UInt16)",
    "list_u32": "Array(UInt32)",
    "list_u64": "Array(UInt64)",
    "list_f32": "Array(Float32)",
    "list_text": "Array(String)",
    **dict.fromkeys(SPELLED, "String"),
    "date": "Date",
    "blob": "String",
    "enum": "Enum16({numbers})",
    "decimal": "Decimal({p}, {s})",
    "json": "String",
    "bit": "UInt64",
}
#: Type of a time -> function that gives such a time as the whole number that is stored.
NUMBERS = {"datetime64(3)": "toUnixTimestamp64Milli", "datetime64(6)": "toUnixTimestamp64Micro"}


def type_of(column: Column) -> str:
    kind = sql.type_of(column, TYPES)
    if column.has_null_items:
        kind = f"Array(Nullable({kind.removeprefix('Array(')})"
    if not column.nullable:
        return kind
    return f"Array({kind})" if column.type.startswith("list") else f"Nullable({kind})"


def number_of(column: Column) -> str | None:
    """The function that gives a `DateTime64` of a table as a whole number of the column's unit; None of other types."""
    return NUMBERS.get(base_type(column.declared))
