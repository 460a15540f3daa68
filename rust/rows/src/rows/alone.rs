//! Numbers that need no other column and no room: what most columns of rows of answers are compared with.

use super::columns::Value;
use super::integers::IntGenerator;
use crate::plan::LogicalType;

/// A column of numbers, each of which is counted or drawn from its row alone, without NULL.
pub struct Alone {
    int_generator: IntGenerator,
    ty: LogicalType,
    series: u64,
}

impl Alone {
    /// None: a value takes more than its row to make, or is no such number.
    pub(super) fn new(int_generator: &IntGenerator, ty: LogicalType, series: u64) -> Option<Alone> {
        use LogicalType::{TimeMs, TimeUs, I16, I32, I64, U16, U32, U64, U8};
        let is_number = matches!(ty, I16 | I32 | I64 | U8 | U16 | U32 | U64 | TimeMs | TimeUs);
        let is_alone = is_number && int_generator.alone(0, 0).is_some();
        is_alone.then(|| Alone { int_generator: int_generator.clone(), ty, series })
    }

    /// As it is stored.
    #[inline(always)]
    fn integer(&self, number: u64) -> i64 {
        let place = if self.series == 1 { number } else { number % self.series };
        let made = self.int_generator.alone(number, place).expect("`new` has looked");
        match self.ty {
            LogicalType::I16 | LogicalType::I32 | LogicalType::U8 | LogicalType::U16 => {
                i64::from(made as i32)
            }
            _ => made,
        }
    }

    /// The value of a row.
    pub fn value(&self, number: u64) -> Value {
        let made = self.integer(number);
        match self.ty {
            LogicalType::U64 => Value::U64(made as u64),
            LogicalType::TimeMs => Value::TimeMs(made),
            LogicalType::TimeUs => Value::TimeUs(made),
            _ => Value::I64(made),
        }
    }

    /// Whether it came back as it was made. False also where it is the same in another wrapping: callers look at the value.
    #[inline]
    pub fn is(&self, number: u64, found: &Value) -> bool {
        let made = self.integer(number);
        match (self.ty, found) {
            (LogicalType::U64, Value::U64(found)) => *found == made as u64,
            (LogicalType::TimeMs, Value::TimeMs(found)) | (LogicalType::TimeUs, Value::TimeUs(found)) => {
                *found == made
            }
            (LogicalType::U64 | LogicalType::TimeMs | LogicalType::TimeUs, _) => false,
            (_, Value::I64(found)) => *found == made,
            _ => false,
        }
    }
}
