//! Numbers that need no other column and no room: what most columns of rows of answers are compared with.

use super::columns::Value;
use super::hash::{hash, Range};
use super::integers::IntGenerator;
use super::simd::{vectorised, Level};
use crate::plan::{LogicalType, Per};

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

/// Columns that are drawn uniformly from the number of a row: what most columns of wide rows are. They are made and
/// compared all at once, which costs a fraction of one after the other.
pub struct Drawn {
    level: Level,
    /// Places in the row of an answer.
    places: Vec<usize>,
    keys: Vec<u64>,
    froms: Vec<i64>,
    highs: Vec<u64>,
    lows: Vec<u64>,
    /// All bits where the value is that of another row.
    others: Vec<u64>,
    made: Vec<i64>,
}

vectorised! {
    fn draw(own: u64, other: u64, keys: &[u64], froms: &[i64], highs: &[u64], lows: &[u64], others: &[u64], out: &mut [i64]) {
        let of = keys.iter().zip(froms).zip(highs.iter().zip(lows)).zip(others);
        for (out, (((&key, &from), (&high, &low)), &is_other)) in out.iter_mut().zip(of) {
            let row = own ^ ((own ^ other) & is_other);
            *out = from.wrapping_add(Range::of_halves(high, low).scale(hash(key, row)) as i64);
        }
    }
}

impl Default for Drawn {
    fn default() -> Drawn {
        let (places, made) = (Vec::new(), Vec::new());
        let (keys, froms, highs, lows, others) = Default::default();
        Drawn { level: Level::best(), places, keys, froms, highs, lows, others, made }
    }
}

impl Drawn {
    /// Takes the column at `place`; false where it is not drawn so. is_other: its value is that of another row.
    pub fn take(&mut self, place: usize, column: &Alone, is_other: bool) -> bool {
        use LogicalType::{I16, I32, I64, U16, U32, U8};
        let IntGenerator::Uniform { draw, from, range } = &column.int_generator else { return false };
        let by_row = draw.per == Per::Row || column.series == 1;
        if *range == 0 || !by_row || !matches!(column.ty, I16 | I32 | I64 | U8 | U16 | U32) {
            return false;
        }
        let (high, low) = Range::new(*range).halves();
        self.places.push(place);
        self.keys.push(draw.key);
        self.froms.push(*from);
        self.highs.push(high);
        self.lows.push(low);
        self.others.push(if is_other { u64::MAX } else { 0 });
        self.made.push(0);
        true
    }

    /// Whether all of them came back as they were made. False also where one is the same in another wrapping, or `row` is
    /// too short: callers look at each value then.
    #[inline]
    pub fn are(&mut self, own: u64, other: u64, row: &[Value]) -> bool {
        let Drawn { level, places, keys, froms, highs, lows, others, made } = self;
        draw(*level, own, other, keys, froms, highs, lows, others, made);
        places
            .iter()
            .zip(made)
            .all(|(&place, made)| matches!(row.get(place), Some(Value::I64(found)) if found == made))
    }
}

#[cfg(test)]
mod tests {
    use super::super::integers::Draw;
    use super::*;

    fn alone(key: u64, from: i64, range: u64, ty: LogicalType, per: Per) -> Alone {
        let int_generator = IntGenerator::Uniform { draw: Draw { key, per }, from, range };
        Alone::new(&int_generator, ty, 10).expect("it is drawn from its row")
    }

    #[test]
    fn columns_that_are_made_at_once_are_what_each_is_alone_and_one_other_value_shows() {
        let columns: Vec<Alone> =
            (0..26).map(|k| alone(k, -5 * k as i64, 1 + (k << 31), LogicalType::I64, Per::Row)).collect();
        let mut drawn = Drawn::default();
        for (place, column) in columns.iter().enumerate() {
            assert!(drawn.take(place, column, place % 3 == 0));
        }
        for level in Level::supported() {
            drawn.level = level;
            for own in [0, 7, u64::MAX] {
                let row = |at: usize| columns[at].value(if at.is_multiple_of(3) { 99 } else { own });
                let mut row: Vec<Value> = (0..26).map(row).collect();
                assert!(drawn.are(own, 99, &row));
                assert!(!drawn.are(own, 99, &row[..25]));
                for at in 0..26 {
                    let right = std::mem::replace(&mut row[at], Value::Null);
                    assert!(!drawn.are(own, 99, &row), "NULL in column {at}");
                    let Value::I64(number) = right else { unreachable!("an i64") };
                    row[at] = Value::I64(number + 1);
                    assert!(!drawn.are(own, 99, &row), "another number in column {at}");
                    row[at] = Value::I64(number);
                }
            }
        }
    }

    #[test]
    fn what_is_drawn_in_another_way_is_left_to_be_looked_at_alone() {
        let mut drawn = Drawn::default();
        assert!(!drawn.take(0, &alone(1, 0, 9, LogicalType::I64, Per::Series), false), "by its series");
        assert!(!drawn.take(0, &alone(1, 0, 0, LogicalType::I64, Per::Row), false), "of all 64 bits");
        assert!(!drawn.take(0, &alone(1, 0, 9, LogicalType::U64, Per::Row), false), "another wrapping");
        let counted = Alone::new(&IntGenerator::Sequence { start: 0, step: 1 }, LogicalType::I64, 1);
        assert!(!drawn.take(0, &counted.expect("it is counted"), false));
        assert!(drawn.are(1, 1, &[]), "there are none");
    }
}
