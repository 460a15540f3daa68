//! Why a row was rejected, in words.

use std::fmt;

use crate::plan::LogicalType;

/// Why a row was rejected; its text goes to the reject file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    FewFields { found: usize, expected: usize },
    ManyFields { found: usize, expected: usize },
    UnbalancedQuote,
    TextAfterQuote,
    QuoteInField,
    UnfinishedEscape,
    LongLine { limit_bytes: usize },
    LongText { limit_chars: usize },
    Null,
    NotInteger,
    NotNumber,
    OutOfRange(LogicalType),
    NotTime,
    TimeTooFine,
    NotBool,
    NotList,
    NotUtf8,
    NulByte,
    NotDate,
    NotUuid,
    NoNan,
    NoInfinity,
    NotBytes,
    NotDigits,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::FewFields { found, expected } => write!(f, "too few fields: {found} of {expected}"),
            Reason::ManyFields { found, expected } => write!(f, "too many fields: {found} for {expected}"),
            Reason::UnbalancedQuote => f.write_str("unbalanced quote"),
            Reason::TextAfterQuote => f.write_str("text after a closing quote"),
            Reason::QuoteInField => f.write_str("quote inside an unquoted field"),
            Reason::UnfinishedEscape => f.write_str("unfinished escape at the end of the file"),
            Reason::LongLine { limit_bytes } => write!(f, "line longer than {limit_bytes} bytes"),
            Reason::LongText { limit_chars } => write!(f, "text longer than {limit_chars} characters"),
            Reason::Null => f.write_str("null in a required column"),
            Reason::NotInteger => f.write_str("not an integer"),
            Reason::NotNumber => f.write_str("not a number"),
            Reason::OutOfRange(ty) => write!(f, "out of range of {}", type_name(*ty)),
            Reason::NotTime => f.write_str("not a time"),
            Reason::TimeTooFine => f.write_str("time finer than the column"),
            Reason::NotBool => f.write_str("not a truth value"),
            Reason::NotList => f.write_str("not a list of numbers"),
            Reason::NotUtf8 => f.write_str("not UTF-8"),
            Reason::NulByte => f.write_str("NUL byte in a text"),
            Reason::NotDate => f.write_str("not a date"),
            Reason::NotUuid => f.write_str("not a UUID"),
            Reason::NotBytes => f.write_str(r"not bytes: \x and pairs of hexadecimal digits"),
            Reason::NotDigits => f.write_str("not hexadecimal digits"),
            Reason::NoNan => f.write_str("the column cannot hold NaN"),
            Reason::NoInfinity => f.write_str("the column cannot hold infinity"),
        }
    }
}

/// As the plan names it.
pub fn type_name(ty: LogicalType) -> &'static str {
    match ty {
        LogicalType::Bool => "bool",
        LogicalType::I16 => "i16",
        LogicalType::I32 => "i32",
        LogicalType::U8 => "u8",
        LogicalType::U16 => "u16",
        LogicalType::U32 => "u32",
        LogicalType::I64 => "i64",
        LogicalType::U64 => "u64",
        LogicalType::F32 => "f32",
        LogicalType::F64 => "f64",
        LogicalType::TimeMs => "time_ms",
        LogicalType::TimeUs => "time_us",
        LogicalType::Text => "text",
        LogicalType::ListF64 => "list_f64",
        LogicalType::ListI64 => "list_i64",
        LogicalType::ListBool => "list_bool",
        LogicalType::ListI16 => "list_i16",
        LogicalType::ListI32 => "list_i32",
        LogicalType::ListU8 => "list_u8",
        LogicalType::ListU16 => "list_u16",
        LogicalType::ListU32 => "list_u32",
        LogicalType::ListU64 => "list_u64",
        LogicalType::ListF32 => "list_f32",
        LogicalType::ListText => "list_text",
        LogicalType::Date => "date",
        LogicalType::Uuid => "uuid",
        LogicalType::Decimal => "decimal",
        LogicalType::Blob => "blob",
        LogicalType::Enum => "enum",
        LogicalType::Json => "json",
        LogicalType::Bit => "bit",
    }
}
