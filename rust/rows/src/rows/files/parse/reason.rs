//! Why a row was rejected, in words.

use std::fmt;

use crate::plan::LogicalType;

/// Why a row was rejected; its text goes to the reject file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    FewFields {
        found: usize,
        expected: usize,
    },
    ManyFields {
        found: usize,
        expected: usize,
    },
    UnbalancedQuote,
    TextAfterQuote,
    QuoteInField,
    UnfinishedEscape,
    LongLine {
        limit_bytes: usize,
    },
    LongText {
        limit_chars: usize,
    },
    Null,
    NotInteger,
    NotNumber,
    /// The column keeps so many behind the point, and would round.
    FineNumber {
        digits: u32,
    },
    OutOfRange(LogicalType),
    NotTime,
    TimeTooFine,
    /// Clocks of its zone were set forward over it.
    NoSuchLocalTime,
    /// Clocks of its zone were set back, and showed it twice.
    LocalTimeTwice,
    NotBool,
    NotList,
    NotUtf8,
    NulByte,
    /// Of a type that travels as text in one form.
    NotOf(LogicalType),
    NoNan,
    NoInfinity,
    NotBytes,
    NotDigits,
    NotJson,
    UnknownMember,
    MemberTwice,
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
            Reason::FineNumber { digits } => {
                write!(f, "number finer than the column, which keeps {digits} digits behind the point")
            }
            Reason::OutOfRange(ty) => write!(f, "out of range of {}", ty.name()),
            Reason::NotTime => f.write_str("not a time"),
            Reason::TimeTooFine => f.write_str("time finer than the column"),
            Reason::NoSuchLocalTime => {
                f.write_str("no clock of the zone showed this time: it was set forward")
            }
            Reason::LocalTimeTwice => {
                f.write_str("clocks of the zone showed this time twice: they were set back")
            }
            Reason::NotBool => f.write_str("not a truth value"),
            Reason::NotList => f.write_str("not a list of numbers"),
            Reason::NotUtf8 => f.write_str("not UTF-8"),
            Reason::NulByte => f.write_str("NUL byte in a text"),
            Reason::NotOf(ty) => write!(f, "not {}", ty.entry().one),
            Reason::NotBytes => f.write_str(r"not bytes: \x and pairs of hexadecimal digits"),
            Reason::NotDigits => f.write_str("not hexadecimal digits"),
            Reason::NotJson => f.write_str("not a JSON object"),
            Reason::UnknownMember => f.write_str("a member that no column has"),
            Reason::MemberTwice => f.write_str("a member is there twice"),
            Reason::NoNan => f.write_str("the column cannot hold NaN"),
            Reason::NoInfinity => f.write_str("the column cannot hold infinity"),
        }
    }
}
