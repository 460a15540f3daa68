//! What a column of the database takes beyond its logical type. Pure.

use super::parse::Reason;
use crate::plan::{Limits, LogicalType};
use crate::rows::columns::{Column, Values};

/// Why the last value of `column` is none of the database's; the caller takes it back.
pub fn checked(column: &Column, limits: Option<&Limits>) -> Result<(), Reason> {
    let Some(limits) = limits else { return Ok(()) };
    match &column.values {
        Values::Text(texts) => text(limits, texts.get(texts.ends.len() - 1)).map_or(Ok(()), Err),
        Values::I32(v) => integer(limits, column.ty, v.last().map_or(0, |n| i64::from(*n))),
        Values::I64(v) => integer(limits, column.ty, v.last().copied().unwrap_or(0)),
        Values::F32(v) => float(limits, v.last().map_or(0.0, |x| f64::from(*x))),
        Values::F64(v) => float(limits, v.last().copied().unwrap_or(0.0)),
        Values::List(_) => Ok(()),
    }
}

/// A text is never cut. Blanks count too, though some databases drop those at the end.
pub fn text(limits: &Limits, text: &[u8]) -> Option<Reason> {
    let limit_chars = limits.chars? as usize;
    // Bytes that go on with a character begin with the bits 10.
    let is_longer =
        text.len() > limit_chars && text.iter().filter(|b| **b & 0xc0 != 0x80).count() > limit_chars;
    is_longer.then_some(Reason::LongText { limit_chars })
}

/// A database without such floats would refuse them, or store NULL.
pub fn float(limits: &Limits, value: f64) -> Result<(), Reason> {
    match value {
        v if v.is_nan() && limits.no_nan => Err(Reason::NoNan),
        v if v.is_infinite() && limits.no_infinity => Err(Reason::NoInfinity),
        _ => Ok(()),
    }
}

/// Also of times, in the column's unit.
pub fn integer(limits: &Limits, ty: LogicalType, value: i64) -> Result<(), Reason> {
    match limits.range {
        Some((low, high)) if ty != LogicalType::U64 && !(low..=high).contains(&value) => {
            Err(Reason::OutOfRange(ty))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_and_not_bytes() {
        let limits = Limits { chars: Some(3), ..Limits::default() };
        for fits in ["", "abc", "éöü", "日本語", "a b"] {
            assert_eq!(text(&limits, fits.as_bytes()), None, "{fits}");
        }
        for long in ["abcd", "éöüé", "abc ", "日本語。"] {
            assert_eq!(text(&limits, long.as_bytes()), Some(Reason::LongText { limit_chars: 3 }), "{long}");
        }
    }

    #[test]
    fn floats_that_a_column_does_not_take_are_named() {
        let no_nan = Limits { no_nan: true, ..Limits::default() };
        let finite = Limits { no_infinity: true, ..no_nan };
        for limits in [no_nan, finite] {
            assert_eq!(float(&limits, f64::NAN), Err(Reason::NoNan));
            assert_eq!(float(&limits, f64::MAX), Ok(()));
        }
        assert_eq!(float(&no_nan, f64::INFINITY), Ok(()));
        assert_eq!(float(&finite, f64::NEG_INFINITY), Err(Reason::NoInfinity));
    }

    #[test]
    fn a_range_holds_its_ends() {
        let limits = Limits { range: Some((-5, 7)), ..Limits::default() };
        for (value, within) in [(-6, false), (-5, true), (7, true), (8, false)] {
            assert_eq!(integer(&limits, LogicalType::TimeUs, value).is_ok(), within, "{value}");
        }
    }
}
