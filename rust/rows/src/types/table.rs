//! The table of types.

use super::{ColumnType, Holds, LogicalType, LogicalType::*};

/// Generators of numbers, of whole ones, of those that are counted from row to row, of those with 64 bits, of instants.
const NUMBER: &[&str] = &["constant", "uniform", "normal", "lognormal", "beta", "walk"];
const WHOLE: &[&str] = &[
    "cycle",
    "shuffled",
    "poisson",
    "zipf",
    "categorical",
    "flag",
    "counter",
    "offset",
    "foreign",
    "chunk",
    "rank",
];
const COUNT: &[&str] = &["sequence", "version"];
const WIDE: &[&str] = &["ratio", "sum", "difference", "excess", "pattern"];
const INSTANT: &[&str] = &["constant", "offset", "sweep_time", "time", "series_time"];
const BITS: &[&str] = &["bits"];
/// Of every type that travels as text in one form.
const GIVEN: &[&str] = &["constant", "categorical"];

/// All of them, in the order of [`LogicalType`].
pub const TYPES: [ColumnType; 33] = [
    ColumnType {
        also: &["boolean"],
        bytes: 1,
        generators: &[&["constant", "flag"]],
        ..plain(Bool, "bool", Holds::Truth)
    },
    number(I16, "i16", Holds::Signed(16), &[NUMBER, WHOLE], &["smallint", "short", "int2", "int16"]),
    number(
        I32,
        "i32",
        Holds::Signed(32),
        &[NUMBER, WHOLE, COUNT],
        &["int", "integer", "int4", "int32", "serial"],
    ),
    number(
        I64,
        "i64",
        Holds::Signed(64),
        &[NUMBER, WHOLE, COUNT, WIDE, &["job"]],
        &["bigint", "long", "int8", "int64", "bigserial"],
    ),
    number(U8, "u8", Holds::Unsigned(8), &[NUMBER, WHOLE, BITS], &["uint8", "utinyint", "byte"]),
    number(U16, "u16", Holds::Unsigned(16), &[NUMBER, WHOLE, BITS], &["uint16", "usmallint"]),
    number(U32, "u32", Holds::Unsigned(32), &[NUMBER, WHOLE, COUNT, BITS], &["uint32", "uint", "uinteger"]),
    number(U64, "u64", Holds::Unsigned(64), &[NUMBER, WHOLE, COUNT, WIDE, BITS], &["uint64", "ubigint"]),
    number(F32, "f32", Holds::Float(32), &[NUMBER], &["float", "real", "float4", "float32"]),
    number(
        F64,
        "f64",
        Holds::Float(64),
        &[NUMBER],
        &["double", "double precision", "float8", "float64", "number"],
    ),
    number(TimeMs, "time_ms", Holds::Time(1_000), &[INSTANT], &[]),
    number(
        TimeUs,
        "time_us",
        Holds::Time(1_000_000),
        &[INSTANT],
        &["timestamp", "timestamptz", "datetime", "datetime64"],
    ),
    ColumnType {
        also: &["string", "str"],
        bytes: 12,
        generators: &[&["constant", "categorical", "uuid", "format", "text", "foreign"]],
        ..plain(Text, "text", Holds::Text)
    },
    ColumnType { fed: true, also: &["list", "array"], ..list(ListF64, "list_f64", F64, 80) },
    ColumnType { fed: true, ..list(ListI64, "list_i64", I64, 80) },
    ColumnType {
        one: "a UUID",
        many: "UUIDs",
        bytes: 16,
        generators: &[GIVEN, &["uuid", "foreign"]],
        ..plain(Uuid, "uuid", Holds::Spelled)
    },
    list(ListBool, "list_bool", Bool, 10),
    list(ListI16, "list_i16", I16, 20),
    list(ListI32, "list_i32", I32, 40),
    list(ListU8, "list_u8", U8, 10),
    list(ListU16, "list_u16", U16, 20),
    list(ListU32, "list_u32", U32, 40),
    list(ListU64, "list_u64", U64, 80),
    list(ListF32, "list_f32", F32, 40),
    list(ListText, "list_text", Text, 120),
    ColumnType {
        one: "a date",
        many: "dates",
        bytes: 4,
        generators: &[GIVEN, &["between"]],
        bound: false,
        fed: false,
        ..plain(Date, "date", Holds::Spelled)
    },
    ColumnType {
        one: "a time of day",
        many: "times of day",
        generators: &[GIVEN, &["between"]],
        ..plain(Time, "time", Holds::Spelled)
    },
    ColumnType {
        one: "an IP address",
        many: "IP addresses",
        also: &["ip", "ipv4", "ipv6"],
        generators: &[GIVEN, &["between"]],
        ..plain(Inet, "inet", Holds::Spelled)
    },
    ColumnType {
        many: "blobs",
        also: &["bytea", "bytes", "binary", "varbinary"],
        bytes: 32,
        generators: &[&["bytes"]],
        bound: false,
        fed: false,
        ..plain(Blob, "blob", Holds::Bytes)
    },
    ColumnType {
        many: "enums",
        also: &["categorical"],
        bytes: 2,
        generators: &[&["constant", "categorical"]],
        fed: false,
        ..plain(Enum, "enum", Holds::Text)
    },
    ColumnType {
        many: "documents",
        also: &["jsonb"],
        bytes: 120,
        generators: &[&["document"]],
        bound: false,
        fed: false,
        ..plain(Json, "json", Holds::Text)
    },
    ColumnType {
        written: "decimal(p, s)",
        many: "decimals",
        also: &["decimal", "numeric", "money"],
        generators: &[&["decimal"]],
        fed: false,
        ..plain(Decimal, "decimal", Holds::Text)
    },
    ColumnType {
        written: "bit(n)",
        many: "strings of bits",
        also: &["bits", "varbit", "bit varying", "bit"],
        generators: &[BITS],
        bound: false,
        fed: false,
        ..plain(Bit, "bit", Holds::Bits)
    },
];

const fn number(
    ty: LogicalType,
    name: &'static str,
    holds: Holds,
    generators: &'static [&'static [&'static str]],
    also: &'static [&'static str],
) -> ColumnType {
    let bytes = match holds {
        Holds::Signed(bits) | Holds::Unsigned(bits) | Holds::Float(bits) => bits / 8,
        _ => 8,
    };
    ColumnType { bytes, generators, also, ..plain(ty, name, holds) }
}

/// A list, which generators alone make.
const fn list(ty: LogicalType, name: &'static str, item: LogicalType, bytes: u32) -> ColumnType {
    ColumnType {
        many: "lists",
        bytes,
        generators: &[&["array"]],
        fed: false,
        bound: false,
        ..plain(ty, name, Holds::List(item))
    }
}

const fn plain(ty: LogicalType, name: &'static str, holds: Holds) -> ColumnType {
    ColumnType {
        ty,
        name,
        written: name,
        one: name,
        many: name,
        also: &[],
        holds,
        bytes: 8,
        generators: &[],
        fed: true,
        bound: true,
    }
}
