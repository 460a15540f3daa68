//! Times by a pattern, such as `%d.%m.%y %H:%M`: the signs of C's `strptime`, and no locale but English.

use std::io::Write;

use super::times::is_a_day;
use crate::plan::LogicalType;
use crate::types::calendar::{civil, days_of};

/// Signs that a pattern may have, for messages.
pub const SIGNS: &str = "%Y %y %m %b %d %j %H %I %p %M %S %f %z %Z %a %F %T %R %D %%";
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// Letters of a name in short.
const SHORT: usize = 3;
/// Digits of a fraction that are read at most.
const FRACTION_DIGITS: usize = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Year,
    /// 69 to 99 of the last century, as POSIX has it.
    YearOfCentury,
    Month,
    MonthName,
    Day,
    DayOfYear,
    Hour,
    HourOfHalf,
    HalfOfDay,
    Minute,
    Second,
    Fraction,
    Offset,
    Utc,
    Weekday,
    /// One or more.
    Blanks,
    Byte(u8),
}

impl Part {
    /// Whether digits stand for it.
    fn is_digits(self) -> bool {
        match self {
            Part::MonthName | Part::HalfOfDay | Part::Offset | Part::Utc | Part::Weekday | Part::Blanks => {
                false
            }
            Part::Byte(byte) => byte.is_ascii_digit(),
            _ => true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Each with whether digits stand beside it: then nothing but their number ends its own.
    parts: Vec<(Part, bool)>,
}

/// What a text says, by the parts of its pattern.
#[derive(Default)]
struct Said<'a> {
    year: i64,
    month: i64,
    day: i64,
    day_of_year: Option<i64>,
    hour: i64,
    is_afternoon: Option<bool>,
    minute: i64,
    second: i64,
    fraction: &'a [u8],
    /// Minutes east of UTC.
    offset: Option<i64>,
}

impl Pattern {
    /// Errors say what is wrong with the pattern: nothing that it reads may be left out of the time.
    pub fn new(text: &str) -> Result<Pattern, String> {
        let mut parts = Vec::new();
        parts_of(text, &mut parts)?;
        let count = |of: &[Part]| parts.iter().filter(|part| of.contains(part)).count();
        let (year, month) =
            (count(&[Part::Year, Part::YearOfCentury]), count(&[Part::Month, Part::MonthName]));
        let (day, day_of_year) = (count(&[Part::Day]), count(&[Part::DayOfYear]));
        if year == 0 || (day_of_year == 0 && (month == 0 || day == 0)) {
            return Err(format!("{text:?} has no year, month and day (%Y or %y, %m or %b, %d; or %j)"));
        }
        let hour = count(&[Part::Hour, Part::HourOfHalf]);
        let once = [
            year,
            month.max(day_of_year),
            day.max(day_of_year),
            hour,
            count(&[Part::Minute]),
            count(&[Part::Second]),
            count(&[Part::Fraction]),
            count(&[Part::HalfOfDay]),
            count(&[Part::Offset, Part::Utc]),
        ];
        if once.iter().any(|n| *n > 1) || (day_of_year > 0 && month + day > 0) {
            return Err(format!("{text:?} says a part of the time twice"));
        }
        if count(&[Part::HourOfHalf]) != count(&[Part::HalfOfDay]) {
            return Err(format!("{text:?}: %I and %p go together"));
        }
        for (part, sign, of, needs) in [
            (Part::Minute, "%M", hour, "%H or %I"),
            (Part::Second, "%S", count(&[Part::Minute]), "%M"),
            (Part::Fraction, "%f", count(&[Part::Second]), "%S"),
            (Part::Offset, "%z", hour, "%H or %I"),
            (Part::Utc, "%Z", hour, "%H or %I"),
        ] {
            if parts.contains(&part) && of == 0 {
                return Err(format!("{text:?}: {sign} needs {needs}"));
            }
        }
        let is_digits =
            |at: Option<usize>| at.and_then(|at| parts.get(at)).is_some_and(|part| part.is_digits());
        let beside = |at: usize| is_digits(at.checked_sub(1)) || is_digits(Some(at + 1));
        let parts = parts.iter().enumerate().map(|(at, part)| (*part, beside(at))).collect();
        Ok(Pattern { parts })
    }

    /// Whether a time of day is a part of it.
    fn has_clock(&self) -> bool {
        self.parts.iter().any(|(part, _)| matches!(part, Part::Hour | Part::HourOfHalf))
    }

    /// The coarsest type that holds its times.
    pub fn holds(&self) -> LogicalType {
        match (self.has_clock(), self.parts.iter().any(|(part, _)| *part == Part::Fraction)) {
            (false, _) => LogicalType::Date,
            (true, false) => LogicalType::TimeMs,
            (true, true) => LogicalType::TimeUs,
        }
    }

    /// Writes the time that `text` says in ISO's form, and gives its length; `None` where it is of another form, or there is no such day.
    pub fn iso(&self, text: &[u8], iso: &mut [u8]) -> Option<usize> {
        let said = self.read(text)?;
        let (month, day) = match said.day_of_year {
            None => (said.month, said.day),
            Some(n) => {
                let (year, month, day) = civil(days_of(said.year, 1, 1) + n - 1);
                (year == said.year).then_some((month, day))?
            }
        };
        let hour = match said.is_afternoon {
            None => said.hour,
            Some(_) if !(1..=12).contains(&said.hour) => return None,
            Some(afternoon) => said.hour % 12 + if afternoon { 12 } else { 0 },
        };
        if !is_a_day(said.year, month, day) || hour > 23 || said.minute > 59 || said.second > 59 {
            return None;
        }
        let room = iso.len();
        let mut rest = iso;
        write!(rest, "{:04}-{month:02}-{day:02}", said.year).ok()?;
        if self.has_clock() {
            write!(rest, " {hour:02}:{:02}:{:02}", said.minute, said.second).ok()?;
            if !said.fraction.is_empty() {
                rest.write_all(b".").and_then(|()| rest.write_all(said.fraction)).ok()?;
            }
            if let Some(east) = said.offset {
                let (sign, size) = (if east < 0 { '-' } else { '+' }, east.abs());
                write!(rest, "{sign}{:02}:{:02}", size / 60, size % 60).ok()?;
            }
        }
        let left = rest.len();
        Some(room - left)
    }

    fn read<'a>(&self, text: &'a [u8]) -> Option<Said<'a>> {
        let (mut said, mut rest) = (Said::default(), text);
        for (part, beside) in &self.parts {
            let (two, three) = if *beside { (2..=2, 3..=3) } else { (1..=2, 1..=3) };
            match part {
                Part::Year => said.year = number(&mut rest, 4..=4)?,
                Part::YearOfCentury => {
                    let year = number(&mut rest, 2..=2)?;
                    said.year = year + if year < 69 { 2000 } else { 1900 };
                }
                Part::Month => said.month = number(&mut rest, two)?,
                Part::MonthName => said.month = name(&mut rest, &MONTHS)? as i64 + 1,
                Part::Day => said.day = number(&mut rest, two)?,
                Part::DayOfYear => said.day_of_year = Some(number(&mut rest, three).filter(|n| *n > 0)?),
                Part::Hour | Part::HourOfHalf => said.hour = number(&mut rest, two)?,
                Part::HalfOfDay => said.is_afternoon = Some(name(&mut rest, &["am", "pm"])? == 1),
                Part::Minute => said.minute = number(&mut rest, two)?,
                Part::Second => said.second = number(&mut rest, two)?,
                Part::Fraction => said.fraction = digits(&mut rest, 1..=FRACTION_DIGITS)?,
                Part::Offset => said.offset = Some(offset(&mut rest)?),
                Part::Utc => {
                    name(&mut rest, &["utc", "gmt", "z"])?;
                    said.offset = Some(0);
                }
                Part::Weekday => {
                    name(&mut rest, &WEEKDAYS)?;
                }
                Part::Blanks => {
                    let blanks = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
                    (blanks > 0).then_some(())?;
                    rest = &rest[blanks..];
                }
                Part::Byte(byte) => rest = rest.strip_prefix(&[*byte])?,
            }
        }
        rest.is_empty().then_some(said)
    }
}

fn parts_of(text: &str, parts: &mut Vec<Part>) -> Result<(), String> {
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let part = match byte {
            b'%' => match rest.next() {
                Some(b'Y') => Part::Year,
                Some(b'y') => Part::YearOfCentury,
                Some(b'm') => Part::Month,
                Some(b'b' | b'B' | b'h') => Part::MonthName,
                Some(b'd' | b'e') => Part::Day,
                Some(b'j') => Part::DayOfYear,
                Some(b'H' | b'k') => Part::Hour,
                Some(b'I' | b'l') => Part::HourOfHalf,
                Some(b'p' | b'P') => Part::HalfOfDay,
                Some(b'M') => Part::Minute,
                Some(b'S') => Part::Second,
                Some(b'f') => Part::Fraction,
                Some(b'z') => Part::Offset,
                Some(b'Z') => Part::Utc,
                Some(b'a' | b'A') => Part::Weekday,
                Some(b'%') => Part::Byte(b'%'),
                Some(short @ (b'F' | b'T' | b'R' | b'D')) => {
                    let whole = match short {
                        b'F' => "%Y-%m-%d",
                        b'T' => "%H:%M:%S",
                        b'R' => "%H:%M",
                        _ => "%m/%d/%y",
                    };
                    parts_of(whole, parts)?;
                    continue;
                }
                other => {
                    let behind = text.len() - rest.len() - usize::from(other.is_some());
                    let sign = text[behind..].chars().next().map_or(String::new(), String::from);
                    return Err(format!("{text:?}: %{sign} is no sign of a time; there are {SIGNS}"));
                }
            },
            byte if byte.is_ascii_whitespace() => {
                if parts.last() == Some(&Part::Blanks) {
                    continue;
                }
                Part::Blanks
            }
            byte => Part::Byte(byte),
        };
        parts.push(part);
    }
    Ok(())
}

/// As many digits as there are, up to the most allowed.
fn digits<'a>(rest: &mut &'a [u8], allowed: std::ops::RangeInclusive<usize>) -> Option<&'a [u8]> {
    let n = rest.iter().take(*allowed.end()).take_while(|b| b.is_ascii_digit()).count();
    let (head, tail) = rest.split_at(n);
    *rest = tail;
    allowed.contains(&n).then_some(head)
}

fn number(rest: &mut &[u8], allowed: std::ops::RangeInclusive<usize>) -> Option<i64> {
    digits(rest, allowed).map(|digits| digits.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0')))
}

/// The place of the name that stands in front, whole or in short, in letters of any case.
fn name(rest: &mut &[u8], names: &[&str]) -> Option<usize> {
    let letters = rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let (word, tail) = rest.split_at(letters);
    let is = |name: &str| {
        let short = &name.as_bytes()[..name.len().min(SHORT)];
        word.eq_ignore_ascii_case(name.as_bytes()) || word.eq_ignore_ascii_case(short)
    };
    let place = names.iter().position(|name| is(name))?;
    *rest = tail;
    Some(place)
}

/// Minutes east of UTC: `+0130`, `-01:30`, `+01`, `Z`.
fn offset(rest: &mut &[u8]) -> Option<i64> {
    if let Some(tail) = rest.strip_prefix(b"Z").or_else(|| rest.strip_prefix(b"z")) {
        *rest = tail;
        return Some(0);
    }
    let (sign, tail) = rest.split_first().filter(|(sign, _)| b"+-".contains(sign))?;
    *rest = tail;
    let hours = number(rest, 2..=2).filter(|n| *n <= 15)?;
    if let [b':', tail @ ..] = rest {
        *rest = tail;
    } else if !rest.first().is_some_and(u8::is_ascii_digit) {
        return Some(if *sign == b'-' { -hours * 60 } else { hours * 60 });
    }
    let minutes = hours * 60 + number(rest, 2..=2).filter(|n| *n <= 59)?;
    Some(if *sign == b'-' { -minutes } else { minutes })
}

#[cfg(test)]
mod tests;
